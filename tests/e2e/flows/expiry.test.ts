import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { DOORS, hubThrough } from './doors.ts';
import { awaitActivity, eventsUntil, flat, has, settle, soon, taskOf } from './watch.ts';

test.each(DOORS)('T-2: a task whose TTL runs out expires, and its call is cancelled (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } });
  await settle(hub);
  const args = { ms: 600_000, text: 'endless' };
  const call = { server: 'one', tool: 'slow', args, timeout_ms: 50, task_ttl_ms: 300 };
  const promoted = await hub.call('execute_tool', call);
  const task_id = taskIdOf(promoted);
  expect(promoted.body['proxy_task']).toMatchObject({ ttl_ms: 300 });

  const events = await eventsUntil(hub, has('task_expired'));
  expect(events).toMatchObject([
    { type: 'task_expired', server: 'one', data: { taskId: task_id, toolName: 'slow', ttl: 300 } },
  ]);
  await soon(() => server.state.cancelled).toEqual(['slow:endless']);
  const error = { code: -32_001, message: expect.stringContaining('exceeded its TTL of 300 ms') };
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'expired', error });
  const result = await hub.call('get_task_result', { task_id });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_TIMEOUT' });
  expect(result.text).toContain('exceeded its TTL of 300 ms');
  // What is over is over.
  expect((await hub.call('cancel_task', { task_id })).body).toMatchObject({ success: false });
});

test('T-2, H-6: get_task_result without a timeout reports that the task has expired', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { ttlMs: 300 } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  for (let round = 0; round < 5; round += 1) {
    const promoted = await hub.call('execute_tool', call);
    const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
    expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_TIMEOUT' });
  }
});

test('T-2: a requested TTL is limited to the configured maximum', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { ttlMs: 200, maxTtlMs: 400 } });
  const hub = await hubOverHttp(url);
  const call = { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 };
  const usual = await hub.call('execute_tool', call);
  const greedy = await hub.call('execute_tool', { ...call, task_ttl_ms: 3_600_000 });
  expect(usual.body['proxy_task']).toMatchObject({ ttl_ms: 200 });
  expect(greedy.body['proxy_task']).toMatchObject({ ttl_ms: 400 });
  const seen = [...greedy.events];
  if (!has('task_expired', 2)(seen)) {
    seen.push(...(await eventsUntil(hub, (more) => has('task_expired', 2)([...seen, ...more]))));
  }
  const expired = seen.filter(({ type }) => type === 'task_expired').map(({ data }) => data['taskId']);
  expect(expired).toEqual([taskIdOf(usual), taskIdOf(greedy)]);
});

test.each(DOORS)('T-3: a question may stay open for longer than the TTL (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask', task_ttl_ms: 300 });
  const task_id = taskIdOf(promoted);
  const quiet = await awaitActivity(hub, { timeout_ms: 900 });
  expect(quiet).toMatchObject({ triggers: [{ type: 'timeout' }], events: [] });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'working' });
  await hub.call('respond_to_elicitation', {
    request_id: promoted.elicitations[0]?.requestId,
    action: 'accept',
    content: { name: 'Pat' },
  });
  expect((await hub.call('get_task_result', { task_id, timeout_ms: 5000 })).text).toBe('Hello Pat');
});

test('T-3: a question that may belong to a task pauses its TTL until it is answered', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000 } };
  // It has enough time to be there when the question comes, and little enough to expire soon after the answer.
  const bystander = taskIdOf(await hub.call('execute_tool', { ...slow, timeout_ms: 0, task_ttl_ms: 2000 }));
  const asking = await hub.call('execute_tool', { server: 'one', tool: 'ask', timeout_ms: 600, task_ttl_ms: 2000 });
  expect(asking.elicitations).toHaveLength(1);
  expect(asking.elicitations[0]).not.toHaveProperty('taskId');
  expect(flat(await awaitActivity(hub, { timeout_ms: 2400 }))).toEqual([]);
  expect(await taskOf(hub, bystander)).toMatchObject({ status: 'working' });

  await hub.call('respond_to_elicitation', {
    request_id: asking.elicitations[0]?.requestId,
    action: 'accept',
    content: { name: 'Quin' },
  });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asking) })).text).toBe('Hello Quin');
  await eventsUntil(hub, has('task_expired'));
  expect(await taskOf(hub, bystander)).toMatchObject({ status: 'expired' });
});
