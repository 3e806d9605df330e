import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire } from '../modern-wire.ts';

const TASKS = { keepMs: 10, cleanupMs: 10 };
const TTL_MS = 60_000;

const SERVERS = {
  pushes: startV1Http,
  core: startTasksV1Http,
  rounds: () => startV2Http({ era: 'modern' }),
  ext: startTasksV2Http,
};

async function behind(tasks: Record<string, number>, kind: keyof typeof SERVERS = 'pushes') {
  const server = owned(await SERVERS[kind]());
  const clock = new JumpingClock();
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks, direct: { taskAfterMs: 50 } }, clock);
  return { server, direct: `${url}/one`, clock };
}

test('D-3, T-2: a task can be read until its requested TTL is over, and is unknown afterwards', async () => {
  const { direct, clock } = await behind(TASKS);
  const wire = await LegacyWire.open(direct);
  const { taskId, ttl } = await wire.begin('echo', { text: 'short' }, { ttl: TTL_MS });
  expect(ttl).toBe(TTL_MS);
  await wire.request('tasks/result', { taskId });
  clock.jump(TTL_MS / 2);
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed', ttl: TTL_MS });
  clock.jump(TTL_MS / 2);
  await soon(async () => (await wire.send('tasks/get', { taskId })).error?.code).toBe(-32602);
  expect(await wire.error('tasks/result', { taskId })).toMatchObject({ code: -32602 });
});

test('D-4, T-2: a task of a modern client can be read until its TTL is over, and is unknown afterwards', async () => {
  const { direct, clock } = await behind({ ...TASKS, ttlMs: TTL_MS });
  const wire = new ModernWire(direct);
  const { taskId, ttlMs } = await wire.call('slow', { ms: 200 });
  expect(ttlMs).toBe(TTL_MS);
  await wire.task(taskId, 'completed');
  clock.jump(TTL_MS / 2);
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
  clock.jump(TTL_MS / 2);
  await soon(async () => (await wire.send('tasks/get', { taskId })).error?.code).toBe(-32602);
});

test('D-3, T-2: a task that works longer than its TTL fails with the reason, and its call is cancelled', async () => {
  const { server, direct } = await behind({ cleanupMs: 10 });
  const wire = await LegacyWire.open(direct);
  const { taskId } = await wire.begin('slow', { ms: 600_000, text: 'long' }, { ttl: 300 });
  expect(await wire.error('tasks/result', { taskId })).toMatchObject({
    message: expect.stringContaining('TTL of 300 ms'),
  });
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'failed' });
  await soon(() => server.state.cancelled).toEqual(['slow:long']);
});

test('D-3, T-2: the TTL of a task never exceeds the configured maximum', async () => {
  const { direct } = await behind({ ttlMs: 1000, maxTtlMs: 2000 });
  const wire = await LegacyWire.open(direct);
  expect(await wire.begin('slow', { ms: 100 }, { ttl: 3_600_000 })).toMatchObject({ ttl: 2000 });
  expect(await wire.begin('slow', { ms: 100 })).toMatchObject({ ttl: 1000 });
});

test.each(['pushes', 'core', 'rounds', 'ext'] as const)(
  'T-3, D-3: the TTL pauses while a question waits: a server that %s',
  async (kind) => {
    const { direct, clock } = await behind({ cleanupMs: 10 }, kind);
    const wire = await LegacyWire.open(direct);
    const state = async (taskId: string): Promise<unknown> => (await wire.request('tasks/get', { taskId }))['status'];
    const { taskId } = await wire.begin('ask', {}, { ttl: TTL_MS });
    await soon(() => state(taskId)).toBe('input_required');
    // Its time is over before that of one that began later.
    const later = await wire.begin('slow', { ms: 600_000 }, { ttl: TTL_MS });
    clock.jump(TTL_MS);
    await soon(() => state(later.taskId)).toBe('failed');
    const result = await wire.stream('tasks/result', { taskId });
    await result.answer(await result.heard('elicitation/create'), accept({ name: 'Ada' }));
    expect(textOf(await result.result())).toBe('Hello Ada');
  },
);

test('T-3, D-4: the TTL of a modern client’s task pauses while a question waits', async () => {
  const { direct, clock } = await behind({ cleanupMs: 10, ttlMs: TTL_MS }, 'ext');
  const wire = new ModernWire(direct);
  const { taskId } = await wire.call('ask');
  const { inputRequests } = await wire.task(taskId, 'input_required');
  const later = await wire.call('slow', { ms: 600_000 });
  clock.jump(TTL_MS);
  await wire.task(later['taskId'], 'failed');
  const [key] = Object.keys(inputRequests as object);
  await wire.request('tasks/update', { taskId, inputResponses: { [String(key)]: accept({ name: 'Ada' }) } });
  const { result } = await wire.task(taskId, 'completed');
  expect(textOf(result as Json)).toBe('Hello Ada');
});
