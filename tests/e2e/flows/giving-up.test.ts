import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubEvent, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { hubThrough, WAYS } from './doors.ts';
import { openRawSession, rawPost, returnTo, toolCall } from './raw.ts';
import { settle, soon, tasksOf } from './watch.ts';

const SLOW = { server: 'one', tool: 'slow', args: { ms: 1000, text: 'worth it' }, timeout_ms: 60_000 };

function createdIn(events: HubEvent[]): unknown {
  return events.find(({ type }) => type === 'task_created')?.data['taskId'];
}

test.each(WAYS)(
  'T-4: a client whose own timeout is shorter gets the result from the task ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough(way, { one: { url: server.url } });
    await settle(hub);
    // Long enough for a busy machine to send the call before it is given up.
    const slow = { ...SLOW, args: { ...SLOW.args, ms: 2000 } };
    await expect(hub.call('execute_tool', slow, { timeout: 1000 })).rejects.toThrow(/timed out/i);
    await soon(() => tasksOf(hub)).toMatchObject([{ tool: 'slow' }]);
    const [task] = await tasksOf(hub);
    const result = await hub.call('get_task_result', { task_id: task?.['task_id'] });
    expect(result.text).toBe('worth it');
    expect(server.state.cancelled).toEqual([]);
  },
);

test.each(WAYS)('T-4, E-1: the next reply reports the task of an abandoned call ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  await hub.call('list_tools', { server: 'one' });
  const endless = { ...SLOW, args: { ms: 600_000 } };
  await expect(hub.call('execute_tool', endless, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  // Whether the word of the client's giving up has arrived is seen by what comes next.
  const next = await hub.call('await_activity', { timeout_ms: 5000 });
  const activity = JSON.parse(next.text) as { events: { events: HubEvent[] }[]; pending_server: unknown };
  const taskId = createdIn(activity.events.flatMap(({ events }) => events));
  expect(taskId).toBeTypeOf('string');
  expect(activity.pending_server).toEqual([
    { server: 'one', working_tasks: [{ taskId, toolName: 'slow', status: 'working' }] },
  ]);
});

test('T-4, E-5: a call whose connection breaks continues, and its result is kept', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const sessionId = await openRawSession(url);
  const wire = new AbortController();
  const dropped = rawPost(url, sessionId, toolCall('dropped', 'execute_tool', SLOW), wire.signal);
  await soon(() => server.state.calls.map(({ tool }) => tool)).toEqual(['slow']);
  wire.abort();
  await expect(dropped.then((response) => response.text())).rejects.toThrow(/abort/i);
  await soon(() => gateway.sessions[0]?.tasks.list().length).toBe(1);

  const hub = await returnTo(url, sessionId);
  const next = await hub.call('list_servers');
  const taskId = createdIn(next.events);
  expect(taskId).toBeTypeOf('string');
  const result = await hub.call('get_task_result', { task_id: taskId });
  expect(result.text).toBe('worth it');
  expect(result.events.map(({ type }) => type)).toEqual(['task_completed']);
});

test('T-4: a call whose connection breaks after its stream began continues, and its result is kept', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const sessionId = await openRawSession(url);
  const wire = new AbortController();
  const response = await rawPost(url, sessionId, toolCall('dropped', 'execute_tool', SLOW), wire.signal);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  wire.abort();
  await expect(response.text()).rejects.toThrow(/abort/i);
  const hub = await returnTo(url, sessionId);
  const all = async () => (await hub.call('list_tasks', { include_completed: true })).body['tasks'] as Json[];
  await soon(all).toHaveLength(1);
  const [task] = await all();
  expect((await hub.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('worth it');
});

test('T-4, S-5: a modern client whose connection broke gets the result on another connection', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const first = await hubOverHttp(url, 'modern');
  const left = new AbortController();
  const dropped = expect(first.call('execute_tool', SLOW, { signal: left.signal })).rejects.toThrow();
  await soon(() => server.state.calls.map(({ tool }) => tool)).toEqual(['slow']);
  left.abort();
  await dropped;
  await first.close();
  const second = await hubOverHttp(url, 'modern');
  await soon(() => tasksOf(second)).toMatchObject([{ tool: 'slow' }]);
  const [task] = await tasksOf(second);
  expect((await second.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('worth it');
});

test('T-4: a client that stops waiting for a result can get it later', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { ...SLOW, timeout_ms: 50 });
  const task_id = (promoted.body['proxy_task'] as { task_id: string }).task_id;
  await expect(hub.call('get_task_result', { task_id }, { timeout: 100 })).rejects.toThrow(/timed out/i);
  const result = await hub.call('get_task_result', { task_id });
  expect(result.text).toBe('worth it');
  expect(result.events.map(({ type }) => type)).toEqual(['task_completed']);
});

// Over HTTP a modern client has no other word for "stop" than to drop its request, which is giving up.
const CANCELLERS = WAYS.filter(({ door, kind }) => door === 'stdio' || kind !== 'modern');

test.each(CANCELLERS)('T-4: a call that the user cancels is cancelled on the server ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  const user = new AbortController();
  const args = { ms: 600_000, text: 'unwanted' };
  const cancelled = expect(
    hub.call('execute_tool', { server: 'one', tool: 'slow', args, timeout_ms: 600_000 }, { signal: user.signal }),
  ).rejects.toThrow('user');
  await soon(() => server.state.calls.map(({ tool }) => tool)).toEqual(['slow']);
  user.abort('user');
  await cancelled;
  await soon(() => server.state.cancelled).toEqual(['slow:unwanted']);
  expect(await tasksOf(hub)).toEqual([]);
});

test('T-4: cancelling a task withdraws its question', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  expect(promoted.elicitations).toHaveLength(1);
  const task_id = (promoted.body['proxy_task'] as { task_id: string }).task_id;
  const reply = await hub.call('cancel_task', { task_id });
  expect(reply.elicitations).toEqual([]);
  expect(reply.events.map(({ type }) => type).toSorted()).toEqual(['elicitation_expired', 'task_cancelled']);
  await soon(() => server.state.cancelled).toEqual(['ask']);
  expect(gateway.sessions[0]?.interactions.size).toBe(0);
});
