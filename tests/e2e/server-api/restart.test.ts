import { beforeAll, expect, test } from 'vitest';
import { createTaskServer } from '../../../src/server/index.ts';
import { owned } from '../../support/owned.ts';
import { soon } from '../flows/watch.ts';
import { bundleApp, KillableApp } from './killable.ts';
import { LegacyWire, modern, modernTask } from './wire.ts';

const ANSWER = { action: 'accept', content: { size: 'M' } };
const RESULT = { content: [{ type: 'text', text: 'a shirt in M' }] };

beforeAll(bundleApp);

async function begin({ url }: KillableApp, tool: string): Promise<string> {
  // Without an answer at hand the call becomes a task by itself, once it takes too long.
  const params = { name: tool, arguments: {} };
  const first = await modern(url, 'tools/call', params);
  if (first['resultType'] === 'task') return String(first['taskId']);
  expect(first['resultType']).toBe('input_required');
  const again = { ...params, requestState: first['requestState'], inputResponses: answersTo(first) };
  const next = await modern(url, 'tools/call', again);
  expect(next['resultType']).toBe('task');
  return String(next['taskId']);
}

function answersTo({ inputRequests = {} }: { inputRequests?: unknown }): Record<string, unknown> {
  return Object.fromEntries(Object.keys(inputRequests as object).map((key) => [key, ANSWER]));
}

test('D-1: after kill -9 a task that is worked on elsewhere asks the same question', async () => {
  const app = await KillableApp.start();
  const taskId = await begin(app, 'elsewhere');
  const { inputRequests } = await modernTask(app.url, taskId, 'input_required');
  expect(Object.keys(inputRequests as object)).toEqual(['size']);
  await app.kill();
  await app.start();

  const asked = await modernTask(app.url, taskId, 'input_required');
  expect(asked['inputRequests']).toEqual(inputRequests);
  await app.noted('begun', 'begun');
  await modern(app.url, 'tasks/update', { taskId, inputResponses: { size: ANSWER } });
  await app.openGate();
  expect(await modernTask(app.url, taskId, 'completed')).toMatchObject({ result: RESULT });
  await app.noted('begun', 'begun', 'answered M');
});

test('D-1: after kill -9 an answer is kept, and the question is not asked again', async () => {
  const app = await KillableApp.start();
  const taskId = await begin(app, 'elsewhere');
  await modernTask(app.url, taskId, 'input_required');
  await modern(app.url, 'tasks/update', { taskId, inputResponses: { size: ANSWER } });
  await app.noted('begun', 'answered M');
  await app.kill();
  await app.start();

  await app.noted('begun', 'answered M', 'begun', 'answered M');
  expect(await modern(app.url, 'tasks/get', { taskId })).toMatchObject({ status: 'working' });
  await app.openGate();
  expect(await modernTask(app.url, taskId, 'completed')).toMatchObject({ result: RESULT });
});

test.each(['kill', 'stop'] as const)(
  'D-1: after a %s a repeatable handler runs again with its earlier answers',
  async (how) => {
    const app = await KillableApp.start();
    const taskId = await begin(app, 'repeatable');
    await app.noted('begun', 'answered M');
    await app[how]();
    await app.start();

    await app.noted('begun', 'answered M', 'begun', 'answered M');
    await app.openGate();
    expect(await modernTask(app.url, taskId, 'completed')).toMatchObject({ result: RESULT });
  },
);

test('D-1: after kill -9 a repeatable handler asks a client with tasks the same question again', async () => {
  const app = await KillableApp.start();
  const client = await LegacyWire.open(app.url);
  const created = await client.request('tools/call', { name: 'repeatable', arguments: {}, task: {} });
  const { taskId } = created['task'] as { taskId: string };
  const status = async (): Promise<unknown> => (await client.request('tasks/get', { taskId }))['status'];
  await soon(status).toBe('input_required');
  await app.kill();
  await app.start();

  await app.noted('begun', 'begun');
  await soon(status).toBe('input_required');
  const waiting = await client.stream('tasks/result', { taskId });
  await waiting.answer(await waiting.asked('elicitation/create'), ANSWER);
  await app.openGate();
  expect(await waiting.result()).toMatchObject(RESULT);
});

test('D-1: after kill -9 the task of a handler that is not repeatable has failed, with the reason', async () => {
  const app = await KillableApp.start();
  const client = await LegacyWire.open(app.url);
  const created = await client.request('tools/call', { name: 'once', arguments: {}, task: {} });
  const { taskId } = created['task'] as { taskId: string };
  await app.noted('begun');
  await app.kill();
  await app.start();

  const { tasks } = (await client.request('tasks/list', {})) as { tasks: unknown[] };
  expect(tasks).toMatchObject([{ taskId, status: 'failed', statusMessage: expect.stringContaining('restarted') }]);
  await expect(client.request('tasks/result', { taskId })).rejects.toThrow('restarted');
  await app.noted('begun');
});

test('D-1: after kill -9 a client that answers in rounds continues its call', async () => {
  const app = await KillableApp.start();
  const asked = { elicitation: { form: {} } };
  const params = { name: 'repeatable', arguments: {} };
  const round = await modern(app.url, 'tools/call', params, asked);
  expect(round['resultType']).toBe('input_required');
  await app.kill();
  await app.start();

  await app.openGate();
  const again = { ...params, requestState: round['requestState'], inputResponses: answersTo(round) };
  expect(await modern(app.url, 'tools/call', again, asked)).toMatchObject(RESULT);
  await app.noted('begun', 'begun', 'answered M');
});

test('D-1: a store that another program uses is refused by name, and is free after that program ended', async () => {
  const app = await KillableApp.start();
  const tools = { tool: { run: () => 'done' } };
  const server = owned(createTaskServer({ name: 'app', version: '1.0.0', store: app.store, tools }));
  await expect(server.listen()).rejects.toThrow(`${app.store}: another meanwhile`);
  expect(await app.stop()).toBe(0);
  await server.listen();
});
