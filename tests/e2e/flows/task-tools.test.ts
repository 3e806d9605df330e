import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { newRecord } from '../native/ways.ts';
import { DOORS, hubThrough, WAYS } from './doors.ts';
import { settle, soon, taskOf, tasksOf } from './watch.ts';

const ISO: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

async function promote(hub: HubClient, server: string, args: Json, more: Json = {}): Promise<string> {
  return taskIdOf(await hub.call('execute_tool', { server, tool: 'slow', args, timeout_ms: 0, ...more }));
}

test.each(DOORS)('H-6: list_tasks filters by its arguments (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url }, two: v1Stdio() });
  await settle(hub, 'one');
  await settle(hub, 'two');
  const endless = { ms: 600_000 };
  const working = await promote(hub, 'one', endless);
  const elsewhere = await promote(hub, 'two', endless);
  const completed = await promote(hub, 'one', { ms: 30 });
  await hub.call('get_task_result', { task_id: completed });
  const cancelled = await promote(hub, 'one', endless);
  await hub.call('cancel_task', { task_id: cancelled });
  const expired = await promote(hub, 'one', endless, { task_ttl_ms: 1 });
  await hub.call('get_task_result', { task_id: expired });

  const listed = async (args: Json): Promise<unknown[]> => (await tasksOf(hub, args)).map(({ task_id }) => task_id);
  expect(await listed({})).toEqual([working, elsewhere]);
  expect(await listed({ server: 'two' })).toEqual([elsewhere]);
  expect(await listed({ include_completed: true })).toEqual([working, elsewhere, completed, cancelled, expired]);
  expect(await listed({ include_completed: true, server: 'one' })).toEqual([working, completed, cancelled, expired]);
  expect(await listed({ status: 'working' })).toEqual([working, elsewhere]);
  expect(await listed({ status: 'completed' })).toEqual([completed]);
  expect(await listed({ status: 'cancelled' })).toEqual([cancelled]);
  expect(await listed({ status: 'expired', server: 'one' })).toEqual([expired]);
  expect(await listed({ status: 'failed' })).toEqual([]);
  expect(await hub.call('list_tasks', { status: 'input_required' })).toMatchObject({
    isError: true,
    code: 'TOOL_ERR_INVALID_ARGUMENT',
  });
});

test.each(WAYS)(
  'H-2, H-6, T-1: get_task shows the task and the open questions of its server ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough(way, { one: { url: server.url }, two: v1Stdio() });
    await settle(hub, 'one');
    const slow = await promote(hub, 'one', { ms: 600_000 });
    const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Mine?' } });
    await hub.call('execute_tool', { server: 'two', tool: 'ask', args: { message: 'Not here' } });
    const requestId = asked.elicitations[0]?.requestId;
    const question = { requestId, server: 'one', message: 'Mine?' };
    for (const [task_id, tool, args] of [
      [slow, 'slow', { ms: 600_000 }],
      [taskIdOf(asked), 'ask', { message: 'Mine?' }],
    ] as const) {
      const { body, elicitations } = await hub.call('get_task', { task_id });
      expect(elicitations.find((each) => each.requestId === requestId)?.requestedSchema).toMatchObject({
        type: 'object',
      });
      expect(body).toEqual({
        task: {
          task_id,
          status: 'working',
          created_at: ISO,
          last_updated_at: ISO,
          server: 'one',
          tool,
          args,
          ttl_ms: 300_000,
        },
        pending_elicitations_for_server: [question],
      });
    }
  },
);

test.each(DOORS)(
  'H-6: get_task_result returns the status without an error when its timeout ends (%s)',
  async (door) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } });
    const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
    const task_id = taskIdOf(asked);
    for (const timeout_ms of [0, 100]) {
      const state = await hub.call('get_task_result', { task_id, timeout_ms });
      expect(state.isError).toBe(false);
      expect(state.body).toMatchObject({
        task: { task_id, status: 'working' },
        pending_elicitations_for_server: [{ requestId: asked.elicitations[0]?.requestId }],
      });
      expect(state.elicitations).toHaveLength(1);
    }
  },
);

test('H-6: parallel waits for one result all get it', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const task_id = await promote(hub, 'one', { ms: 500, text: 'for all' });
  const waits = await Promise.all(Array.from({ length: 4 }, () => hub.call('get_task_result', { task_id })));
  expect(waits.map(({ text }) => text)).toEqual(Array.from({ length: 4 }, () => 'for all'));
  expect(waits.flatMap(({ events }) => events).map(({ type }) => type)).toEqual(['task_completed']);
});

test.each(WAYS)('H-6: cancel_task cancels the call on the server ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  await settle(hub);
  const task_id = await promote(hub, 'one', { ms: 600_000, text: 'stop me' });
  await soon(() => server.state.calls.at(-1)?.tool).toBe('slow');
  const other = await promote(hub, 'one', { ms: 600_000, text: 'not me' });
  const reply = await hub.call('cancel_task', { task_id });
  expect(reply.body).toEqual({ success: true, message: `task ${task_id} was cancelled` });
  await soon(() => server.state.cancelled).toEqual(['slow:stop me']);
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'cancelled', status_message: 'cancelled by the client' });
  expect(await taskOf(hub, other)).toMatchObject({ status: 'working' });
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toContain('cancelled by the client');

  const twice = await hub.call('cancel_task', { task_id });
  expect(twice.isError).toBe(false);
  expect(twice.body).toEqual({ success: false, message: `task ${task_id} had already ended: cancelled` });
  expect(twice.events).toEqual([]);
});

test('H-6: cancel_task cancels the call on a modern server', async () => {
  const server = owned(await startV2Http({ era: 'modern' }));
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const task_id = await promote(hub, 'one', { ms: 600_000, text: 'stop me' });
  await soon(() => server.state.calls.at(-1)?.tool).toBe('slow');
  await hub.call('cancel_task', { task_id });
  await soon(() => server.state.cancelled).toEqual(['slow:stop me']);
});

test('H-6, T-2, T-4: a call over stdio is cancelled on the server by cancel_task, expiry and client cancel', async () => {
  const { file, cancelled } = await newRecord();
  const { url } = await httpGateway({ one: v1Stdio({ TEST_RECORD: file }) });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const task_id = await promote(hub, 'one', { ms: 600_000, text: 'by the client' });
  // The server has the call when it has answered a later one.
  await settle(hub);
  await hub.call('cancel_task', { task_id });
  await soon(cancelled).toEqual(['slow:by the client']);

  const expiring = await promote(hub, 'one', { ms: 600_000, text: 'by its TTL' }, { task_ttl_ms: 500 });
  expect((await hub.call('get_task_result', { task_id: expiring })).code).toBe('TOOL_ERR_TIMEOUT');
  await soon(cancelled).toEqual(['slow:by the client', 'slow:by its TTL']);

  const user = new AbortController();
  const open = hub.call(
    'execute_tool',
    { server: 'one', tool: 'slow', args: { ms: 600_000, text: 'by the user' } },
    { signal: user.signal },
  );
  const left = expect(open).rejects.toThrow('user');
  await settle(hub);
  user.abort('user');
  await left;
  await soon(cancelled).toEqual(['slow:by the client', 'slow:by its TTL', 'slow:by the user']);
});

test('H-6: a task stays cancelled although its server continues', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = { server: 'one', tool: 'ignore_cancel', args: { ms: 100 }, timeout_ms: 0 };
  const task_id = taskIdOf(await hub.call('execute_tool', call));
  expect((await hub.call('cancel_task', { task_id })).body).toMatchObject({ success: true });
  await soon(() => server.state.calls.at(-1)?.tool).toBe('ignore_cancel.finished');
  await settle(hub);
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'cancelled' });
});

test.each(['get_task', 'get_task_result', 'cancel_task'])('H-6, H-12: %s reports an unknown task id', async (tool) => {
  const { url } = await httpGateway({});
  const hub = await hubOverHttp(url);
  const reply = await hub.call(tool, { task_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' });
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_TASK_NOT_FOUND' });
  expect(reply.text).toContain('list_tasks');
});

test('H-6, X-3, X-4: list_tasks and get_task show arguments shortened and without secrets', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const start = async (args: Json): Promise<string> =>
    taskIdOf(await hub.call('execute_tool', { server: 'one', tool: 'slow', args, timeout_ms: 0 }));
  const [first, second] = [
    await start({ ms: 600_000, text: 'the first' }),
    await start({ ms: 600_000, text: 'the second' }),
  ];
  const long = await start({ ms: 600_000, text: 'x'.repeat(100_000), apiKey: 'hidden', more: { password: 'hidden' } });
  const { text, body } = await hub.call('list_tasks');
  expect(body['tasks']).toMatchObject([
    { task_id: first, args: { ms: 600_000, text: 'the first' } },
    { task_id: second, args: { ms: 600_000, text: 'the second' } },
    { task_id: long, args_truncated: true },
  ]);
  expect((body['tasks'] as Json[])[0]).not.toHaveProperty('args_truncated');
  expect(text.length).toBeLessThan(2000);
  const state = await hub.call('get_task', { task_id: second });
  expect(state.body['task']).toMatchObject({ args: { text: 'the second' } });
  const secret = await start({ ms: 600_000, apiKey: 'hidden', more: { password: 'hidden', user: 'ada' } });
  const shown = await hub.call('get_task', { task_id: secret });
  expect(shown.body['task']).toMatchObject({ args: { apiKey: '***', more: { password: '***', user: 'ada' } } });
  expect(shown.text).not.toContain('hidden');
});
