import { expect, test } from 'vitest';
import { isDeeperThan } from './depth.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('X-4: isDeeperThan measures the nesting of a value', () => {
  for (const flat of [null, undefined, 7, 'text']) expect(isDeeperThan(flat, 0)).toBe(false);
  expect(isDeeperThan({}, 0)).toBe(true);
  expect(isDeeperThan({ a: 1, b: null }, 1)).toBe(false);
  expect(isDeeperThan({ a: [{ b: 1 }] }, 3)).toBe(false);
  expect(isDeeperThan({ a: [{ b: 1 }] }, 2)).toBe(true);
  expect(isDeeperThan([[], {}, [[[]]]], 3)).toBe(true);
});

test('X-4: a very deep value is recognized, and a wide value is not deep', () => {
  expect(isDeeperThan(nested(1000), 1000)).toBe(false);
  expect(isDeeperThan(nested(1001), 1000)).toBe(true);
  expect(isDeeperThan(nested(200_000), 1000)).toBe(true);
  expect(
    isDeeperThan(
      Array.from({ length: 100_000 }, () => [0]),
      2,
    ),
  ).toBe(false);
});
