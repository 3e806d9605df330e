import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortSignalOf, Stopper, unlessAborted, whenAborted } from './abort.ts';

const never = new Promise<never>(() => {});
const why = (): Error => new Error('nobody waits');

test('T-4: an abort listener runs once: on abort, at once if already aborted, or never after its removal', () => {
  const { signal, abort } = controlled();
  const told: string[] = [];
  whenAborted(signal, () => told.push('before'));
  whenAborted(signal, () => told.push('forgotten'))();
  whenAborted(undefined, () => told.push('never'))();
  abort();
  whenAborted(signal, () => told.push('after'));
  expect(told).toEqual(['before', 'after']);
});

test('T-4: unlessAborted settles like the promise, unless the signal is aborted first', async () => {
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

test('T-4: a stopper notifies its remaining listeners once, with the reason', () => {
  const stopper = new Stopper();
  const told: string[] = [];
  whenAborted(stopper, () => told.push('before'));
  whenAborted(stopper, () => told.push('forgotten'))();
  expect(() => stopper.throwIfAborted()).not.toThrow();
  stopper.abort(new Error('enough'));
  stopper.abort(new Error('again'));
  whenAborted(stopper, () => told.push('after'));
  expect(told).toEqual(['before', 'after']);
  expect(stopper).toMatchObject({ aborted: true, reason: { message: 'enough' } });
  expect(() => stopper.throwIfAborted()).toThrow('enough');
});

test('T-4: a stopper provides an AbortSignal, before or after the abort', () => {
  const [before, after] = [new Stopper(), new Stopper()];
  const signal = abortSignalOf(before);
  expect(abortSignalOf(before)).toBe(signal);
  expect(abortSignalOf(signal)).toBe(signal);
  expect(signal.aborted).toBe(false);
  for (const stopper of [before, after]) stopper.abort('enough');
  for (const stopper of [before, after]) {
    expect(abortSignalOf(stopper)).toMatchObject({ aborted: true, reason: 'enough' });
  }
});

function controlled(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test('T-4: an abort stops at a failing listener, and skips listeners that were removed meanwhile', () => {
  const stopper = new Stopper();
  const called: string[] = [];
  const removed = (): void => void called.push('removed');
  stopper.addEventListener('abort', () => {
    called.push('first');
    stopper.removeEventListener('abort', removed);
  });
  stopper.addEventListener('abort', removed);
  stopper.addEventListener('abort', () => {
    throw new Error('failed');
  });
  const { original } = stopper;
  expect(() => stopper.abort('enough')).toThrow('failed');
  expect(called).toEqual(['first']);
  expect([original.aborted, original.reason]).toEqual([true, 'enough']);
});
