import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubEvent, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { DOORS, hubThrough, type Door } from './doors.ts';
import { activityOf, eventsUntil, flat, has, settle, taskOf } from './watch.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** A call becomes a task before its server is connected, so even the fastest one does. */
async function asTask(door: Door, tool: string) {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { other: { url: server.url } });
  await hub.call('list_servers');
  const promoted = await hub.call('execute_tool', { server: 'other', tool, timeout_ms: 0 });
  return { hub, server, promoted };
}

test.each(DOORS)('T-5: a failed task has the error of the server (%s)', async (door) => {
  const { hub, promoted } = await asTask(door, 'rpc_error');
  const task_id = taskIdOf(promoted);
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toContain('quota used up');
  const error = {
    code: -32_011,
    message: expect.stringContaining('quota used up') as unknown,
    data: { retryAfter: 7 },
  };
  expect(result.body['error']).toMatchObject({ details: { task: { task_id, status: 'failed', error } } });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'failed', error });
});

test('T-5, H-12: a failed call that is no task has the same error', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'one', tool: 'rpc_error' });
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(reply.body['error']).toMatchObject({ details: { error: { code: -32_011, data: { retryAfter: 7 } } } });
});

test.each(DOORS)('T-5: a tool result with isError makes the task completed (%s)', async (door) => {
  const { hub, promoted } = await asTask(door, 'fail');
  const task_id = taskIdOf(promoted);
  const result = await hub.call('get_task_result', { task_id });
  expect(result.raw['isError']).toBe(true);
  expect(result.raw.content[0]).toEqual({ type: 'text', text: 'disk on fire' });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'completed' });
  expect(await taskOf(hub, task_id)).not.toHaveProperty('error');
});

test('T-5, H-6: the result of a task equals the result of the server', async () => {
  const { hub, promoted } = await asTask('http', 'rich');
  const task_id = taskIdOf(promoted);
  await hub.call('get_task_result', { task_id });
  const { raw } = await hub.call('get_task_result', { task_id });
  expect(raw).toEqual(richResult());
});

test('T-1: a task is either completed or cancelled, and every reply says the same', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const start = async (ms: number): Promise<Reply> =>
    hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms, text: `${ms}` }, timeout_ms: 0 });
  const durations = [1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 600_000];
  const promoted = await Promise.all(durations.map(start));
  // The cancellations come while some calls end, some have ended and some never will.
  const results = await Promise.all(
    promoted.slice(0, 4).map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })),
  );
  const cancels = await Promise.all(promoted.map((reply) => hub.call('cancel_task', { task_id: taskIdOf(reply) })));
  const events: HubEvent[] = [...promoted, ...results, ...cancels].flatMap((reply) => reply.events);
  const ends = (all: HubEvent[]): HubEvent[] => all.filter(({ type }) => /^task_(?!created)/.test(type));
  if (ends(events).length < promoted.length) {
    events.push(...(await eventsUntil(hub, (more) => ends([...events, ...more]).length >= promoted.length)));
  }
  const last = activityOf(await hub.call('await_activity', { timeout_ms: 300 }));
  events.push(...flat(last));

  for (const [index, reply] of promoted.entries()) {
    const taskId = taskIdOf(reply);
    const cancelled = cancels[index]?.body['success'];
    const status = cancelled === true ? 'cancelled' : 'completed';
    expect(await taskOf(hub, taskId)).toMatchObject({ status });
    const told = ends(events).filter(({ data }) => data['taskId'] === taskId);
    expect(told.map(({ type }) => type)).toEqual([`task_${status}`]);
    const result = await hub.call('get_task_result', { task_id: taskId });
    expect(result.isError).toBe(cancelled);
  }
  const outcomes = new Set(cancels.map(({ body }) => body['success']));
  expect(outcomes).toEqual(new Set([true, false]));
});

test('T-6: task ids cannot be guessed from one another, and event ids only increase', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { servers: { reconnect: { attempts: 0 } } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  const replies = await Promise.all(Array.from({ length: 30 }, () => hub.call('execute_tool', call)));
  const taskIds = replies.map(taskIdOf);
  for (const id of taskIds) expect(id).toMatch(ULID);
  // The last 16 characters are the random part; a sequence would share nearly all of them.
  const secrets = taskIds.map((id) => id.slice(10));
  expect(new Set(secrets.map((secret) => secret.slice(0, 4))).size).toBeGreaterThan(25);
  expect(new Set(secrets).size).toBe(30);

  // All of them fail in the same moment, and are told in the order in which that happened.
  await server.close();
  const failures = await eventsUntil(hub, has('server_disconnected'));
  const order = failures.map(({ id }) => id);
  expect(order.length).toBeGreaterThanOrEqual(31);
  expect(order).toEqual([...new Set(order)].toSorted());

  // From a cursor before everything: all events again, in the order of their ids.
  const all = activityOf(await hub.call('await_activity', { last_event_id: '0' }));
  const ids = flat(all).map(({ id }) => id);
  expect(ids.length).toBeGreaterThanOrEqual(61);
  for (const id of ids) expect(id).toMatch(ULID);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect(all.lastEventId).toBe(ids.at(-1));
  const types = flat(all).map(({ type }) => type);
  expect(types.slice(0, 31)).toEqual(['server_connected', ...Array.from({ length: 30 }, () => 'task_created')]);
});
