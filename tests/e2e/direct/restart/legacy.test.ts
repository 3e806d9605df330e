import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { kill, killable, restart, stored } from '../../restart/killable.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';
import type { KillableGateway } from '../../../crash/gateway.ts';

const FAST = { servers: { reconnect: { firstMs: 50, maxMs: 200 } } };
const KEEPERS = { core: startTasksV1Http, ext: startTasksV2Http };

async function standing(gateway: KillableGateway, taskId: string): Promise<void> {
  await soon(() => stored(gateway, 'tasks', taskId)).toHaveProperty('checkpoint');
}

test.each(['core', 'ext'] as const)(
  'P-2, D-3: a legacy client continues its session and its tasks after a restart: %s',
  async (kind) => {
    const server = owned(await KEEPERS[kind]());
    const gateway = await killable({ far: { url: server.url } }, FAST);
    const wire = await LegacyWire.open(`${gateway.url}/far`);
    const done = await wire.begin('slow', { ms: 10, text: 'done before' });
    await wire.request('tasks/result', { taskId: done.taskId });
    const held = await wire.begin('hold', { text: 'went on' });
    await standing(gateway, held.taskId);
    await restart(gateway);

    expect(await wire.request('ping')).toEqual({});
    expect((await wire.request('tools/list'))['tools']).toContainEqual(expect.objectContaining({ name: 'hold' }));
    expect(textOf(await wire.call('echo', { text: 'hello' }))).toBe('hello');
    const { tasks } = await wire.request('tasks/list');
    expect((tasks as Json[]).map(({ taskId, status }) => [taskId, status])).toEqual([
      [done.taskId, 'completed'],
      [held.taskId, 'working'],
    ]);
    expect(textOf(await wire.request('tasks/result', { taskId: done.taskId }))).toBe('done before');
    const told = await wire.listen();
    const waiting = await wire.stream('tasks/result', { taskId: held.taskId });
    server.state.release();
    expect(textOf(await waiting.result())).toBe('went on');
    await soon(() => told.told('notifications/tasks/status').at(-1)).toMatchObject({
      taskId: held.taskId,
      status: 'completed',
    });
    expect(requestsOf(server.state, 'tools/call').filter(({ params }) => params?.['name'] === 'hold')).toHaveLength(1);
  },
);

test('P-2, D-3: after a restart, a task whose call was lost with the process has failed, with the reason', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } });
  const wire = await LegacyWire.open(`${gateway.url}/plain`);
  const { taskId } = await wire.begin('slow', { ms: 600_000 });
  await soon(() => server.state.calls.length).toBe(1);
  await restart(gateway);
  const task = await wire.request('tasks/get', { taskId });
  expect(task).toMatchObject({ status: 'failed', statusMessage: expect.stringContaining('gateway restarted') });
  expect(await wire.error('tasks/result', { taskId })).toMatchObject({
    message: expect.stringContaining('gateway restarted'),
  });
  expect(server.state.calls).toHaveLength(1);
});

// A core server of the v1 SDK may give its next question to the stream of the process that died.
test.each(['ext', 'rounds'] as const)(
  'P-2, D-3: open and later questions of a task can be answered after a restart: %s',
  async (kind) => {
    const start = { ext: startTasksV2Http, rounds: () => startV2Http({ era: 'modern' }) }[kind];
    const server = owned(await start());
    const gateway = await killable({ far: { url: server.url } }, FAST);
    const wire = await LegacyWire.open(`${gateway.url}/far`);
    const { taskId } = await wire.begin('ask_twice');
    const before = await wire.stream('tasks/result', { taskId });
    await before.heard('elicitation/create');
    await standing(gateway, taskId);
    await restart(gateway);
    const stream = await wire.stream('tasks/result', { taskId });
    const first = await stream.heard('elicitation/create');
    expect(first['params']).toMatchObject({
      message: 'What is your name?',
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    await stream.answer(first, accept({ name: 'Ada' }));
    await soon(() => stream.told('elicitation/create').length).toBe(2);
    const second = stream.messages.findLast(({ method }) => method === 'elicitation/create');
    await stream.answer(second ?? {}, accept({ age: 36 }));
    expect(textOf(await stream.result())).toBe('Hello Ada, 36');
  },
);

test('P-2, D-3: the question of a 2025-11-25 server task can be answered after a restart', async () => {
  const server = owned(await startTasksV1Http());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const wire = await LegacyWire.open(`${gateway.url}/far`);
  const { taskId } = await wire.begin('ask');
  await (await wire.stream('tasks/result', { taskId })).heard('elicitation/create');
  await standing(gateway, taskId);
  await restart(gateway);
  const stream = await wire.stream('tasks/result', { taskId });
  await stream.answer(await stream.heard('elicitation/create'), accept({ name: 'Ada' }));
  expect(textOf(await stream.result())).toBe('Hello Ada');
});

test('P-2, T-4: a call that was abandoned before a restart can be taken over after it', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const wire = await LegacyWire.open(`${gateway.url}/far`);
  const stream = await wire.callStream('hold', { text: 'once' });
  stream.drop();
  await soon(async () => ((await wire.request('tasks/list'))['tasks'] as Json[]).length).toBe(1);
  const [task] = (await wire.request('tasks/list'))['tasks'] as { taskId: string }[];
  await standing(gateway, String(task?.taskId));
  await restart(gateway);
  const again = await wire.callStream('hold', { text: 'once' });
  server.state.release();
  expect(textOf(await again.result())).toBe('once');
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(1);
});

test('P-2, E-5: a client that resumes a stream from before a restart gets the outcome of its request', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } });
  const wire = await LegacyWire.open(`${gateway.url}/plain`);
  const standing = await wire.listen();
  const stream = await wire.callStream('slow', { ms: 600_000 });
  await restart(gateway);
  const rest = await wire.listen(stream.lastEventId);
  expect((await rest.answered()).error).toMatchObject({ message: expect.stringContaining('gateway restarted') });
  const on = await wire.listen(standing.lastEventId);
  const { taskId } = await wire.begin('slow', { ms: 10 });
  await soon(() => on.told('notifications/tasks/status').at(-1)).toMatchObject({ taskId, status: 'completed' });
});

test('P-2, D-2: an open question comes on the resumed standing stream after a restart', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const wire = await LegacyWire.open(`${gateway.url}/far`);
  const standing = await wire.listen();
  const stream = await wire.callStream('ask', { message: 'Who?' });
  await stream.heard('elicitation/create');
  const { lastEventId } = standing;
  await wire.notify('notifications/cancelled', { requestId: stream.id, reason: 'timed out' });
  await standing.heard('elicitation/create');
  await kill(gateway);
  await gateway.start();
  const on = await wire.listen(lastEventId);
  await on.answer(await on.heard('elicitation/create'), accept({ name: 'Ada' }));
  expect(textOf(await wire.call('ask', { message: 'Who?' }))).toBe('Hello Ada');
});

test('P-2, X-2: after a restart, a session id is still valid only at its endpoint', async () => {
  const server = owned(await startV1Http());
  const other = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url }, two: { url: other.url } });
  const wire = await LegacyWire.open(`${gateway.url}/one`);
  await restart(gateway);
  for (const at of [gateway.url, `${gateway.url}/two`]) {
    expect((await new LegacyWire(at, wire.sessionId).send('tools/list')).status).toBe(404);
  }
  expect(textOf(await wire.call('echo', { text: 'mine' }))).toBe('mine');
});
