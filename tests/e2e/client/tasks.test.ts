import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { owned } from '../../support/owned.ts';
import { liarStdio } from '../../support/servers.ts';
import { clientOf, errorOf, messagesOf, next, soon, text } from './clients.ts';
import { requestsTo, WITH_TASKS, WITHOUT_TASKS } from './servers.ts';

/** Longer than any test may take. */
const FOREVER = 600_000;

const CAPABILITIES = {
  '2025-11-25': { list: true, cancel: true },
  '2026-07-28': { list: false, cancel: true },
};

test.each(WITH_TASKS)(
  'C-1: getTaskCapabilities returns the task capabilities of the server ($tasks, $door)',
  async (meeting) => {
    const { client } = clientOf((await meeting.start()).config);
    expect(client.getTaskCapabilities()).toBeUndefined();
    await client.connect();
    expect(client.getTaskCapabilities()).toEqual(CAPABILITIES[meeting.tasks]);
    await client.disconnect();
    expect(client.getTaskCapabilities()).toBeUndefined();
  },
);

test.each(WITHOUT_TASKS)(
  'C-1: a server without tasks has no task capabilities, and task methods are refused ($era, $door)',
  async ({ start }) => {
    const { client } = clientOf((await start()).config);
    await client.connect();
    expect(client.getTaskCapabilities()).toBeUndefined();
    const refused = { kind: 'refused', message: 'this server does not support tasks' };
    expect(await errorOf(client.getTask('some'))).toMatchObject(refused);
    expect(await errorOf(client.getTaskResult('some'))).toMatchObject(refused);
    expect(await errorOf(client.cancelTask('some'))).toMatchObject(refused);
    expect(await errorOf(client.listTasks())).toMatchObject(refused);
    expect(await errorOf(client.watchTask('some'))).toMatchObject(refused);
  },
);

test.each(WITH_TASKS)(
  'C-1: getTask returns the status of a task and emits it as an event ($tasks, $door)',
  async ({ start }) => {
    const { config } = await start();
    const { client, of } = clientOf(config);
    const stream = client.callToolStream('slow', { ms: FOREVER, steps: 1 });
    const { taskId } = await next(() => of('taskCreated'));
    await soon(() => client.getClientTasks()).toMatchObject([{ taskId, statusMessage: 'step 1' }]);
    const before = of('taskStatusChange').length;
    const task = await client.getTask(taskId);
    expect(task).toMatchObject({ taskId, status: 'working', statusMessage: 'step 1', pollInterval: 20 });
    expect(of('taskStatusChange').slice(before)).toEqual([{ taskId, task }]);
    expect(client.getClientTasks()).toEqual([task]);
    await client.cancelTask(taskId);
    await errorOf(stream);
  },
);

test.each(WITH_TASKS)(
  'C-1: getTaskResult returns the result of a task that has ended ($tasks, $door)',
  async (meeting) => {
    const { client, names } = clientOf((await meeting.start()).config);
    const { taskId = '' } = await client.callToolStream('slow', { ms: 1, text: 'there' });
    const before = names().length;
    expect(await client.getTaskResult(taskId)).toEqual(text('there'));
    expect(await client.getTaskResult(taskId)).toEqual(text('there'));
    expect(names().slice(before)).toEqual([]);
  },
);

test.each(WITH_TASKS)(
  'C-1, T-5: getTaskResult of a failed task rejects with its error ($tasks, $door)',
  async ({ start }) => {
    const { client, of, names } = clientOf((await start()).config);
    await errorOf(client.callToolStream('rpc_error'));
    const taskId = of('taskCreated')[0]?.taskId ?? '';
    const before = names().length;
    const error = { kind: 'error', code: -32_011, data: { retryAfter: 7 } };
    expect(await errorOf(client.getTaskResult(taskId))).toMatchObject(error);
    const { taskId: bad = '' } = await client.callToolStream('fail');
    expect(await client.getTaskResult(bad)).toMatchObject({ isError: true });
    expect(names().slice(before)).not.toContain('taskFailed');
  },
);

test.each(WITH_TASKS)('C-1: getTaskResult waits for a working task ($tasks, $door)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf(server.config);
  const stream = client.callToolStream('slow', { ms: 400, text: 'there' });
  const { taskId } = await next(() => of('taskCreated'));
  const result = client.getTaskResult(taskId);
  expect(await Promise.race([result, client.getTask(taskId)])).toMatchObject({ status: 'working' });
  expect(await result).toEqual(text('there'));
  expect((await stream).result).toEqual(text('there'));
  expect(of('taskCompleted')).toHaveLength(1);
  expect(of('toolCallResultChange')).toHaveLength(1);
  expect(of('taskCreated')).toHaveLength(1);
});

test.each(WITH_TASKS)(
  'C-1: waiting for a result does not repeat a question of the task ($tasks, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config, { elicitation: true });
    const stream = client.callToolStream('ask');
    const { taskId } = await next(() => of('taskCreated'));
    const results = [client.getTaskResult(taskId), client.getTaskResult(taskId)];
    const question = await next(() => of('newPendingElicitation'));
    // Whoever else followed the task would have come across its question by now.
    for (let polls = 0; polls < 3; polls += 1) await client.getTask(taskId);
    expect(of('newPendingElicitation')).toHaveLength(1);
    question.respond({ action: 'accept', content: { name: 'Ada' } });
    expect(await Promise.all(results)).toEqual([text('Hello Ada'), text('Hello Ada')]);
    await stream;
    expect(of('newPendingElicitation')).toHaveLength(1);
  },
);

const HELD = [
  { tasks: '2025-11-25', start: async () => owned(await startTasksV1Http()) },
  { tasks: '2026-07-28', start: async () => owned(await startTasksV2Http()) },
];

test.each(HELD)('C-1: aborting getTaskResult does not cancel the task ($tasks)', async ({ start }) => {
  const { url, state } = await start();
  const { client, of, names } = clientOf({ url });
  const other = clientOf({ url });
  const stream = other.client.callToolStream('hold', { text: 'kept' });
  const { taskId } = await next(() => other.of('taskCreated'));
  const patience = new AbortController();
  const waiting = errorOf(client.getTaskResult(taskId, patience.signal));
  await soon(() => requestsOf(state, 'tasks/get').length).toBeGreaterThan(1);
  patience.abort();
  expect(await waiting).toMatchObject({ kind: 'cancelled' });
  expect(of('taskCancelled')).toEqual([]);
  expect(names()).not.toContain('toolCallResultChange');
  expect(requestsOf(state, 'tasks/cancel')).toEqual([]);
  expect(await errorOf(client.getTaskResult(taskId, AbortSignal.abort()))).toMatchObject({ kind: 'cancelled' });
  state.release();
  expect(await client.getTaskResult(taskId)).toEqual(text('kept'));
  await stream;
  expect(state.cancelled).toEqual([]);
});

test.each(WITH_TASKS)('C-1: cancelTask cancels the call on the server ($tasks, $door)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf(server.config);
  const stream = client.callToolStream('slow', { ms: FOREVER, text: 'me' });
  const { taskId } = await next(() => of('taskCreated'));
  const other = client.callToolStream('slow', { ms: 300, text: 'not me' });
  await next(() => of('taskCreated'), 1);
  const ended = errorOf(stream);
  await client.cancelTask(taskId);
  expect(await server.cancelled()).toEqual(['slow:me']);
  expect(await ended).toMatchObject({ kind: 'cancelled' });
  expect((await other).result).toEqual(text('not me'));
  expect(of('taskCancelled')).toEqual([{ taskId }]);
  expect(of('taskFailed')).toEqual([]);
  expect(client.getClientTasks().find((task) => task.taskId === taskId)).toMatchObject({ status: 'cancelled' });
});

test.each(WITH_TASKS)(
  'C-1: cancelTask cancels a task that the client does not follow ($tasks, $door)',
  async ({ start }) => {
    const server = await start();
    const { client, of } = clientOf(server.config);
    const { taskId } = await created(client);
    await client.getTask(taskId);
    await client.cancelTask(taskId);
    expect(await server.cancelled()).toEqual(['slow:alone']);
    expect(of('taskCancelled')).toEqual([{ taskId }]);
    expect(client.getClientTasks()).toMatchObject([{ taskId, status: 'cancelled' }]);
  },
);

/** A task that was made without the help of the client. */
async function created(client: ReturnType<typeof clientOf>['client']): Promise<{ taskId: string }> {
  const { capabilities } = await client.connect();
  const task = 'tasks' in capabilities ? { task: {} } : {};
  const params = { name: 'slow', arguments: { ms: FOREVER, text: 'alone' }, ...task };
  const reply = await client.request('tools/call', params);
  return ('task' in reply ? reply['task'] : reply) as { taskId: string };
}

test.each(WITH_TASKS)(
  'C-1: cancelTask does not cancel a task that has ended ($tasks, $door)',
  async ({ start, tasks }) => {
    const { client, of } = clientOf((await start()).config);
    const { taskId = '' } = await client.callToolStream('slow', { ms: 1 });
    const cancelled = client.cancelTask(taskId);
    // The extension acknowledges each cancel, also one that comes too late.
    if (tasks === '2025-11-25') expect(await errorOf(cancelled)).toMatchObject({ kind: 'error', code: -32_602 });
    else await cancelled;
    expect(of('taskCancelled')).toEqual([]);
    expect(client.getClientTasks()).toMatchObject([{ taskId, status: 'completed' }]);
  },
);

test('C-1: listTasks returns pages, emits them as events and includes tasks of other clients', async () => {
  const { url, state } = owned(await startTasksV1Http());
  const { client: maker, of: made } = clientOf({ url });
  const streams = Array.from({ length: 12 }, () => maker.callToolStream('hold'));
  await soon(() => made('taskCreated').length).toBe(12);
  const ids = made('taskCreated').map(({ taskId }) => taskId);

  const { client, of } = clientOf({ url });
  const first = await client.listTasks();
  expect(first.tasks).toHaveLength(10);
  expect(first.nextCursor).toEqual(expect.any(String));
  expect(of('tasksChange')).toEqual([first.tasks]);
  expect(client.getClientTasks()).toEqual(first.tasks);
  const second = await client.listTasks(first.nextCursor);
  expect(second.tasks).toHaveLength(2);
  expect(second).not.toHaveProperty('nextCursor');
  expect(of('tasksChange')).toEqual([first.tasks, second.tasks]);
  expect(
    client
      .getClientTasks()
      .map(({ taskId }) => taskId)
      .toSorted(),
  ).toEqual(ids.toSorted());
  expect(first.tasks[0]).toMatchObject({ status: 'working', pollInterval: 20 });
  expect(await errorOf(client.listTasks('no such cursor'))).toMatchObject({ kind: 'error', code: -32_602 });
  state.release();
  await Promise.all(streams);
});

test('C-1: listTasks is refused if the server does not support it', async () => {
  const { url, state } = owned(await startTasksV2Http());
  const { client } = clientOf({ url });
  expect(await errorOf(client.listTasks())).toMatchObject({ kind: 'refused' });
  expect(requestsOf(state, 'tasks/list')).toEqual([]);
});

test.each(HELD)('C-1: watchTask follows a task that another client created ($tasks)', async ({ start }) => {
  const { url, state } = await start();
  const maker = clientOf({ url });
  const made = maker.client.callToolStream('hold', { text: 'ours' });
  const { taskId } = await next(() => maker.of('taskCreated'));
  const { client, of } = clientOf({ url });
  const stream = client.watchTask(taskId);
  await soon(() => client.getClientTasks()).toMatchObject([{ taskId, status: 'working' }]);
  state.release();
  const messages = await messagesOf(stream);
  expect(messages.at(-1)).toEqual({ type: 'result', result: text('ours') });
  expect(await stream).toMatchObject({ taskId, result: text('ours'), success: true });
  expect(of('taskCompleted')).toEqual([{ taskId, result: text('ours') }]);
  await made;
});

test.each(WITH_TASKS)(
  'C-1: task methods reject for a task that the server does not know ($tasks, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config);
    const unknown = { kind: 'error', code: -32_602 };
    expect(await errorOf(client.getTask('nobody knows'))).toMatchObject(unknown);
    expect(await errorOf(client.getTaskResult('nobody knows'))).toMatchObject(unknown);
    expect(await errorOf(client.cancelTask('nobody knows'))).toMatchObject(unknown);
    expect(await errorOf(client.watchTask('nobody knows'))).toMatchObject(unknown);
    expect(client.getClientTasks()).toEqual([]);
    expect(of('taskStatusChange')).toEqual([]);
  },
);

test.each(WITH_TASKS)('C-1: disconnect forgets the tasks ($tasks, $door)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf(server.config);
  const ended = errorOf(client.callToolStream('slow', { ms: FOREVER }));
  await client.callToolStream('slow', { ms: 1 });
  await soon(() => of('taskCreated').length).toBe(2);
  expect(client.getClientTasks()).toHaveLength(2);
  await client.disconnect();
  expect(client.getClientTasks()).toEqual([]);
  expect(await ended).toMatchObject({ kind: 'lost' });
  expect(client.getClientTasks()).toEqual([]);
  // Leaving is not cancelling, and the task has not failed.
  expect(of('taskFailed')).toEqual([]);
  expect(await requestsTo(server, 'tasks/cancel')).toEqual([]);
});

test('C-1: the last status event of a task is its end, although its result overtakes an earlier one', async () => {
  const { client, of } = clientOf(liarStdio('legacy'));
  const { taskId } = await client.callToolStream('overtaken');
  expect(of('taskStatusChange').map(({ task }) => task.status)).toEqual(['input_required', 'working', 'completed']);
  expect(client.getClientTasks()).toMatchObject([{ taskId, status: 'completed' }]);
});
