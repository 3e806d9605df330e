import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf, type TasksOptions } from '../../servers/tasks/state.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type HubEvent, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio } from '../../support/servers.ts';
import { eventsUntil, has, settle, soon, taskOf, tasksOf } from '../flows/watch.ts';

const RECONNECT = { firstMs: 50, maxMs: 100, attempts: 1000 };
const SETTINGS = { servers: { pingMs: 100, reconnect: RECONNECT } };

/** Both generations; what is done with them is the same. */
const KEEPERS = [
  {
    how: 'core task',
    start: async (options?: TasksOptions) => owned(await startTasksV1Http(options)),
    again: async ({ port, state }: Keeper) => startTasksV1Http({ port, state: state as never }),
    anew: async ({ port }: Keeper) => startTasksV1Http({ port }),
  },
  {
    how: 'extension task',
    start: async (options?: TasksOptions) => owned(await startTasksV2Http(options)),
    again: async ({ port, state }: Keeper) => startTasksV2Http({ port, state: state as never }),
    anew: async ({ port }: Keeper) => startTasksV2Http({ port }),
  },
];

type Keeper = Awaited<ReturnType<typeof startTasksV1Http>> | Awaited<ReturnType<typeof startTasksV2Http>>;

async function hubFor(config: Servers[string]): Promise<HubClient> {
  const { url } = await httpGateway({ one: config }, SETTINGS);
  const hub = await hubOverHttp(url);
  await settle(hub);
  return hub;
}

const execute = (hub: HubClient, tool: string, args: Json = {}, timeout_ms = 600_000): Promise<Reply> =>
  hub.call('execute_tool', { server: 'one', tool, args, timeout_ms });

async function promote(hub: HubClient, tool: string, args: Json = {}): Promise<string> {
  return taskIdOf(await execute(hub, tool, args, 100));
}

const typesOf = (events: HubEvent[]): string[] => events.map(({ type }) => type);

test.each(KEEPERS)('B-3: a $how continues when all streams break', async ({ start }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold', { text: 'true' });
  const open = execute(hub, 'hold', { text: 'open' });
  await soon(() => requestsOf(server.state, 'tools/call').length).toBe(3);
  server.breakStreams();
  const before = requestsOf(server.state, 'tasks/get').length;
  await soon(() => requestsOf(server.state, 'tasks/get').length).toBeGreaterThan(before + 2);
  server.state.release();
  expect((await open).text).toBe('open');
  expect((await hub.call('get_task_result', { task_id })).text).toBe('true');
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(3);
});

test.each(KEEPERS)('B-3: a $how continues when its server restarts with its tasks', async ({ start, again }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold', { text: 'true' });
  // One that nobody has made a task of is kept just as well.
  const open = execute(hub, 'hold', { text: 'open' });
  await soon(() => requestsOf(server.state, 'tools/call').length).toBe(3);
  await server.stop();
  await eventsUntil(hub, has('server_disconnected'));
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'working' });
  owned(await again(server));
  const events = await eventsUntil(hub, has('server_reconnected'));
  expect(events.at(-1)?.data).toMatchObject({ invalidatedTasks: 0 });
  server.state.release();
  expect((await open).text).toBe('open');
  expect((await hub.call('get_task_result', { task_id })).text).toBe('true');
  // The calls were not made twice.
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(3);
});

test.each(KEEPERS)('B-3: a $how that ended while the server was away has its result', async ({ start, again }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold', { text: 'true' });
  const failing = await promote(hub, 'slow', { ms: 300, text: 'in time' });
  await server.stop();
  await eventsUntil(hub, has('server_disconnected'));
  server.state.release();
  owned(await again(server));
  expect((await hub.call('get_task_result', { task_id })).text).toBe('true');
  expect((await hub.call('get_task_result', { task_id: failing })).text).toBe('in time');
});

test.each(KEEPERS)('B-3: a server that returns is polled at once for its $how', async ({ start, again }) => {
  const server = await start({ pollMs: 600_000 });
  const hub = await hubFor({ url: server.url });
  const ended = await promote(hub, 'hold', { text: 'true' });
  await server.stop();
  await eventsUntil(hub, has('server_disconnected'));
  server.state.release();
  owned(await again(server));
  expect((await hub.call('get_task_result', { task_id: ended })).text).toBe('true');
});

test.each(KEEPERS)('B-3: a server that returns sends notifications of its $how again', async ({ start, again }) => {
  const server = await start({ pollMs: 600_000 });
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold', { text: 'true' });
  await server.stop();
  const before = requestsOf(server.state, 'tasks/get').length;
  await eventsUntil(hub, has('server_disconnected'));
  owned(await again(server));
  await eventsUntil(hub, has('server_reconnected'));
  await soon(() => requestsOf(server.state, 'tasks/get').length).toBeGreaterThan(before);
  await settle(hub);
  server.state.release();
  expect((await hub.call('get_task_result', { task_id })).text).toBe('true');
});

test.each(KEEPERS)('B-3, T-5: a $how that its server forgot fails with that reason', async ({ start, anew }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold');
  const open = execute(hub, 'hold');
  await soon(() => requestsOf(server.state, 'tools/call').length).toBe(3);
  await server.close();
  await eventsUntil(hub, has('server_disconnected'));
  owned(await anew(server));
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toMatch(/no longer knows its task/);
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'failed', error: { code: -32_602 } });
  expect((await open).text).toMatch(/no longer knows its task/);
  await settle(hub);
});

test.each([
  { how: 'core task', config: tasksV1Stdio },
  { how: 'extension task', config: tasksV2Stdio },
])('B-3, T-5: a $how fails when its server process is killed', async ({ config }) => {
  const hub = await hubFor(config());
  const task_id = await promote(hub, 'slow', { ms: 600_000 });
  process.kill(Number((await execute(hub, 'pid')).text), 'SIGKILL');
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toMatch(/no longer knows its task/);
  await settle(hub);
});

test.each(KEEPERS)(
  'B-3: a plain call fails when its server is lost, and a $how continues',
  async ({ start, again }) => {
    const server = await start();
    const hub = await hubFor({ url: server.url });
    const kept = await promote(hub, 'hold', { text: 'true' });
    const plain = await promote(hub, 'linger', { ms: 600_000 });
    const open = execute(hub, 'linger', { ms: 600_000 });
    await soon(() => requestsOf(server.state, 'tools/call').length).toBe(4);
    await server.stop();
    expect(await open).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
    await soon(() => taskOf(hub, plain)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining("server 'one' disconnected") as unknown },
    });
    expect(await taskOf(hub, kept)).toMatchObject({ status: 'working' });
    owned(await again(server));
    server.state.release();
    expect((await hub.call('get_task_result', { task_id: kept })).text).toBe('true');
  },
);

async function answer(hub: HubClient, request_id: string | undefined): Promise<void> {
  const given = { request_id, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', given)).body).toMatchObject({ success: true });
}

const SURVIVORS = [
  {
    how: 'an extension task',
    start: async () => {
      const server = owned(await startTasksV2Http());
      const { port, state } = server;
      return { url: server.url, stop: () => server.stop(), again: () => startTasksV2Http({ port, state }) };
    },
  },
  {
    how: 'a round',
    start: async () => {
      const server = owned(await startV2Http({ era: 'modern' }));
      const { port } = server;
      return { url: server.url, stop: () => server.close(), again: () => startV2Http({ port, era: 'modern' }) };
    },
  },
];

test.each(SURVIVORS)('B-3: the question of $how survives a lost server, and its answer arrives', async ({ start }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const asked = await execute(hub, 'ask');
  await server.stop();
  await eventsUntil(hub, has('server_disconnected'));
  const { elicitations } = await hub.call('get_elicitations');
  expect(elicitations.map(({ requestId }) => requestId)).toEqual([asked.elicitations[0]?.requestId]);
  owned(await server.again());
  const events = await eventsUntil(hub, has('server_reconnected'));
  expect(events.at(-1)?.data).toMatchObject({ invalidatedTasks: 0, invalidatedElicitations: 0 });
  await answer(hub, asked.elicitations[0]?.requestId);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
});

test.each(SURVIVORS)(
  'B-3: an answer to the question of $how arrives although it is what reveals the lost server',
  async ({ start }) => {
    const server = await start();
    const hub = await hubFor({ url: server.url });
    const asked = await execute(hub, 'ask');
    await server.stop();
    await answer(hub, asked.elicitations[0]?.requestId);
    await eventsUntil(hub, has('server_disconnected'));
    owned(await server.again());
    expect((await hub.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
  },
);

test.each(SURVIVORS)(
  'B-3: an answer to the question of $how arrives although its server is away',
  async ({ start }) => {
    const server = await start();
    const hub = await hubFor({ url: server.url });
    const asked = await execute(hub, 'ask');
    await server.stop();
    await eventsUntil(hub, has('server_disconnected'));
    await answer(hub, asked.elicitations[0]?.requestId);
    const task_id = taskIdOf(asked);
    expect((await hub.call('get_task_result', { task_id, timeout_ms: 300 })).body).toMatchObject({
      task: { status: 'working' },
    });
    owned(await server.again());
    expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Ada');
  },
);

test('B-3: a core task asks its question again when its server returns', async () => {
  const server = owned(await startTasksV1Http());
  const hub = await hubFor({ url: server.url });
  const asked = await execute(hub, 'ask');
  const task_id = taskIdOf(asked);
  await server.stop();
  const events = await eventsUntil(hub, has('server_disconnected'));
  expect(typesOf(events)).toContain('elicitation_expired');
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'working' });
  owned(await startTasksV1Http({ port: server.port, state: server.state }));
  await soon(async () => (await hub.call('get_elicitations')).elicitations).toMatchObject([{ taskId: task_id }]);
  const [again] = (await hub.call('get_elicitations')).elicitations;
  expect(again?.requestId).not.toBe(asked.elicitations[0]?.requestId);
  await answer(hub, again?.requestId);
  expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Ada');
});

test.each(KEEPERS)('B-3: a $how fails with the reason when its server stays away', async ({ start }) => {
  const server = await start();
  const settings = { servers: { pingMs: 100, reconnect: { firstMs: 20, maxMs: 50, attempts: 3 } } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(url);
  await settle(hub);
  const task_id = await promote(hub, 'hold');
  await server.stop();
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toMatch(/ECONNREFUSED|refused|reached/);
  expect(await tasksOf(hub)).toMatchObject([{ status: 'failed' }]);
});

test.each(KEEPERS)('H-6, B-3: a $how can be cancelled while its server is away', async ({ start }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold');
  await server.stop();
  await eventsUntil(hub, has('server_disconnected'));
  expect((await hub.call('cancel_task', { task_id })).body).toMatchObject({ success: true });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'cancelled' });
});

test.each(KEEPERS)('S-3, B-6: removing the server cancels a $how there', async ({ start }) => {
  const server = await start();
  const hub = await hubFor({ url: server.url });
  const task_id = await promote(hub, 'hold');
  await hub.call('remove_server', { name: 'one' });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'failed' });
  await soon(() => server.state.cancelled).toEqual(['hold']);
});

test.each(KEEPERS)('S-4, B-6: ending the session cancels a $how', async ({ start }) => {
  const server = await start();
  const { url } = await httpGateway({ one: { url: server.url } }, SETTINGS);
  const hub = await hubOverHttp(url);
  await settle(hub);
  await promote(hub, 'hold');
  const sessionId = String(hub.sessionId());
  await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': sessionId } });
  await soon(() => server.state.cancelled).toEqual(['hold']);
});
