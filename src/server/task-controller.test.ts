import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { Task } from '../core/task/task.ts';
import { createTaskController } from './task-controller.ts';
import { createTaskServer } from './task-server.ts';
import type { AppTaskController, TaskControllerOptions } from './types.ts';

const open = new Set<AppTaskController>();

async function controller(options: TaskControllerOptions = {}): Promise<AppTaskController> {
  const tasks = await createTaskController(options);
  open.add(tasks);
  return tasks;
}

async function close(tasks: AppTaskController): Promise<void> {
  open.delete(tasks);
  await tasks.close();
}

afterEach(async () => {
  for (const tasks of open) await close(tasks);
});

const START = { tool: 'order', args: { count: 1 } };
const QUESTION = { kind: 'elicitation', params: { message: 'Which size?' }, key: 'size' } as const;
const ANSWER = { action: 'accept', content: { size: 'M' } };

test('D-1: a task is created, asks a question and completes', async () => {
  const tasks = await controller();
  const seen: string[] = [];
  const stop = tasks.watch(({ status, statusMessage = '' }) => seen.push(`${status} ${statusMessage}`.trim()));
  const { id } = await tasks.create(START);
  tasks.report(id, 'looking');
  const asking = tasks.ask(id, QUESTION);
  const [question] = tasks.questions(id);
  if (question === undefined) throw new Error('no question');
  await tasks.answer(question, ANSWER);
  expect(await asking).toEqual(ANSWER);
  const waiting = tasks.until(id, ({ status }) => status === 'completed');
  expect(await tasks.complete(id, { content: [] })).toBe(true);
  expect(await waiting).toMatchObject({ id, ...START, result: { content: [] } });
  expect(await tasks.fail(id, { code: -1, message: 'too late' })).toBe(false);
  expect(tasks.list().map(({ status }) => status)).toEqual(['completed']);
  expect(seen).toEqual([
    'working',
    'working looking',
    'input_required looking',
    'working looking',
    'completed looking',
  ]);
  stop();
  await tasks.create(START);
  expect(seen).toHaveLength(5);
});

test('D-1: a question under the same key is asked once, and its answer is reused', async () => {
  const tasks = await controller();
  const { id } = await tasks.create(START);
  const twice = [tasks.ask(id, QUESTION), tasks.ask(id, QUESTION)];
  const questions = tasks.questions(id);
  expect(questions).toHaveLength(1);
  for (const question of questions) await tasks.answer(question, ANSWER);
  expect(await Promise.all(twice)).toEqual([ANSWER, ANSWER]);
  expect(await tasks.ask(id, QUESTION)).toEqual(ANSWER);
  expect(tasks.questions(id)).toEqual([]);
});

test('D-1: the question of a cancelled task ends, and an ended task cannot ask', async () => {
  const tasks = await controller();
  const { id } = await tasks.create(START);
  const asking = expect(tasks.ask(id, QUESTION)).rejects.toThrow('the call has ended');
  expect(await tasks.cancel(id, 'closing time')).toMatchObject({ status: 'cancelled', statusMessage: 'closing time' });
  await asking;
  expect(await tasks.cancel(id, 'again')).toBeUndefined();
  await expect(tasks.ask(id, QUESTION)).rejects.toThrow(`task ${id} has ended: cancelled`);
});

test('D-1: a withdrawn question ends, and its task continues', async () => {
  const tasks = await controller();
  const { id } = await tasks.create(START);
  const withdraw = new AbortController();
  const asking = expect(tasks.ask(id, { ...QUESTION, signal: withdraw.signal })).rejects.toThrow('withdrawn');
  withdraw.abort();
  await asking;
  expect(tasks.get(id)).toMatchObject({ status: 'working' });
});

test('D-1: a task expires after its TTL', async () => {
  const tasks = await controller();
  const { id } = await tasks.create({ ...START, ttlMs: 30 });
  expect(await tasks.until(id, ({ status }) => status === 'expired')).toMatchObject({ status: 'expired' });
});

test('D-1: tasks in a file survive a restart, with their questions and answers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-test-'));
  const store = join(folder, 'tasks.db');
  try {
    const first = await controller({ store });
    const done = await first.create(START);
    await first.complete(done.id, { content: [] });
    const asks = await first.create(START);
    void first.ask(asks.id, QUESTION).catch(() => {});
    const knows = await first.create(START);
    void first.ask(knows.id, QUESTION);
    for (const question of first.questions(knows.id)) await first.answer(question, ANSWER);
    const forgets = await first.create(START);
    const unkept = { kind: QUESTION.kind, params: QUESTION.params };
    const over = expect(first.ask(forgets.id, unkept)).rejects.toThrow('the program is stopping');
    const before = first.questions(asks.id);
    await vi.waitFor(() => expect(before).toHaveLength(1), 10_000);
    await close(first);
    await over;

    const second = await controller({ store });
    const statusOf = ({ id }: Task): string | undefined => second.get(id)?.status;
    expect([done, asks, knows, forgets].map(statusOf)).toEqual(['completed', 'input_required', 'working', 'working']);
    expect(second.list()).toHaveLength(4);
    expect(second.questions(asks.id)).toEqual(before);
    expect(await second.ask(knows.id, QUESTION)).toEqual(ANSWER);
    const asking = second.ask(asks.id, QUESTION);
    expect(second.questions(asks.id)).toEqual(before);
    for (const question of before) await second.answer(question, ANSWER);
    expect(await asking).toEqual(ANSWER);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('D-1: two servers cannot share a task controller', async () => {
  const tasks = await controller();
  const options = { name: 'shop', version: '1.0.0', tasks, tools: { order: { run: () => 'done' } } };
  const [one, other] = [createTaskServer(options), createTaskServer(options)];
  await one.listen();
  await expect(other.listen()).rejects.toThrow('another server uses these tasks');
  await one.close();
  const third = createTaskServer(options);
  await third.listen();
  await third.close();
});
