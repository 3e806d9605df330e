import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubEvent } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { DOORS, hubThrough, WAYS } from './doors.ts';
import { openRawSession, rawPost, toolCall } from './raw.ts';
import { awaitActivity, flat, settle, soon } from './watch.ts';

const ID: unknown = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/);
const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

test.each(WAYS)('H-2, H-7: the reply of await_activity has every specified field ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  await settle(hub);
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 20 };
  const working = taskIdOf(await hub.call('execute_tool', slow));
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const sampled = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'x' } });
  await hub.call('cancel_task', { task_id: working });

  const reply = await hub.call('await_activity', { timeout_ms: 0 });
  const quiet = JSON.parse(reply.text) as unknown;
  const pending_server = [
    {
      server: 'one',
      working_tasks: [
        { taskId: taskIdOf(asked), toolName: 'ask', status: 'working' },
        { taskId: taskIdOf(sampled), toolName: 'sample', status: 'working' },
      ],
    },
  ];
  const pending_client = {
    elicitations: [{ requestId: asked.elicitations[0]?.requestId, server: 'one', message: 'What is your name?' }],
    sampling_requests: [{ requestId: sampled.samplings[0]?.requestId, server: 'one' }],
  };
  expect(quiet).toEqual({ triggers: [{ type: 'timeout' }], events: [], pending_server, pending_client });
  expect(reply.elicitations).toHaveLength(1);
  expect(reply.samplings).toHaveLength(1);

  const more = await hub.call('execute_tool', { ...slow, args: { ms: 800 } });
  const activity = await awaitActivity(hub);
  expect(activity).toEqual({
    triggers: [{ type: 'event', server: 'one', eventType: 'task_completed' }],
    events: [
      {
        server: 'one',
        events: [
          {
            id: ID,
            type: 'task_completed',
            server: 'one',
            createdAt: expect.any(String) as unknown,
            data: { taskId: taskIdOf(more), toolName: 'slow' },
          },
        ],
      },
    ],
    pending_server,
    pending_client,
    lastEventId: flat(activity)[0]?.id,
  });
});

test.each(DOORS)('H-7: await_activity returns past events at once, grouped by server (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url }, two: v1Stdio() });
  await settle(hub, 'one');
  await settle(hub, 'two');
  const start = async (name: string): Promise<string> =>
    taskIdOf(await hub.call('execute_tool', { server: name, tool: 'slow', args: { ms: 500 }, timeout_ms: 0 }));
  const tasks = [await start('one'), await start('two')];
  // Time goes by in a call whose reply never comes, so that none takes the events along.
  await expect(
    hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 } }, { timeout: 1500 }),
  ).rejects.toThrow(/timed out/i);
  const activity = await awaitActivity(hub);
  expect(activity.triggers).toEqual([{ type: 'immediate' }]);
  expect(activity.events.map((group) => group.server).toSorted()).toEqual(['one', 'two']);
  for (const { server: name, events } of activity.events) for (const event of events) expect(event.server).toBe(name);
  const ended = flat(activity).filter(({ type }) => type === 'task_completed');
  expect(ended.map(({ data }) => data['taskId'])).toEqual(expect.arrayContaining(tasks));
});

test('H-7: simultaneous events wake await_activity once, with several triggers', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const waiting = awaitActivity(hub);
  await soon(() => gateway.sessions[0]?.events.counts.waiters).toBe(1);
  await hub.call('cancel_task', { task_id: taskIdOf(promoted) });
  const activity = await waiting;
  expect(activity.triggers).toEqual(
    expect.arrayContaining([
      { type: 'event', server: 'one', eventType: 'task_cancelled' },
      { type: 'event', server: 'one', eventType: 'elicitation_expired' },
    ]),
  );
  expect(activity.triggers).toHaveLength(2);
});

test.each(KINDS)('E-4: an event wakes all waits of a client, and one of them gets the events (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  await settle(hub);
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  const task_id = taskIdOf(await hub.call('execute_tool', slow));
  const waiting = Promise.all([awaitActivity(hub), awaitActivity(hub), awaitActivity(hub)]);
  await soon(() => gateway.sessions[0]?.events.counts.waiters).toBe(3);
  // Something happens that nobody asked for: there is no reply that could take the events along.
  gateway.sessions[0]?.calls.cancel(task_id, 'by the operator');
  const woken = await waiting;
  for (const activity of woken) {
    expect(activity.triggers).toEqual([{ type: 'event', server: 'one', eventType: 'task_cancelled' }]);
    expect(activity.pending_server).toEqual([]);
    expect(activity.pending_client).toEqual({ elicitations: [], sampling_requests: [] });
  }
  const told = woken.flatMap(flat);
  expect(told).toMatchObject([{ type: 'task_cancelled', data: { taskId: task_id } }]);
  expect(gateway.sessions[0]?.events.counts).toMatchObject({ waiters: 0 });
});

test('E-4: an event wakes all waits of a client over stdio', async () => {
  const hub = await hubThrough({ door: 'stdio', kind: 'v1' }, { one: v1Stdio() });
  await settle(hub);
  const waiting = Promise.all([awaitActivity(hub), awaitActivity(hub)]);
  const promoted = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300 },
    timeout_ms: 0,
  });
  const woken = await waiting;
  for (const activity of woken) {
    expect(activity.triggers).toEqual([{ type: 'event', server: 'one', eventType: 'task_created' }]);
    expect(activity.pending_server).toMatchObject([{ working_tasks: [{ taskId: taskIdOf(promoted) }] }]);
  }
  // The reply shows the task, and so needs no event.
  expect(promoted.events).toEqual([]);
  expect(woken.flatMap(flat).length).toBeLessThanOrEqual(1);
});

test.each(DOORS)('H-7: await_activity times out when nothing happens (%s)', async (door) => {
  const hub = await hubThrough({ door, kind: 'v1' }, { one: v1Stdio() });
  await settle(hub);
  const started = performance.now();
  const activity = await awaitActivity(hub, { timeout_ms: 200 });
  expect(performance.now() - started).toBeGreaterThan(190);
  expect(activity).toEqual({
    triggers: [{ type: 'timeout' }],
    events: [],
    pending_server: [],
    pending_client: { elicitations: [], sampling_requests: [] },
  });
});

test.each(KINDS)('H-7: a wait ends when its client disconnects (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  await settle(hub);
  const waiting = expect(hub.call('await_activity', { timeout_ms: 600_000 }, { timeout: 600_000 })).rejects.toThrow();
  await soon(() => gateway.sessions[0]?.events.counts.waiters).toBe(1);
  await hub.close();
  await waiting;
  await soon(() => gateway.sessions[0]?.events.counts.waiters).toBe(0);
});

test.each([true, false])(
  'H-7, E-1: a wait whose connection breaks loses no events (stream begun: %s)',
  async (begun) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ one: { url: server.url } });
    const sessionId = await openRawSession(url);
    await (await rawPost(url, sessionId, toolCall('first', 'list_tools', { server: 'one' }))).text();
    const counts = () => gateway.sessions[0]?.events.counts;
    const gone = new AbortController();
    const wait = rawPost(url, sessionId, toolCall('wait', 'await_activity', { timeout_ms: 600_000 }), gone.signal);
    await soon(() => counts()?.waiters).toBe(1);
    if (begun) await wait;
    gone.abort();
    await expect(wait.then((response) => response.text())).rejects.toThrow(/abort/i);
    await soon(() => counts()?.waiters).toBe(0);
    gateway.sessions[0]?.events.add('server_added', 'another', {});
    const reply = await rawPost(url, sessionId, toolCall('next', 'list_tasks', {}));
    expect(await reply.text()).toContain('server_added');
  },
);

test.each(DOORS)('H-7: an earlier cursor repeats the events after it (%s)', async (door) => {
  const hub = await hubThrough({ door, kind: 'v1' }, { one: v1Stdio() });
  await settle(hub);
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  const cancelled = async (): Promise<HubEvent | undefined> => {
    const task_id = taskIdOf(await hub.call('execute_tool', slow));
    return (await hub.call('cancel_task', { task_id })).events[0];
  };
  const [first, second, third] = [await cancelled(), await cancelled(), await cancelled()];
  expect([first, second, third].map((event) => event?.type)).toEqual(Array.from({ length: 3 }, () => 'task_cancelled'));

  const again = await awaitActivity(hub, { last_event_id: first?.id });
  expect(again.triggers).toEqual([{ type: 'immediate' }]);
  const created = flat(again).filter(({ type }) => type === 'task_created');
  expect(created).toHaveLength(2);
  expect(flat(again).filter((event) => !created.includes(event))).toEqual([second, third]);
  expect(again.lastEventId).toBe(third?.id);
  // As often as it is asked for, and never without being asked.
  expect(flat(await awaitActivity(hub, { last_event_id: second?.id })).at(-1)).toEqual(third);
  const nothing = await awaitActivity(hub, { last_event_id: third?.id, timeout_ms: 50 });
  expect(nothing).toMatchObject({ triggers: [{ type: 'timeout' }], events: [], lastEventId: third?.id });
  expect(await awaitActivity(hub, { timeout_ms: 50 })).toMatchObject({ triggers: [{ type: 'timeout' }], events: [] });
});

test('H-7: a wait with a cursor also returns events that come during the wait', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  const promoted = await hub.call('execute_tool', slow);
  gateway.sessions[0]?.events.add('server_added', 'another', {});
  const [last] = (await hub.call('list_tasks')).events;
  expect(last).toBeDefined();
  const waiting = awaitActivity(hub, { last_event_id: last?.id });
  await soon(() => gateway.sessions[0]?.events.counts.waiters).toBe(1);
  gateway.sessions[0]?.calls.cancel(taskIdOf(promoted), 'by the operator');
  const activity = await waiting;
  expect(activity.triggers).toEqual([{ type: 'event', server: 'one', eventType: 'task_cancelled' }]);
  expect(flat(activity).map(({ type }) => type)).toEqual(['task_cancelled']);
});

test('H-7: log messages do not wake await_activity', async () => {
  const hub = await hubThrough({ door: 'stdio', kind: 'v1' }, { one: v1Stdio() });
  await settle(hub);
  const waiting = awaitActivity(hub, { timeout_ms: 600 });
  await hub.call('execute_tool', { server: 'one', tool: 'log', args: { count: 3, level: 'error' } });
  expect(await waiting).toMatchObject({ triggers: [{ type: 'timeout' }], events: [] });
});
