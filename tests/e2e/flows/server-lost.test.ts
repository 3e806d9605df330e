import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { DOORS, hubThrough } from './doors.ts';
import { awaitActivity, eventsUntil, flat, has, settle, soon, taskOf, tasksOf } from './watch.ts';

/** Nobody comes back while the test looks. */
const STAY_AWAY = { servers: { reconnect: { attempts: 0 } } };
/** A server that says goodbye to each call and keeps no stream open is missed only when it is asked. */
const PINGED = { servers: { ...STAY_AWAY.servers, pingMs: 200 } };

interface Mortal {
  config: { url: string } | ReturnType<typeof v1Stdio>;
  kill: (hub: HubClient) => Promise<unknown>;
}

const MORTALS: { name: string; start: () => Promise<Mortal>; reason: RegExp }[] = [
  {
    name: 'v1 over http',
    reason: /./,
    start: async () => {
      const server = owned(await startV1Http());
      return { config: { url: server.url }, kill: () => server.close() };
    },
  },
  {
    name: 'v1 over stdio',
    reason: /process was killed by SIGKILL/,
    start: async () => ({
      config: v1Stdio(),
      kill: async (hub) => {
        const { text } = await hub.call('execute_tool', { server: 'one', tool: 'pid' });
        process.kill(Number(text), 'SIGKILL');
      },
    }),
  },
];

const CASES = MORTALS.flatMap((mortal) => DOORS.map((door) => ({ door, ...mortal })));

test.each(CASES)('H-7, B-2, B-3: the tasks of a lost server ($name, $door) fail with the reason', async (each) => {
  const { config, kill } = await each.start();
  const hub = await hubThrough({ door: each.door, kind: 'v1' }, { one: config }, STAY_AWAY);
  await settle(hub);
  const call = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 20 };
  const tasks = [await hub.call('execute_tool', call), await hub.call('execute_tool', call)].map(taskIdOf);

  const waiting = awaitActivity(hub);
  // A call that goes to the server and back: by then the wait has begun.
  await settle(hub);
  await kill(hub);
  const activity = await waiting;
  expect(activity.triggers).toContainEqual({ type: 'server_disconnected', server: 'one' });
  expect(activity.triggers.filter(({ eventType }) => eventType === 'task_failed')).toHaveLength(2);
  expect(activity.pending_server).toEqual([]);
  const lost = flat(activity).find(({ type }) => type === 'server_disconnected');
  expect(lost).toMatchObject({
    server: 'one',
    data: { name: 'one', reason: expect.stringMatching(each.reason) as unknown },
  });

  for (const task_id of tasks) {
    const task = await taskOf(hub, task_id);
    expect(task).toMatchObject({ status: 'failed', error: { code: -32_000 } });
    const { message } = task['error'] as { message: string };
    expect(message).toContain("server 'one' disconnected");
    expect(message).toMatch(each.reason);
    const result = await hub.call('get_task_result', { task_id });
    expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
    expect(result.text).toContain("server 'one' disconnected");
  }
});

test.each([
  { name: 'modern', start: () => startV2Http({ era: 'modern' }), reason: /HTTP 499/ },
  { name: 'v1 without sessions', start: () => startV1Http({ sessions: false }), reason: /closed|disconnected/ },
])('B-2, B-3: the tasks of a lost server without sessions fail ($name)', async ({ start, reason }) => {
  const server = owned(await start());
  const { url } = await httpGateway({ one: { url: server.url } }, PINGED);
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 20 };
  const task_id = taskIdOf(await hub.call('execute_tool', call));
  await server.close();
  const events = await eventsUntil(hub, has('server_disconnected'));
  expect(events.map(({ type }) => type)).toEqual(['task_failed', 'server_disconnected']);
  expect(await taskOf(hub, task_id)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringMatching(reason) as unknown },
  });
});

test.each(DOORS)('H-5, B-3: the questions of a lost server are rejected (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } }, STAY_AWAY);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const sampled = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'x' } });
  expect([asked.elicitations.length, sampled.samplings.length]).toEqual([1, 1]);
  await server.close();
  const events = await eventsUntil(hub, has('server_disconnected'));
  expect(events.map(({ type }) => type).toSorted()).toEqual([
    'elicitation_expired',
    'sampling_expired',
    'server_disconnected',
    'task_failed',
    'task_failed',
  ]);
  const expired = events.find(({ type }) => type === 'elicitation_expired');
  expect(expired?.data['reason']).toContain("server 'one' disconnected");
  const late = await hub.call('respond_to_elicitation', {
    request_id: asked.elicitations[0]?.requestId,
    action: 'decline',
  });
  expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND', elicitations: [], samplings: [] });
});

test.each(['url', 'command'])('H-12, B-3: an open call fails at once when its server is lost (%s)', async (by) => {
  const server = by === 'url' ? owned(await startV1Http()) : undefined;
  const { url } = await httpGateway({ one: server ? { url: server.url } : v1Stdio() }, STAY_AWAY);
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = server
    ? hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 } })
    : hub.call('execute_tool', { server: 'one', tool: 'crash' });
  if (server) {
    await soon(() => server.state.calls.at(-1)?.tool).toBe('slow');
    await server.close();
  }
  const reply = await call;
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
  expect(await tasksOf(hub)).toEqual([]);
});

test('B-3: only the tasks of the lost server fail, and finished results remain', async () => {
  const lost = owned(await startV1Http());
  const well = owned(await startV1Http());
  const { url } = await httpGateway({ lost: { url: lost.url }, well: { url: well.url } }, STAY_AWAY);
  const hub = await hubOverHttp(url);
  const start = async (server: string, args: Json): Promise<string> =>
    taskIdOf(await hub.call('execute_tool', { server, tool: 'slow', args, timeout_ms: 20 }));
  await settle(hub, 'lost');
  await settle(hub, 'well');
  const done = await start('lost', { ms: 100, text: 'kept' });
  await hub.call('get_task_result', { task_id: done });
  const doomed = await start('lost', { ms: 600_000 });
  const safe = await start('well', { ms: 600_000 });
  await lost.close();
  await eventsUntil(hub, has('server_disconnected'));
  expect(await taskOf(hub, doomed)).toMatchObject({ status: 'failed' });
  expect(await taskOf(hub, safe)).toMatchObject({ status: 'working' });
  expect((await hub.call('get_task_result', { task_id: done })).text).toBe('kept');
});
