import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { clientOf, errorOf, messagesOf, soon, text, unsigned } from './clients.ts';
import { ALL, requestsTo, WITH_TASKS, WITHOUT_TASKS } from './servers.ts';

test.each(WITH_TASKS)(
  'C-1: a call as a task reports taskCreated, then taskStatus, then the result ($tasks, $door)',
  async ({ start }) => {
    const { client, of, names } = clientOf((await start()).config);
    const stream = client.callToolStream('slow', { ms: 300, steps: 3, text: 'there' });
    const messages = await messagesOf(stream);
    const invocation = await stream;

    const types = messages.map(({ type }) => type);
    expect(types[0]).toBe('taskCreated');
    expect(types.at(-1)).toBe('result');
    expect(types.length).toBeGreaterThan(3);
    expect(new Set(types.slice(1, -1))).toEqual(new Set(['taskStatus']));
    const tasks = messages.flatMap((message) => ('task' in message ? [message.task] : []));
    const { taskId } = tasks[0] ?? {};
    expect(new Set(tasks.map((task) => task.taskId))).toEqual(new Set([taskId]));
    expect(tasks[0]).toMatchObject({
      taskId: expect.stringMatching(/.+/) as unknown,
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-/) as unknown,
      pollInterval: 20,
    });
    expect(tasks.map(({ statusMessage }) => statusMessage)).toContain('step 2');
    expect(tasks.at(-1)).toMatchObject({ status: 'completed' });
    expect(messages.at(-1)).toEqual({ type: 'result', result: text('there') });

    expect(invocation).toEqual({
      toolName: 'slow',
      params: { ms: 300, steps: 3, text: 'there' },
      result: text('there'),
      success: true,
      timestamp: expect.any(Date) as unknown,
      taskId,
    });
    const [first, ...later] = tasks;
    expect(of('taskCreated')).toEqual([{ taskId, task: first }]);
    expect(of('taskStatusChange')).toEqual(later.map((task) => ({ taskId, task })));
    expect(of('taskCompleted')).toEqual([{ taskId, result: text('there') }]);
    expect(of('toolCallResultChange')).toEqual([invocation]);
    expect(names()).toEqual([
      'taskCreated',
      ...later.map(() => 'taskStatusChange'),
      'taskCompleted',
      'toolCallResultChange',
    ]);
    expect(client.getClientTasks()).toEqual([tasks.at(-1)]);
  },
);

test.each(ALL)('C-1: a call without a task reports only its result ($tasks, $era, $door)', async ({ start }) => {
  const { client, names, of } = clientOf((await start()).config);
  const stream = client.callToolStream('echo', { text: 'hi' });
  const invocation = await stream;
  expect(await messagesOf(stream)).toEqual([{ type: 'result', result: invocation.result }]);
  expect(invocation).toMatchObject({ toolName: 'echo', result: text('hi'), success: true });
  expect(invocation).not.toHaveProperty('taskId');
  expect(names()).toEqual(['toolCallResultChange']);
  expect(of('toolCallResultChange')).toEqual([invocation]);
  expect(client.getClientTasks()).toEqual([]);
});

test.each(WITHOUT_TASKS)(
  'C-1: a slow call of a server without tasks ends with its result ($era, $door)',
  async ({ start }) => {
    const { client, names } = clientOf((await start()).config);
    const { result } = await client.callToolStream('slow', { ms: 100, text: 'there' });
    expect(unsigned(result)).toEqual(text('there'));
    expect(names()).toEqual(['toolCallResultChange']);
  },
);

test.each(WITH_TASKS)(
  'C-1: callTool makes no task of a tool with optional task support ($tasks, $door)',
  async ({ start }) => {
    const server = await start();
    const { client, names } = clientOf(server.config);
    const invocation = await client.callTool('slow', { ms: 50, text: 'at once' });
    expect(invocation).toMatchObject({ toolName: 'slow', result: text('at once'), success: true });
    expect(invocation).not.toHaveProperty('taskId');
    expect(names()).toEqual(['toolCallResultChange']);
    const [sent] = await requestsTo(server, 'tools/call');
    expect(sent?.params).toMatchObject({ name: 'slow' });
    expect(sent?.params).not.toHaveProperty('task');
    expect(await requestsTo(server, 'tasks/get')).toEqual([]);
  },
);

const CORE = WITH_TASKS.filter(({ tasks }) => tasks === '2025-11-25');
const EXTENSION = WITH_TASKS.filter(({ tasks }) => tasks === '2026-07-28');

test.each(CORE)('C-1: callTool refuses a tool with required task support ($door)', async ({ start }) => {
  const server = await start();
  const { client } = clientOf(server.config);
  const error = await errorOf(client.callTool('required'));
  expect(error).toMatchObject({ kind: 'refused', message: expect.stringContaining('callToolStream') as unknown });
  // Nothing more is on its way once a later request was answered.
  await client.ping();
  expect(await requestsTo(server, 'tools/call')).toEqual([]);
});

test.each(EXTENSION)(
  'C-1: in the tasks extension the server refuses callTool for a tool that requires a task ($door)',
  async ({ start }) => {
    const { client } = clientOf((await start()).config);
    expect(await errorOf(client.callTool('required'))).toMatchObject({ kind: 'error', code: -32_021 });
  },
);

test.each(WITH_TASKS)(
  'C-1: callToolStream runs a tool with required task support as a task ($tasks, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config);
    const { result, taskId } = await client.callToolStream('required', { text: 'as it must' });
    expect(result).toEqual(text('as it must'));
    expect(of('taskCreated')).toMatchObject([{ taskId }]);
  },
);

test.each(CORE)('C-1: listTools returns the task support of each tool ($door)', async ({ start }) => {
  const { client } = clientOf((await start()).config);
  const tools = await client.listTools();
  const support = new Map(tools.map(({ name, execution }) => [name, execution?.taskSupport ?? 'forbidden']));
  expect(support.get('required')).toBe('required');
  expect(support.get('slow')).toBe('optional');
  expect(support.get('echo')).toBe('forbidden');
});

test.each(WITH_TASKS)(
  'C-1: metadata and the requested TTL reach the server ($tasks, $door)',
  async ({ start, tasks }) => {
    const server = await start();
    const { client } = clientOf(server.config);
    const general = { 'vendor.example/who': 'me', 'vendor.example/why': 'because' };
    const special = { 'vendor.example/why': 'this tool' };
    const streamed = await client.callToolStream('slow', { ms: 1 }, general, special, { taskTtlMs: 77_000 });
    const called = await client.callTool('echo', { text: 'hi' }, general, special);
    const metadata = { ...general, ...special };
    expect(streamed.metadata).toEqual(metadata);
    expect(called.metadata).toEqual(metadata);
    const sent = await requestsTo(server, 'tools/call');
    expect(sent.map(({ params }) => params?.['_meta'])).toMatchObject([metadata, metadata]);
    if (tasks === '2025-11-25') expect(sent[0]?.params?.['task']).toEqual({ ttl: 77_000 });
  },
);

test.each(ALL)(
  'C-1: a result is the same as the server sent it ($tasks, $era, $door)',
  async ({ start, tasks, era }) => {
    const { client } = clientOf((await start()).config);
    const { result } = await client.callToolStream('rich');
    const { content, ...rest } = richResult();
    const { vendorKey: _vendorKey, ...known } = { vendorKey: '', ...content[0] };
    // A server of the v2 SDK drops what its schemas do not know, unless it has tasks to return.
    const first = era === 'modern' && tasks === 'none' ? known : content[0];
    expect(unsigned(result)).toEqual({ ...rest, content: [first, ...content.slice(1)] });
  },
);

test.each(ALL)(
  'C-1, T-5: a result with isError completes the call with success false ($tasks, $era, $door)',
  async ({ start, tasks }) => {
    const { client, of } = clientOf((await start()).config);
    const result = { ...text('disk on fire'), isError: true };
    const invocation = await client.callToolStream('fail');
    expect(invocation).toMatchObject({ result, success: false });
    expect(invocation).not.toHaveProperty('error');
    expect(await client.callTool('fail')).toMatchObject({ result, success: false });
    expect(of('taskFailed')).toEqual([]);
    expect(of('taskCompleted')).toEqual(tasks === 'none' ? [] : [{ taskId: invocation.taskId, result }]);
    expect(of('toolCallResultChange')).toMatchObject([{ result }, { result }]);
  },
);

test.each(ALL)(
  'C-1, T-5: a failed call has the error of the server ($tasks, $era, $door)',
  async ({ start, tasks }) => {
    const { client, of } = clientOf((await start()).config);
    const message = expect.stringContaining('quota used up') as unknown;
    const expected = { kind: 'error', code: -32_011, data: { retryAfter: 7 }, message };
    const error = await errorOf(client.callToolStream('rpc_error'));
    expect(error).toMatchObject(expected);
    expect(of('toolCallResultChange')).toMatchObject([
      { toolName: 'rpc_error', result: null, success: false, error: message },
    ]);
    expect(of('taskCompleted')).toEqual([]);
    const taskId = of('taskCreated')[0]?.taskId;
    expect(of('taskFailed')).toEqual(tasks === 'none' ? [] : [{ taskId, error }]);
    if (tasks !== 'none') expect(client.getClientTasks()).toMatchObject([{ taskId, status: 'failed' }]);
  },
);

test.each(WITH_TASKS)('C-1: parallel calls keep their results and tasks apart ($tasks, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config);
  const names = Array.from({ length: 8 }, (_, index) => `call ${index}`);
  const streams = names.map((name, index) => client.callToolStream('slow', { ms: 100 - index * 10, text: name }));
  const ended = await Promise.all(streams);
  expect(ended.map(({ result }) => result)).toEqual(names.map(text));
  expect(new Set(ended.map(({ taskId }) => taskId)).size).toBe(names.length);
  await soon(() => of('taskCompleted').length).toBe(names.length);
  for (const { taskId, result } of of('taskCompleted')) {
    expect(ended.find((each) => each.taskId === taskId)?.result).toEqual(result);
  }
});
