import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { errorOf, post, rawSession, replyOf, send, toolCall, type RawSession } from '../../support/raw-http.ts';

test('X-3, P-2: a session that exceeds the memory limit stays in the store until there is room', async () => {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  const store = join(await temporaryFolder(), 'store.db');
  const before = await httpGateway(servers, { store });
  const text = 'x'.repeat(1_000_000);
  const withResult = async (): Promise<{ client: RawSession; task_id: string }> => {
    const client = await rawSession(before.url);
    const call = { server: 'one', tool: 'slow', args: { ms: 1, text }, timeout_ms: 0 };
    const task_id = taskIdOf(await client.reply('execute_tool', call));
    expect((await client.reply('get_task_result', { task_id })).text).toBe(text);
    return { client, task_id };
  };
  const [one, two] = [await withResult(), await withResult()];
  await before.close();

  // Each has its text twice, in the arguments and in the result.
  const { url } = await httpGateway(servers, { store, limits: { totalBytes: 2_500_000 } });
  const result = toolCall('get_task_result', { task_id: one.task_id });
  expect(replyOf(await post(url, result, one.client.headers)).text).toBe(text);
  const back = toolCall('get_task_result', { task_id: two.task_id });
  const refused = await post(url, back, two.client.headers);
  expect(errorOf(refused)).toMatchObject({ data: { code: 'TOOL_ERR_LIMIT' } });
  expect(errorOf(refused).message).toContain('limits.totalBytes = 2500000');
  expect((await send(url, { method: 'DELETE', headers: one.client.headers })).status).toBe(200);
  expect(replyOf(await post(url, back, two.client.headers)).text).toBe(text);
});
