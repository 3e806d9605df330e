import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { DOORS, hubThrough } from './doors.ts';
import { settle, soon, tasksOf } from './watch.ts';
import { storedIn } from '../../support/records.ts';

const ids = async (hub: HubClient): Promise<unknown[]> => (await tasksOf(hub)).map(({ task_id }) => task_id);

async function finished(hub: HubClient, text: string): Promise<string> {
  const call = { server: 'one', tool: 'slow', args: { ms: 50, text }, timeout_ms: 0 };
  const task_id = taskIdOf(await hub.call('execute_tool', call));
  await hub.call('get_task_result', { task_id });
  return task_id;
}

test('T-2: at the task limit of a session the oldest finished task is removed', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 3 } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const working = taskIdOf(
    await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 }),
  );
  const first = await finished(hub, 'first');
  const second = await finished(hub, 'second');
  expect(await ids(hub)).toEqual([working, first, second]);
  const third = await finished(hub, 'third');
  expect(await ids(hub)).toEqual([working, second, third]);
  const gone = await hub.call('get_task_result', { task_id: first });
  expect(gone).toMatchObject({ isError: true, code: 'TOOL_ERR_TASK_NOT_FOUND' });
  expect((await hub.call('get_task_result', { task_id: second })).text).toBe('second');
});

test.each(DOORS)(
  'T-2, X-3: when all tasks of the limit work, a call is refused before the server gets it (%s)',
  async (door) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } }, { tasks: { perSession: 2 } });
    await settle(hub);
    const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
    const tasks = [await hub.call('execute_tool', slow), await hub.call('execute_tool', slow)].map(taskIdOf);
    await soon(() => server.state.calls.length).toBe(3);

    const refused = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'me too' } });
    expect(refused).toMatchObject({ isError: true, code: 'TOOL_ERR_LIMIT' });
    expect(refused.text).toContain('tasks.perSession = 2');
    expect(refused.text).toContain('cancel_task');
    expect((await hub.call('list_tools', { server: 'one' })).isError).toBe(false);
    expect(server.state.calls.map(({ tool }) => tool)).toEqual(['echo', 'slow', 'slow']);

    await hub.call('cancel_task', { task_id: tasks[0] });
    await soon(
      async () => (await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'now' } })).text,
    ).toBe('now');
  },
);

test('T-2: a finished task can be read for a while and is then removed', async () => {
  const server = owned(await startV1Http());
  const settings = { tasks: { keepMs: 2000, cleanupMs: 20 } };
  const { url, gateway } = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(url);
  await settle(hub);
  const task_id = await finished(hub, 'short fame');
  expect((await hub.call('get_task_result', { task_id })).text).toBe('short fame');
  await soon(() => ids(hub)).toEqual([]);
  const gone = await hub.call('get_task', { task_id });
  expect(gone).toMatchObject({ isError: true, code: 'TOOL_ERR_TASK_NOT_FOUND' });
  expect(await storedIn(gateway, 'task')).toEqual([]);
});

test('T-2: clean-up keeps working tasks and recent results', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { keepMs: 60_000, cleanupMs: 10 } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const working = taskIdOf(
    await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 }),
  );
  const done = await finished(hub, 'kept');
  // Several clean-ups fit into one more call of this length.
  await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 100 } });
  expect(await ids(hub)).toEqual([working, done]);
});
