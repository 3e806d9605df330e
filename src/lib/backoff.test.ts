import { expect, test } from 'vitest';
import { backoffDelay } from './backoff.ts';

const settings = { firstMs: 1000, factor: 2, maxMs: 60_000 };

test('B-2: the delay doubles from one second up to the cap', () => {
  const delays = [1, 2, 3, 4, 7, 10, 1000].map((attempt) => backoffDelay(attempt, settings, () => 1));
  expect(delays).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000, 60_000]);
});

test('B-2: jitter subtracts up to a quarter', () => {
  expect(backoffDelay(1, settings, () => 0)).toBe(750);
});
