import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const TASKS = { keepMs: 10, cleanupMs: 10 };

async function behind(tasks: Record<string, number>) {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks, direct: { taskAfterMs: 50 } });
  return { server, direct: `${url}/one` };
}

test('D-3, T-2: a task can be read for the time that was asked for, however soon it ends; and then it is gone', async () => {
  const { direct } = await behind(TASKS);
  const wire = await LegacyWire.open(direct);
  const begun = Date.now();
  const { taskId, ttl } = await wire.begin('echo', { text: 'short' }, { ttl: 1500 });
  expect(ttl).toBe(1500);
  await wire.request('tasks/result', { taskId });
  await delay(1200 - (Date.now() - begun));
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed', ttl: 1500 });
  await soon(async () => (await wire.send('tasks/get', { taskId })).error?.code).toBe(-32602);
  expect(Date.now() - begun).toBeGreaterThanOrEqual(1500);
  expect(await wire.error('tasks/result', { taskId })).toMatchObject({ code: -32602 });
});

test('D-4, T-2: a modern one likewise', async () => {
  const { direct } = await behind({ ...TASKS, ttlMs: 1500 });
  const wire = new ModernWire(direct);
  const begun = Date.now();
  const { taskId, ttlMs } = await wire.call('slow', { ms: 200 });
  expect(ttlMs).toBe(1500);
  await wire.task(taskId, 'completed');
  await delay(1200 - (Date.now() - begun));
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
  await soon(async () => (await wire.send('tasks/get', { taskId })).error?.code).toBe(-32602);
  expect(Date.now() - begun).toBeGreaterThanOrEqual(1500);
});

test('D-3, T-2: a task that works longer than its time has failed, with the reason, and its work is stopped', async () => {
  const { server, direct } = await behind({ cleanupMs: 10 });
  const wire = await LegacyWire.open(direct);
  const { taskId } = await wire.begin('slow', { ms: 600_000, text: 'long' }, { ttl: 300 });
  expect(await wire.error('tasks/result', { taskId })).toMatchObject({
    message: expect.stringContaining('TTL of 300 ms'),
  });
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'failed' });
  await soon(() => server.state.cancelled).toEqual(['slow:long']);
});

test('D-3, T-2: no task lives longer than the operator allows', async () => {
  const { direct } = await behind({ ttlMs: 1000, maxTtlMs: 2000 });
  const wire = await LegacyWire.open(direct);
  expect(await wire.begin('slow', { ms: 100 }, { ttl: 3_600_000 })).toMatchObject({ ttl: 2000 });
  expect(await wire.begin('slow', { ms: 100 })).toMatchObject({ ttl: 1000 });
});
