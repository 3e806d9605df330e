import { expect, test } from 'vitest';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion } from '../modern-wire.ts';
import { behind } from './behind.ts';

const NO_TASKS: readonly unknown[] = [
  '01M0000000000000000000000',
  '',
  '__proto__',
  'x'.repeat(10_000),
  5,
  null,
  {},
  ['a'],
];

test.each(NO_TASKS)('D-3, X-4: a legacy client gets an error for the invalid task id %j', async (taskId) => {
  const { one } = await behind();
  const wire = await LegacyWire.open(one);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    expect(await wire.error(method, { taskId }), method).toMatchObject({ code: -32602 });
    expect(await wire.error(method), method).toMatchObject({ code: -32602 });
  }
});

// An empty name cannot be repeated in a header, which is another mistake.
test.each(NO_TASKS.filter((name) => name !== ''))(
  'D-4, X-4: a modern client gets an error for the invalid task id %j',
  async (taskId) => {
    const { one } = await behind();
    const wire = new ModernWire(one);
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect(await wire.error(method, { taskId }), method).toMatchObject({ code: -32602 });
      expect(await wire.error(method), method).toMatchObject({ code: -32602 });
    }
  },
);

test('D-3: cancelling a task that has ended is an error', async () => {
  const { one } = await behind();
  const wire = await LegacyWire.open(one);
  const { taskId } = await wire.begin('echo', { text: 'done' });
  await wire.request('tasks/result', { taskId });
  const error = await wire.error('tasks/cancel', { taskId });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("terminal status 'completed'") });
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
});

test('D-3: cancelling a task a second time is an error', async () => {
  const { one, plain } = await behind();
  const wire = await LegacyWire.open(one);
  const { taskId } = await wire.begin('slow', { ms: 600_000, text: 'unwanted' });
  expect(await wire.request('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
  expect(await wire.error('tasks/cancel', { taskId })).toMatchObject({ code: -32602 });
  await expect.poll(() => plain.state.cancelled).toEqual(['slow:unwanted']);
});

test('D-4: cancelling a task that has ended is acknowledged and changes nothing', async () => {
  const { one } = await behind();
  const wire = new ModernWire(one);
  const { taskId } = await wire.call('slow', { ms: 1500, text: 'done' });
  await wire.task(taskId, 'completed');
  expect((await wire.send('tasks/cancel', { taskId })).error).toBeUndefined();
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
});

test('D-4: answers to unknown questions are acknowledged and change nothing', async () => {
  const { ext } = await behind();
  const wire = new ModernWire(ext);
  const { taskId } = await wire.call('ask');
  const before = await wire.task(taskId, 'input_required');
  const unknown = { nonsense: accept({ name: 'Eve' }), __proto__: 5, constructor: accept({}), 'question-2': {} };
  expect((await wire.send('tasks/update', { taskId, inputResponses: unknown })).error).toBeUndefined();
  expect((await wire.send('tasks/update', { taskId, inputResponses: {} })).error).toBeUndefined();
  expect((await wire.send('tasks/update', { taskId })).error).toBeUndefined();
  expect(await wire.request('tasks/get', { taskId })).toEqual(before);
  const { key } = onlyQuestion(before as never);
  await wire.request('tasks/update', { taskId, inputResponses: { ...unknown, [key]: accept({ name: 'Ada' }) } });
  expect(await wire.task(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Ada' }] } });
});

test.each([5, 'soon', [], true])('D-3, X-4: %j is not a valid `task` parameter', async (task) => {
  const { one, plain } = await behind();
  const wire = await LegacyWire.open(one);
  const params = { name: 'echo', arguments: { text: 'x' }, task };
  expect(await wire.error('tools/call', params)).toMatchObject({ code: -32602 });
  expect(plain.state.calls).toEqual([]);
});

test.each([-1, 'forever', {}, [], true])('D-3, X-4: %j is not a valid `ttl`', async (ttl) => {
  const { one, plain } = await behind();
  const wire = await LegacyWire.open(one);
  const params = { name: 'echo', arguments: { text: 'x' }, task: { ttl } };
  expect(await wire.error('tools/call', params)).toMatchObject({ code: -32602 });
  expect(plain.state.calls).toEqual([]);
});

test.each([0.5, 1e308, Number.MAX_SAFE_INTEGER, null])(
  'D-3, T-2: the gateway replaces the TTL %j with one within its limits',
  async (ttl) => {
    const { one } = await behind();
    const wire = await LegacyWire.open(one);
    const task = await wire.begin('slow', { ms: 300 }, { ttl });
    expect(task['ttl']).toBeGreaterThan(0);
    expect(task['ttl']).toBeLessThanOrEqual(1_800_000);
  },
);

test.each(['nonsense', '', 5, {}, null, '__proto__'])(
  'D-3, X-4: %j is not a valid cursor for `tasks/list`',
  async (cursor) => {
    const { one } = await behind();
    const wire = await LegacyWire.open(one);
    await wire.begin('slow', { ms: 300 });
    expect(await wire.error('tasks/list', { cursor })).toMatchObject({ code: -32602 });
  },
);

test('D-4: a modern client that does not declare the tasks extension cannot use task methods', async () => {
  const { one } = await behind();
  const wire = new ModernWire(one, { capabilities: {} });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { status, error } = await wire.send(method, { taskId: 'x' });
    expect(status).toBe(400);
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
  }
  for (const method of ['tasks/list', 'tasks/result']) {
    expect(await wire.send(method, { taskId: 'x' })).toMatchObject({ status: 404, error: { code: -32601 } });
  }
});
