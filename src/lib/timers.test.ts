import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { clampDelay, MAX_DELAY_MS } from './clock.ts';
import { Alarm } from './timers.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('X-3: a delay never exceeds what a timer can hold', () => {
  expect(clampDelay(Number.MAX_SAFE_INTEGER)).toBe(MAX_DELAY_MS);
  expect(clampDelay(-5)).toBe(0);
});

test('T-2: an alarm goes off at the earliest moment asked for, once', () => {
  const due = vi.fn();
  const alarm = new Alarm(due);
  alarm.at(Date.now() + 500);
  alarm.at(Date.now() + 100);
  alarm.at(Date.now() + 300);
  alarm.at(undefined);
  vi.advanceTimersByTime(99);
  expect(due).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(due).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  expect(due).toHaveBeenCalledTimes(1);
});

test('T-2: a stopped alarm leaves no timer', () => {
  const alarm = new Alarm(() => {});
  alarm.at(Date.now() + 100);
  alarm.stop();
  expect(vi.getTimerCount()).toBe(0);
});
