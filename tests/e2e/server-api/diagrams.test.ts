/** The two ways in which the work of a tool is done by another part of its program, step by step. */
import { expect, test } from 'vitest';
import {
  createTaskController,
  createTaskServer,
  type Answer,
  type AppTaskController,
  type Task,
} from '../../../src/server/index.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { soon } from '../flows/watch.ts';
import { LegacyWire, modern, modernTask } from './wire.ts';

const FORM = { type: 'object', properties: { size: { type: 'string', enum: ['S', 'M'] } }, required: ['size'] };
const QUESTION = { message: 'Which size?', requestedSchema: FORM };
const ANSWER = { action: 'accept', content: { size: 'M' } };
const RESULT = { content: [{ type: 'text', text: 'a shirt in M' }] };

interface App {
  url: string;
  tasks: AppTaskController;
  /** Any tasks to manage? */
  look: () => Task[];
}

async function startApp(): Promise<App> {
  const tasks = owned(await createTaskController());
  const server = createTaskServer({
    name: 'shop',
    version: '1.0.0',
    tasks,
    tools: { order: { run: async (args) => ({ task: await tasks.create({ tool: 'order', args }) }) } },
  });
  const url = await owned(server).listen();
  return { url, tasks, look: () => tasks.list().filter(({ status }) => status === 'working') };
}

/** The task, once the application has found it. */
async function found({ look }: App): Promise<Task> {
  await soon(() => look().length).toBe(1);
  const [task] = look();
  if (task === undefined) throw new Error('no task');
  return task;
}

function ask({ tasks }: App, { id }: Task): { received: () => Answer | undefined } {
  let answer: Answer | undefined;
  void tasks.ask(id, { kind: 'elicitation', params: QUESTION, key: 'size' }).then((given) => {
    answer = given;
  });
  return { received: () => answer };
}

test('D-1, D-2: legacy client without tasks: the call stays open with pings, and its stream carries the question', async () => {
  const app = await startApp();
  const client = await LegacyWire.open(app.url);
  expect(app.look()).toEqual([]);

  const call = await client.stream('tools/call', { name: 'order', arguments: { count: 1 } });
  const task = await found(app);
  expect(task).toMatchObject({ tool: 'order', args: { count: 1 } });
  const { received } = ask(app, task);

  const question = await call.asked('elicitation/create');
  expect(question).toMatchObject({ params: QUESTION });
  expect(app.tasks.get(task.id)).toMatchObject({ status: 'input_required' });
  // The person takes their time; the client hears that the server is there.
  const ping = await call.asked('ping', 15_000);
  expect(await call.answer(ping, {})).toBe(202);
  expect(received()).toBeUndefined();

  expect(await call.answer(question, ANSWER)).toBe(202);
  await soon(received).toEqual(ANSWER);
  expect(app.tasks.get(task.id)).toMatchObject({ status: 'working' });
  expect(await app.tasks.complete(task.id, RESULT)).toBe(true);
  expect(await call.result()).toEqual(RESULT);
  expect(call.messages.map(({ method, result }) => method ?? result)).toEqual(['elicitation/create', 'ping', RESULT]);
});

test('D-1, D-3: 2025-11-25 task: the client polls the task and fetches question and result', async () => {
  const app = await startApp();
  const client = await LegacyWire.open(app.url);
  const { tools } = (await client.request('tools/list', {})) as { tools: Json[] };
  expect(tools).toEqual([{ name: 'order', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }]);

  const created = await client.request('tools/call', { name: 'order', arguments: {}, task: { ttl: 60_000 } });
  const { taskId } = created['task'] as { taskId: string };
  const status = async (): Promise<unknown> => (await client.request('tasks/get', { taskId }))['status'];
  expect(await status()).toBe('working');

  const task = await found(app);
  const { received } = ask(app, task);
  await soon(status).toBe('input_required');
  const waiting = await client.stream('tasks/result', { taskId });
  const question = await waiting.asked('elicitation/create');
  const related = { 'io.modelcontextprotocol/related-task': { taskId } };
  expect(question['params']).toEqual({ ...QUESTION, _meta: related });
  expect(await waiting.answer(question, ANSWER)).toBe(202);

  await soon(received).toEqual(ANSWER);
  await soon(status).toBe('working');
  await app.tasks.complete(task.id, RESULT);
  await soon(status).toBe('completed');
  expect(await client.request('tasks/result', { taskId })).toEqual({ ...RESULT, _meta: related });
  expect(await waiting.result()).toEqual({ ...RESULT, _meta: related });
});

test('D-1, D-4: 2026-07-28 task: tasks/get returns the question, and tasks/update answers it', async () => {
  const app = await startApp();
  const created = await modern(app.url, 'tools/call', { name: 'order', arguments: {} });
  expect(created).toMatchObject({ resultType: 'task', status: 'working' });
  const taskId = String(created['taskId']);

  const task = await found(app);
  app.tasks.report(task.id, 'looking for a shirt');
  expect(await modernTask(app.url, taskId, 'working')).toMatchObject({ statusMessage: 'looking for a shirt' });
  const { received } = ask(app, task);
  expect(await modernTask(app.url, taskId, 'input_required')).toMatchObject({
    inputRequests: { size: { method: 'elicitation/create', params: QUESTION } },
  });
  await modern(app.url, 'tasks/update', { taskId, inputResponses: { size: ANSWER } });
  await soon(received).toEqual(ANSWER);

  await app.tasks.complete(task.id, RESULT);
  expect(await modernTask(app.url, taskId, 'completed')).toMatchObject({ result: RESULT });
});

test('D-1: a cancelled call cancels its task, and a failed or cancelled task ends its call', async () => {
  const app = await startApp();
  const begin = async (): Promise<{ taskId: string; task: Task }> => {
    const { taskId } = await modern(app.url, 'tools/call', { name: 'order', arguments: {} });
    return { taskId: String(taskId), task: await found(app) };
  };
  const unwanted = await begin();
  await modern(app.url, 'tasks/cancel', { taskId: unwanted.taskId });
  await soon(() => app.tasks.get(unwanted.task.id)?.status).toBe('cancelled');

  const hopeless = await begin();
  await app.tasks.fail(hopeless.task.id, { code: -32050, message: 'sold out', data: { until: 'Monday' } });
  expect(await modernTask(app.url, hopeless.taskId, 'failed')).toMatchObject({
    error: { code: -32050, message: 'sold out', data: { until: 'Monday' } },
  });

  const stopped = await begin();
  await app.tasks.cancel(stopped.task.id, 'closing time');
  expect(await modernTask(app.url, stopped.taskId, 'cancelled')).toMatchObject({
    statusMessage: expect.stringContaining('closing time') as string,
  });
});

test('D-1: a question that another part of the program answers is withdrawn from the client', async () => {
  const app = await startApp();
  const client = await LegacyWire.open(app.url);
  const call = await client.stream('tools/call', { name: 'order', arguments: {} });
  const task = await found(app);
  const { received } = ask(app, task);
  const { id } = await call.asked('elicitation/create');

  const [question] = app.tasks.questions(task.id);
  if (question === undefined) throw new Error('no question');
  await expect(app.tasks.answer(question, { action: 'accept', content: { size: 'XXL' } })).rejects.toThrow(
    'answer is invalid',
  );
  await app.tasks.answer(question, ANSWER);
  await soon(received).toEqual(ANSWER);
  const cancelled = await call.asked('notifications/cancelled');
  expect(cancelled['params']).toMatchObject({ requestId: id });
  await app.tasks.complete(task.id, RESULT);
  expect(await call.result()).toEqual(RESULT);
});
