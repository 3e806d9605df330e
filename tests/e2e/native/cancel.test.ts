import { expect, test } from 'vitest';
import { startLiarHttp } from '../../servers/liar-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { eventsUntil, has, soon, taskOf } from '../flows/watch.ts';
import { KEEPERS } from './ways.ts';

test('H-6, B-6: a task cancelled before the server returned its id is cancelled once the id is known', async () => {
  const liar = owned(await startLiarHttp('legacy'));
  const hub = await hubOverHttp((await httpGateway({ one: { url: liar.url } })).url);
  await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'hi' } });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'late_birth', timeout_ms: 50 });
  expect((await hub.call('cancel_task', { task_id: taskIdOf(promoted) })).body).toMatchObject({ success: true });
  await soon(() => liar.seen.get('tasks/cancel')).toBe(1);
  expect(liar.seen.get('tasks/get')).toBeUndefined();
});

test.each(['legacy', 'modern'] as const)(
  'T-5, B-6: a task that a %s server cancels is reported as cancelled',
  async (manner) => {
    const liar = owned(await startLiarHttp(manner));
    const hub = await hubOverHttp((await httpGateway({ one: { url: liar.url } })).url);
    const promoted = await hub.call('execute_tool', { server: 'one', tool: 'self_cancelled', timeout_ms: 0 });
    const task_id = taskIdOf(promoted);
    if (!has('task_cancelled')(promoted.events)) await eventsUntil(hub, has('task_cancelled'));
    expect(await taskOf(hub, task_id)).toMatchObject({
      status: 'cancelled',
      status_message: expect.stringContaining('closing time') as unknown,
    });
    expect(await hub.call('get_task_result', { task_id })).toMatchObject({ isError: true });
  },
);

test.each(KEEPERS)('T-2, B-6: the end of its TTL cancels a $how on the server', async ({ start }) => {
  const { url, state } = await start();
  const hub = await hubOverHttp((await httpGateway({ one: { url } })).url);
  const call = { server: 'one', tool: 'hold', timeout_ms: 200, task_ttl_ms: 300 };
  const promoted = await hub.call('execute_tool', call);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).code).toBe('TOOL_ERR_TIMEOUT');
  await soon(() => state.cancelled).toEqual(['hold']);
  const asked = requestsOf(state, 'tasks/get').length;
  await hub.call('await_activity', { timeout_ms: 200 });
  // Nobody asks about it any more.
  expect(requestsOf(state, 'tasks/get').length).toBe(asked);
});

test.each(KEEPERS)('T-4, B-6: a user who cancels an open call cancels its $how', async ({ start }) => {
  const { url, state } = await start();
  const hub = await hubOverHttp((await httpGateway({ one: { url } })).url);
  const user = new AbortController();
  const open = hub.call('execute_tool', { server: 'one', tool: 'hold' }, { signal: user.signal });
  const left = expect(open).rejects.toThrow('enough');
  await soon(() => requestsOf(state, 'tasks/get').length).toBeGreaterThan(0);
  user.abort('enough');
  await left;
  await soon(() => state.cancelled).toEqual(['hold']);
});
