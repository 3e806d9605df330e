import { expect, test } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import type { Progress } from '../core/ports/connection.ts';
import { Exchange } from './exchange.ts';
import { whileWaiting } from './waiting.ts';

/** Something that takes as long as the test wants, and what its client hears meanwhile. */
function start() {
  const clock = new TestClock();
  const heard: Progress[] = [];
  const exchange = new Exchange((progress) => heard.push(progress));
  let report: (progress: Progress) => void = () => {};
  let finish: (value: string) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const result = whileWaiting({ clock, exchange }, 'slow is running', (onProgress) => {
    report = onProgress;
    return new Promise<string>((resolve, reject) => {
      finish = resolve;
      fail = reject;
    });
  });
  return {
    clock,
    heard,
    exchange,
    result,
    report,
    finish: (value: string) => finish(value),
    fail: (error: Error) => fail(error),
  };
}

test('T-7: a client with a progress token gets progress every ten seconds', async () => {
  const { clock, heard, result, finish } = start();
  clock.advance(9_999);
  expect(heard).toEqual([]);
  clock.advance(1);
  expect(heard).toHaveLength(1);
  clock.advance(290_000);
  expect(heard).toHaveLength(30);
  expect(heard.at(-1)?.message).toBe('slow is running: 300 s');
  finish('done');
  expect(await result).toBe('done');
});

test('T-7: the sent progress always increases', async () => {
  const { clock, heard, report, result, finish } = start();
  report({ progress: 5, total: 10 });
  clock.advance(20_000);
  report({ progress: 5, total: 10 });
  report({ progress: 3, total: 10 });
  report({ progress: 6, total: 10, message: 'further' });
  const steps = heard.map(({ progress }) => Number(progress));
  expect(steps).toHaveLength(6);
  expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b));
  expect(steps[0]).toBe(5);
  expect(heard.at(-1)).toEqual({ progress: 6, total: 10, message: 'further' });
  // A beat repeats how much there is in all.
  expect(heard[1]).toMatchObject({ total: 10 });
  finish('done');
  await result;
});

test('T-7: progress of the server delays the next heartbeat', async () => {
  const { clock, heard, report, result, finish } = start();
  clock.advance(9_000);
  report({ progress: 1 });
  clock.advance(9_000);
  expect(heard).toHaveLength(1);
  clock.advance(1_000);
  expect(heard).toHaveLength(2);
  finish('done');
  await result;
});

test('T-7: nothing is sent after the client has left, and no timer remains', async () => {
  const { clock, heard, exchange, report, result, finish } = start();
  exchange.clientLeft();
  report({ progress: 1 });
  clock.advance(30_000);
  expect(heard).toEqual([]);
  finish('done');
  await result;
  expect(clock.armed).toBe(0);
});

test('T-7: failed work leaves no timer', async () => {
  const { clock, result, fail } = start();
  expect(clock.armed).toBe(1);
  fail(new Error('broken'));
  await expect(result).rejects.toThrow('broken');
  expect(clock.armed).toBe(0);
});

test('T-7: without a progress token there are no heartbeats', async () => {
  const clock = new TestClock();
  const result = whileWaiting({ clock, exchange: new Exchange() }, 'slow is running', async (onProgress) => {
    onProgress({ progress: 1 });
    expect(clock.armed).toBe(0);
    return 'done';
  });
  expect(await result).toBe('done');
});

test('T-7: progress after the end of the work starts no timer', async () => {
  const { clock, report, result, finish } = start();
  finish('done');
  await result;
  report({ progress: 1 });
  expect(clock.armed).toBe(0);
});
