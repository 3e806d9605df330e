import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { returnTo } from './raw.ts';
import { settle } from './watch.ts';

test.each<ClientKind>(['v1', 'v2'])(
  'H-3, S-1: a client that returns with its session id finds its tasks and questions (%s)',
  async (kind) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ one: { url: server.url } });
    const before = await hubOverHttp(url, kind);
    await settle(before);
    const slow = { server: 'one', tool: 'slow', args: { ms: 600, text: 'waited' }, timeout_ms: 50 };
    const task_id = taskIdOf(await before.call('execute_tool', slow));
    const asked = await before.call('execute_tool', { server: 'one', tool: 'ask' });
    const sessionId = before.sessionId();
    await before.close();

    const after = await returnTo(url, sessionId ?? '');
    expect(gateway.sessions.map(({ id }) => id)).toEqual([sessionId]);
    const listed = await after.call('list_tasks');
    expect(listed.body['tasks']).toMatchObject([{ task_id }, { task_id: taskIdOf(asked) }]);
    expect(listed.elicitations).toMatchObject([{ requestId: asked.elicitations[0]?.requestId }]);
    expect((await after.call('get_task_result', { task_id })).text).toBe('waited');
    await after.call('respond_to_elicitation', {
      request_id: asked.elicitations[0]?.requestId,
      action: 'accept',
      content: { name: 'Ray' },
    });
    expect((await after.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ray');
  },
);

test('S-5: a modern client keeps its tasks across connections', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const before = await hubOverHttp(url, 'modern');
  const slow = { server: 'one', tool: 'slow', args: { ms: 300, text: 'waited' }, timeout_ms: 50 };
  const task_id = taskIdOf(await before.call('execute_tool', slow));
  await before.close();
  const after = await hubOverHttp(url, 'modern');
  expect((await after.call('get_task_result', { task_id })).text).toBe('waited');
});

test('S-1, H-12: the tasks of one session are unknown to another', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const mine = await hubOverHttp(url);
  const promoted = await mine.call('execute_tool', { server: 'one', tool: 'ask' });
  const others = [await hubOverHttp(url), await hubOverHttp(url, 'modern')];
  for (const other of others) {
    await settle(other);
    const reply = await other.call('list_tasks', { include_completed: true });
    expect(reply.raw.content).toEqual([{ type: 'text', text: '{"tasks":[]}' }]);
    for (const tool of ['get_task', 'get_task_result', 'cancel_task']) {
      expect(await other.call(tool, { task_id: taskIdOf(promoted) })).toMatchObject({
        isError: true,
        code: 'TOOL_ERR_TASK_NOT_FOUND',
      });
    }
    const answered = await other.call('respond_to_elicitation', {
      request_id: promoted.elicitations[0]?.requestId,
      action: 'decline',
    });
    expect(answered.code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  }
  expect((await mine.call('get_elicitations')).elicitations).toHaveLength(1);
});
