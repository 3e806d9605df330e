import { expect, test, vi } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import { clampDelay, MAX_DELAY_MS } from './clock.ts';
import { Alarm, Delayed, every, timeoutSignal, within } from './timers.ts';

test('X-3: a delay never exceeds the maximum of a timer', () => {
  expect(clampDelay(Number.MAX_SAFE_INTEGER)).toBe(MAX_DELAY_MS);
  expect(clampDelay(-5)).toBe(0);
});

test('T-2: an alarm fires once, at the earliest requested time', () => {
  const clock = new TestClock();
  const due = vi.fn();
  const alarm = new Alarm(due, clock);
  alarm.at(clock.now() + 500);
  alarm.at(clock.now() + 100);
  alarm.at(clock.now() + 300);
  alarm.at(undefined);
  clock.advance(99);
  expect(due).not.toHaveBeenCalled();
  clock.advance(1);
  expect(due).toHaveBeenCalledTimes(1);
  clock.advance(1000);
  expect(due).toHaveBeenCalledTimes(1);
});

test('T-2: a stopped alarm leaves no timer', () => {
  const clock = new TestClock();
  const alarm = new Alarm(() => {}, clock);
  alarm.at(clock.now() + 100);
  alarm.stop();
  expect(clock.armed).toBe(0);
});

test('T-2: every() repeats until it is stopped', () => {
  const clock = new TestClock();
  const run = vi.fn();
  const stop = every(100, run, clock);
  clock.advance(350);
  expect(run).toHaveBeenCalledTimes(3);
  stop();
  clock.advance(1000);
  expect(run).toHaveBeenCalledTimes(3);
  expect(clock.armed).toBe(0);
});

test('T-2: every() can be stopped by its own function', () => {
  const clock = new TestClock();
  const stop = every(100, () => stop(), clock);
  clock.advance(1000);
  expect(clock.armed).toBe(0);
});

test('X-3: within() returns the result, or nothing after the limit, and leaves no timer', async () => {
  const clock = new TestClock();
  expect(await within(100, Promise.resolve('in time'), clock)).toBe('in time');
  const late = within(100, new Promise(() => {}), clock);
  clock.advance(100);
  expect(await late).toBeUndefined();
  expect(clock.armed).toBe(0);
});

test('X-3: a timeout signal aborts after its limit, unless it is cancelled first', () => {
  const clock = new TestClock();
  const { signal } = timeoutSignal(100, clock);
  const { signal: unused, cancel } = timeoutSignal(100, clock);
  cancel();
  clock.advance(100);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect(unused.aborted).toBe(false);
});

test('S-5: entries that remain after the delay are processed once and in order', () => {
  const clock = new TestClock();
  const acted: string[] = [];
  const delayed = new Delayed<string>(250, (entry) => acted.push(entry), clock);
  delayed.add('a');
  delayed.add('b');
  clock.advance(100);
  delayed.add('c');
  delayed.delete('b');
  clock.advance(149);
  expect(acted).toEqual([]);
  clock.advance(1);
  expect(acted).toEqual(['a']);
  clock.advance(100);
  expect(acted).toEqual(['a', 'c']);
  delayed.add('d');
  clock.advance(250);
  expect(acted).toEqual(['a', 'c', 'd']);
});

test('D-2: an entry can be added again when its delay is over', () => {
  const clock = new TestClock();
  let count = 0;
  const delayed = new Delayed<string>(
    10,
    (entry) => {
      count += 1;
      delayed.add(entry);
    },
    clock,
  );
  delayed.add('a');
  for (let times = 1; times <= 5; times += 1) {
    clock.advance(10);
    expect(count).toBe(times);
  }
  delayed.delete('a');
  clock.advance(100);
  expect(count).toBe(5);
  delayed.add('a');
  clock.advance(10);
  expect(count).toBe(6);
});
