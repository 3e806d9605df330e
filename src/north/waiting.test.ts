import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Progress } from '../core/ports.ts';
import { Exchange } from './exchange.ts';
import { whileWaiting } from './waiting.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Something that takes as long as the test wants, and what its client hears meanwhile. */
function start() {
  const heard: Progress[] = [];
  const exchange = new Exchange((progress) => heard.push(progress));
  let report: (progress: Progress) => void = () => {};
  let finish: (value: string) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const result = whileWaiting(exchange, 'slow is running', (onProgress) => {
    report = onProgress;
    return new Promise<string>((resolve, reject) => {
      finish = resolve;
      fail = reject;
    });
  });
  return {
    heard,
    exchange,
    result,
    report,
    finish: (value: string) => finish(value),
    fail: (error: Error) => fail(error),
  };
}

test('T-7: a client that gave a token hears something every ten seconds', async () => {
  const { heard, result, finish } = start();
  await vi.advanceTimersByTimeAsync(9_999);
  expect(heard).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(heard).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(290_000);
  expect(heard).toHaveLength(30);
  expect(heard.at(-1)?.message).toBe('slow is running: 300 s');
  finish('done');
  expect(await result).toBe('done');
});

test('T-7: what is sent only goes up', async () => {
  const { heard, report, result, finish } = start();
  report({ progress: 5, total: 10 });
  await vi.advanceTimersByTimeAsync(20_000);
  report({ progress: 5, total: 10 });
  report({ progress: 3, total: 10 });
  report({ progress: 6, total: 10, message: 'further' });
  const steps = heard.map(({ progress }) => progress);
  expect(steps).toHaveLength(6);
  expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b));
  expect(steps[0]).toBe(5);
  expect(heard.at(-1)).toEqual({ progress: 6, total: 10, message: 'further' });
  // A beat repeats how much there is in all.
  expect(heard[1]).toMatchObject({ total: 10 });
  finish('done');
  await result;
});

test('T-7: the server’s own progress puts the next beat off', async () => {
  const { heard, report, result, finish } = start();
  await vi.advanceTimersByTimeAsync(9_000);
  report({ progress: 1 });
  await vi.advanceTimersByTimeAsync(9_000);
  expect(heard).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(heard).toHaveLength(2);
  finish('done');
  await result;
});

test('T-7: nothing is sent once the client has left, and no timer is left over', async () => {
  const { heard, exchange, report, result, finish } = start();
  exchange.clientLeft();
  report({ progress: 1 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(heard).toEqual([]);
  finish('done');
  await result;
  expect(vi.getTimerCount()).toBe(0);
});

test('T-7: work that fails leaves no timer behind either', async () => {
  const { result, fail } = start();
  expect(vi.getTimerCount()).toBe(1);
  fail(new Error('broken'));
  await expect(result).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
});

test('T-7: without a token there is no beat', async () => {
  const result = whileWaiting(new Exchange(), 'slow is running', async (onProgress) => {
    onProgress({ progress: 1 });
    expect(vi.getTimerCount()).toBe(0);
    return 'done';
  });
  expect(await result).toBe('done');
});
