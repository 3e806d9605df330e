import { expect, test } from 'vitest';
import { InFlight } from './in-flight.ts';

function filled(...keys: string[]): InFlight<string, number> {
  const inFlight = new InFlight<string, number>();
  for (const [index, key] of keys.entries()) inFlight.add(key, index);
  return inFlight;
}

test('H-4: entries are found by key and listed in the order of insertion', () => {
  const inFlight = filled('a', 'b', 'c');
  expect([inFlight.get('a'), inFlight.get('c'), inFlight.get('x')]).toEqual([0, 2, undefined]);
  expect([inFlight.has('b'), inFlight.has('x')]).toEqual([true, false]);
  expect(inFlight.keys()).toEqual(['a', 'b', 'c']);
  expect(inFlight.values()).toEqual([0, 1, 2]);
  expect(inFlight.oldest).toMatchObject({ key: 'a', value: 0 });
});

test.each([
  ['the oldest entry', 'a', ['b', 'c']],
  ['the newest entry', 'c', ['a', 'b']],
  ['an entry in between', 'b', ['a', 'c']],
])('H-4: %s can be deleted', (_which, key, left) => {
  const inFlight = filled('a', 'b', 'c');
  expect(inFlight.delete(key)).toBe(true);
  expect(inFlight.delete(key)).toBe(false);
  expect(inFlight.keys()).toEqual(left);
  expect(inFlight.size).toBe(2);
  expect(inFlight.oldest?.key).toBe(left[0]);
  inFlight.add(key, 9);
  expect(inFlight.keys()).toEqual([...left, key]);
  expect(inFlight.get(key)).toBe(9);
});

test('H-4: it can become empty by deleting or clearing, and be filled again', () => {
  const inFlight = filled('a', 'b');
  for (const key of inFlight.keys()) inFlight.delete(key);
  expect([inFlight.size, inFlight.oldest, inFlight.values()]).toEqual([0, undefined, []]);
  inFlight.add('c', 1);
  inFlight.clear();
  expect([inFlight.size, inFlight.has('c'), inFlight.keys()]).toEqual([0, false, []]);
  inFlight.add('d', 2);
  expect(inFlight.keys()).toEqual(['d']);
});

test.each([1, 2, 3, 4, 5])('H-4: each of %i keys is found, and no other key', (count) => {
  const keys = Array.from({ length: count }, (_, index) => `k${index}`);
  const inFlight = filled(...keys);
  expect(keys.map((key) => inFlight.get(key))).toEqual(keys.map((_, index) => index));
  expect(inFlight.get('x')).toBeUndefined();
});

test('D-5: findOldest stops at the first entry that is not a candidate', () => {
  const inFlight = filled('a', 'b', 'c');
  expect(
    inFlight.findOldest(
      (value) => value < 2,
      (value) => value > 0,
    ),
  ).toBe(1);
  expect(
    inFlight.findOldest(
      (value) => value < 1,
      (value) => value > 0,
    ),
  ).toBeUndefined();
});
