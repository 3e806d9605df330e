import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import {
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  ListTasksResultV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import type { ServerTask } from '../core/ports/connection.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { RpcError } from '../lib/rpc-error.ts';
import { RECEIVER_CAPABILITY, TaskReceiver } from './task-receiver.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HOUR = 3_600_000;
const FORM = { message: 'go?', requestedSchema: { type: 'object', properties: {} } };
const ANSWER = { action: 'accept', content: { ok: true } };

interface Asked {
  method: string;
  params: Record<string, unknown>;
  withdrawn: AbortSignal;
  timeoutMs: number;
  open: () => void;
  answer: (answer: Answer) => void;
  fail: (error: Error) => void;
}

/** A receiver whose questions the test itself answers. */
function receiver(): {
  clock: TestClock;
  tasks: TaskReceiver;
  asked: Asked[];
  told: ServerTask[];
  send: (method: string, params?: Record<string, unknown>, signal?: AbortSignal) => Promise<Record<string, unknown>>;
  create: (task?: unknown, method?: string) => Promise<ServerTask>;
} {
  const clock = new TestClock();
  const asked: Asked[] = [];
  const told: ServerTask[] = [];
  const tasks = new TaskReceiver({
    ask: (method, params, { withdrawn, timeoutMs }, open) =>
      new Promise((answer, fail) => {
        asked.push({ method, params, withdrawn, timeoutMs, open, answer, fail });
      }),
    accepts: (kind) => kind !== 'roots',
    notify: (task) => void told.push(task),
    clock,
  });
  const send = async (method: string, params = {}, signal = new AbortController().signal) => {
    const answer = tasks.answer(method, params, {}, signal);
    if (answer === undefined) throw new Error(`${method} is not for the receiver`);
    return answer;
  };
  const create = async (task: unknown = {}, method = 'elicitation/create'): Promise<ServerTask> => {
    const made = await send(method, { ...FORM, task });
    return (made as unknown as { task: ServerTask }).task;
  };
  return { clock, tasks, asked, told, send, create };
}

/** Lets what was put off to the next turn happen. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('R-3: requests without a task and unknown methods are left to other handlers', () => {
  const { tasks } = receiver();
  const { signal } = new AbortController();
  expect(tasks.answer('elicitation/create', FORM, {}, signal)).toBeUndefined();
  expect(tasks.answer('sampling/createMessage', {}, {}, signal)).toBeUndefined();
  expect(tasks.answer('roots/list', { task: {} }, {}, signal)).toBeUndefined();
  expect(tasks.answer('tasks/update', { taskId: 'x' }, {}, signal)).toBeUndefined();
});

test('R-5, R-6, R-7, R-12: a task is working at once, input_required while its question is open, and then completed', async () => {
  const { asked, told, send, create } = receiver();
  const task = await create({ ttl: 5000 });
  expect(task).toMatchObject({ status: 'working', ttl: 5000, pollInterval: expect.any(Number) as unknown });
  expect(task.taskId).toMatch(UUID);
  expect(asked).toEqual([]);
  await turn();
  expect(asked).toMatchObject([{ method: 'elicitation/create', params: FORM }]);
  expect(asked[0]?.params).not.toHaveProperty('task');
  expect(asked[0]?.timeoutMs).toBeGreaterThan(4000);
  expect(asked[0]?.timeoutMs).toBeLessThanOrEqual(5000);
  expect(await send('tasks/get', { taskId: task.taskId })).toMatchObject({ status: 'working' });
  asked[0]?.open();
  expect(await send('tasks/get', { taskId: task.taskId })).toMatchObject({ status: 'input_required' });
  asked[0]?.answer(ANSWER);
  await turn();
  expect(await send('tasks/get', { taskId: task.taskId })).toMatchObject({ status: 'completed' });
  expect(told.map(({ taskId, status }) => [taskId, status])).toEqual([
    [task.taskId, 'input_required'],
    [task.taskId, 'completed'],
  ]);
});

test('R-9, R-13: tasks/result waits for the result, and adds the related task to its metadata', async () => {
  const { asked, send, create } = receiver();
  const { taskId } = await create();
  const waiting = send('tasks/result', { taskId });
  const alsoWaiting = send('tasks/result', { taskId });
  await turn();
  asked[0]?.answer({ ...ANSWER, _meta: { mine: 1 } });
  const result = { ...ANSWER, _meta: { mine: 1, [RELATED]: { taskId } } };
  expect(await Promise.all([waiting, alsoWaiting])).toEqual([result, result]);
  expect(await send('tasks/result', { taskId })).toEqual(result);
});

test('R-9: an aborted tasks/result stops waiting, and the task continues', async () => {
  const { asked, send, create } = receiver();
  const { taskId } = await create();
  const request = new AbortController();
  const waiting = send('tasks/result', { taskId }, request.signal);
  await turn();
  request.abort();
  await expect(waiting).rejects.toThrow();
  expect(asked[0]?.withdrawn.aborted).toBe(false);
  asked[0]?.answer(ANSWER);
  expect(await send('tasks/result', { taskId })).toMatchObject(ANSWER);
});

test.each([
  { what: 'an error with a code', error: new RpcError(-7, 'no', { why: 1 }), code: -7, data: { why: 1 } },
  {
    what: 'a long error',
    error: RpcError.passedOn({ code: -7, message: 'x'.repeat(10_000) }),
    code: -7,
    data: undefined,
  },
  { what: 'any other error', error: new Error('no'), code: -1, data: undefined },
])(
  'R-7, R-9: a question that ends with $what makes the task failed, and tasks/result returns the error',
  async ({ error, code, data }) => {
    const { asked, told, send, create } = receiver();
    const { taskId } = await create();
    const waiting = send('tasks/result', { taskId });
    await turn();
    asked[0]?.fail(error);
    await expect(waiting).rejects.toMatchObject({ code, message: error.message, data });
    await expect(send('tasks/result', { taskId })).rejects.toMatchObject({ code, message: error.message, data });
    expect(told).toMatchObject([{ status: 'failed', statusMessage: error.message }]);
  },
);

test('R-8, R-9, R-11: an unknown task ID is an invalid parameter', async () => {
  const { send } = receiver();
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    for (const taskId of ['nope', '', '__proto__']) {
      await expect(send(method, { taskId })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('task not found') as unknown,
      });
    }
    for (const taskId of [5, null, undefined]) {
      await expect(send(method, { taskId })).rejects.toMatchObject({
        code: -32602,
        message: 'taskId must be a string',
      });
    }
  }
});

test('R-11, R-15: tasks/cancel withdraws the question and fails waiting requests, and the task stays cancelled', async () => {
  const { asked, told, send, create } = receiver();
  const { taskId } = await create();
  await turn();
  asked[0]?.open();
  const waiting = send('tasks/result', { taskId });
  expect(await send('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
  expect(asked[0]?.withdrawn.aborted).toBe(true);
  await expect(waiting).rejects.toMatchObject({ code: -1, message: 'the task was cancelled by the server' });
  asked[0]?.answer(ANSWER);
  await turn();
  expect(await send('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' });
  await expect(send('tasks/cancel', { taskId })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('already cancelled') as unknown,
  });
  expect(told.map(({ status }) => status)).toEqual(['input_required', 'cancelled']);
});

test('R-11: a task that is cancelled at once never asks its question', async () => {
  const { asked, send, create } = receiver();
  const { taskId } = await create();
  await send('tasks/cancel', { taskId });
  await turn();
  expect(asked).toEqual([]);
});

test.each(['completed', 'failed'])('R-15: a task that has %s cannot be cancelled', async (status) => {
  const { asked, send, create } = receiver();
  const { taskId } = await create();
  await turn();
  if (status === 'completed') asked[0]?.answer(ANSWER);
  else asked[0]?.fail(new Error('no'));
  await turn();
  await expect(send('tasks/cancel', { taskId })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining(status) as unknown,
  });
  expect(await send('tasks/get', { taskId })).toMatchObject({ status });
});

test('R-14: the TTL is as requested, at most a day, and ten minutes by default', async () => {
  const { create } = receiver();
  expect((await create({ ttl: 1234 })).ttl).toBe(1234);
  expect((await create({ ttl: 25 * HOUR })).ttl).toBe(24 * HOUR);
  expect((await create()).ttl).toBe(600_000);
});

test.each([
  [{ ttl: -1 }, 'task.ttl'],
  [{ ttl: 1.5 }, 'task.ttl'],
  [{ ttl: '60' }, 'task.ttl'],
  [{ ttl: null }, 'task.ttl'],
  [null, 'task must be'],
  [[], 'task must be'],
  ['yes', 'task must be'],
])('R-14: the invalid task parameter %j is refused with the name of the field', async (task, named) => {
  const { asked, send } = receiver();
  await expect(send('elicitation/create', { ...FORM, task })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining(named) as unknown,
  });
  await turn();
  expect(asked).toEqual([]);
  expect(await send('tasks/list')).toEqual({ tasks: [] });
});

test('R-14, R-18: the TTL continues while the question is open, and then the task is removed', async () => {
  const { clock, asked, told, send, create } = receiver();
  const { taskId } = await create({ ttl: 60_000 });
  await turn();
  asked[0]?.open();
  const waiting = expect(send('tasks/result', { taskId })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('expired') as unknown,
  });
  clock.advance(59_999);
  await turn();
  expect(await send('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
  expect(asked[0]?.withdrawn.aborted).toBe(false);
  clock.advance(1);
  await turn();
  await waiting;
  expect(asked[0]?.withdrawn.aborted).toBe(true);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    await expect(send(method, { taskId })).rejects.toMatchObject({ code: -32602 });
  }
  expect(await send('tasks/list')).toEqual({ tasks: [] });
  expect(told.map(({ status }) => status)).toEqual(['input_required', 'failed']);
  expect(clock.armed).toBe(0);
});

test('R-14: an ended task can be read until its TTL, counted from its creation, is over', async () => {
  const { clock, asked, told, send, create } = receiver();
  const { taskId } = await create({ ttl: 60_000 });
  await turn();
  clock.advance(30_000);
  await turn();
  asked[0]?.answer(ANSWER);
  clock.advance(29_999);
  await turn();
  expect(await send('tasks/result', { taskId })).toMatchObject(ANSWER);
  clock.advance(1);
  await turn();
  await expect(send('tasks/result', { taskId })).rejects.toMatchObject({ code: -32602 });
  expect(told.map(({ status }) => status)).toEqual(['completed']);
});

test('R-14: a question that times out with its task ends as expired', async () => {
  const { clock, asked, send, create } = receiver();
  const { taskId } = await create({ ttl: 1000 });
  await turn();
  const waiting = send('tasks/result', { taskId });
  clock.skip(1000);
  asked[0]?.fail(new Error('nobody answered in time'));
  await expect(waiting).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('expired') as unknown });
});

test('R-14: each task has its own TTL', async () => {
  const { clock, send, create } = receiver();
  for (const ttl of [3000, 1000, 2000]) await create({ ttl });
  const left = async () => ((await send('tasks/list'))['tasks'] as ServerTask[]).map(({ ttl }) => ttl);
  clock.advance(1000);
  await turn();
  expect(await left()).toEqual([3000, 2000]);
  clock.advance(1000);
  await turn();
  expect(await left()).toEqual([3000]);
  clock.advance(1000);
  await turn();
  expect(await left()).toEqual([]);
});

test('R-10: tasks are listed in pages, also if some are removed in between', async () => {
  const { clock, send, create } = receiver();
  const made: string[] = [];
  // The last of the first page is gone before the second is asked for.
  for (let n = 1; n <= 70; n += 1) made.push((await create({ ttl: n === 50 ? 1000 : 60_000 })).taskId);
  const first = await send('tasks/list');
  const ids = (page: Record<string, unknown>) => (page['tasks'] as ServerTask[]).map(({ taskId }) => taskId);
  expect(ids(first)).toEqual(made.slice(0, 50));
  clock.advance(1000);
  await turn();
  const second = await send('tasks/list', { cursor: first['nextCursor'] });
  expect(ids(second)).toEqual(made.slice(50));
  expect(second).not.toHaveProperty('nextCursor');
  const at = (place: string) => Buffer.from(`after:${place}`).toString('base64url');
  for (const cursor of ['', 'x', at('71'), at('0'), at('-1'), at('x'), 5, null]) {
    await expect(send('tasks/list', { cursor })).rejects.toMatchObject({ code: -32602 });
  }
});

test('R-18: at 100 tasks the task that ended first is dropped for a new one; if none has ended, it is refused', async () => {
  const { asked, send, create } = receiver();
  const made: string[] = [];
  for (let n = 0; n < 100; n += 1) made.push((await create()).taskId);
  await expect(create()).rejects.toMatchObject({ code: -1, message: expect.stringContaining('100') as unknown });
  await turn();
  asked[7]?.answer(ANSWER);
  asked[5]?.answer(ANSWER);
  await turn();
  await create();
  await expect(send('tasks/get', { taskId: made[5] })).rejects.toMatchObject({ code: -32602 });
  expect(await send('tasks/get', { taskId: made[7] })).toMatchObject({ status: 'completed' });
  await create();
  await expect(create()).rejects.toMatchObject({ code: -1 });
  expect(asked[0]?.withdrawn.aborted).toBe(false);
});

test('R-18: when the server disconnects, all tasks end without notifications, and no timer remains', async () => {
  const { clock, tasks, asked, told, send, create } = receiver();
  const first = await create();
  const second = await create();
  await turn();
  asked[0]?.answer(ANSWER);
  asked[1]?.open();
  await turn();
  const before = told.length;
  const waiting = send('tasks/result', { taskId: second.taskId });
  const unasked = await create();
  tasks.clear('the server was restarted');
  await expect(waiting).rejects.toMatchObject({ code: -1, message: 'the server was restarted' });
  await turn();
  expect(asked).toHaveLength(2);
  expect(asked[1]?.withdrawn.aborted).toBe(true);
  expect(told).toHaveLength(before);
  expect(clock.armed).toBe(0);
  for (const { taskId } of [first, second, unasked]) {
    await expect(send('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
  }
  // The next server on this connection is served as well.
  expect(await create()).toMatchObject({ status: 'working' });
});

test('R-4, R-16: task IDs are random and unique', async () => {
  const { send, create } = receiver();
  const ids = new Set<string>();
  for (let n = 0; n < 1000; n += 1) {
    const { taskId } = await create();
    ids.add(taskId);
    await send('tasks/cancel', { taskId });
  }
  expect(ids.size).toBe(1000);
  expect([...ids].every((id) => UUID.test(id))).toBe(true);
});

test('R-1, R-2, R-5, R-8, R-10, R-12: a server of SDK v1 can use all task methods, and every message is valid', async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} }, sampling: {}, tasks: RECEIVER_CAPABILITY } },
  );
  const tasks = new TaskReceiver({
    ask: async (_method, _params, _about, onOpen) => {
      onOpen();
      await turn();
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } };
    },
    accepts: (kind) => kind !== 'roots',
    notify: (task) => void client.notification({ method: 'notifications/tasks/status', params: { ...task } }),
    clock: new TestClock(Date.now()),
  });
  client.fallbackRequestHandler = async (request, { mcpReq }) => {
    const answer = tasks.answer(request.method, request.params ?? {}, {}, mcpReq.signal);
    if (answer === undefined) throw new RpcError(-32601, 'Method not found');
    return answer;
  };
  const server = new Server(
    { name: 'v1', version: '1.0.0' },
    // It sends nothing that the client has not declared.
    { capabilities: {}, enforceStrictCapabilities: true },
  );
  const heard: Record<string, unknown>[] = [];
  server.fallbackNotificationHandler = async ({ method, params }) => void heard.push({ method, ...params });
  await Promise.all([server.connect(far), client.connect(near)]);
  expect(server.getClientCapabilities()?.tasks).toEqual(RECEIVER_CAPABILITY);

  const params = { messages: [], maxTokens: 1 };
  const made = await server.request({ method: 'sampling/createMessage', params }, ResultSchema, {
    task: { ttl: 4321 },
  });
  const { task } = CreateTaskResultV1Schema.parse(made);
  expect(made).toEqual({ task });
  expect(task).toMatchObject({ status: 'working', ttl: 4321 });
  const { taskId } = task;
  expect(await server.request({ method: 'tasks/result', params: { taskId } }, ResultSchema)).toEqual({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'hi' },
    _meta: { [RELATED]: { taskId } },
  });
  const got = await server.request({ method: 'tasks/get', params: { taskId } }, ResultSchema);
  expect(GetTaskResultV1Schema.parse(got)).toEqual(got);
  const listed = await server.request({ method: 'tasks/list' }, ResultSchema);
  expect(ListTasksResultV1Schema.parse(listed)).toEqual({ tasks: [got] });
  expect(heard.map(({ method, status }) => [method, status])).toEqual([
    ['notifications/tasks/status', 'input_required'],
    ['notifications/tasks/status', 'completed'],
  ]);
  await client.close();
  await server.close();
  tasks.clear('done');
});
