import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { post, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';

test('P-2, T-2: a result in Chinese that fits in memory is there after a restart', async () => {
  const server = owned(await startV1Http());
  const settings = { store: join(await temporaryFolder(), 'store.db'), limits: { sessionBytes: 1_600_000 } };
  const first = await httpGateway({ one: { url: server.url } }, settings);
  const client = await rawSession(first.url);
  // Once in the arguments and once in the result.
  const text = '漢'.repeat(700_000);
  const call = { server: 'one', tool: 'slow', args: { ms: 50, text }, timeout_ms: 1 };
  const taskId = taskIdOf(await client.reply('execute_tool', call));
  const result = await client.reply('get_task_result', { task_id: taskId, timeout_ms: 10_000 });
  expect(result.text.length, result.text.slice(0, 300)).toBe(text.length);
  await first.close();

  const second = await httpGateway({ one: { url: server.url } }, settings);
  const again = await post(second.url, toolCall('get_task_result', { task_id: taskId }), client.headers);
  expect(replyOf(again).text.slice(0, 200)).toBe(text.slice(0, 200));
  expect(second.logs.map(({ event }) => event)).not.toContain('session_too_large');
});
