import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { unlessAborted, whenAborted } from './abort.ts';

const never = new Promise<never>(() => {});
const why = (): Error => new Error('nobody waits');

test('T-4: what is to happen when a signal is aborted happens once, at once if it is aborted already, or not any more', () => {
  const { signal, abort } = controlled();
  const told: string[] = [];
  whenAborted(signal, () => told.push('before'));
  whenAborted(signal, () => told.push('forgotten'))();
  whenAborted(undefined, () => told.push('never'))();
  abort();
  whenAborted(signal, () => told.push('after'));
  expect(told).toEqual(['before', 'after']);
});

test('T-4: a promise brings what it brings unless the signal is aborted first', async () => {
  const { signal, abort } = controlled();
  expect(await unlessAborted(Promise.resolve('done'), signal, why)).toBe('done');
  await expect(unlessAborted(Promise.reject(new Error('own')), signal, why)).rejects.toThrow('own');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const waiting = unlessAborted(never, signal, why);
  abort();
  await expect(waiting).rejects.toThrow('nobody waits');
  await expect(unlessAborted(never, signal, why)).rejects.toThrow('nobody waits');
  expect(await unlessAborted(Promise.resolve('done'), undefined, why)).toBe('done');
});

function controlled(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
