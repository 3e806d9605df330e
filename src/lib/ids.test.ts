import { expect, test } from 'vitest';
import { orderedId, secretId } from './ids.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const RANDOM_PART = 10;

test('T-6: ids are ULIDs', () => {
  expect(secretId()).toMatch(ULID);
  expect(orderedId()).toMatch(ULID);
});

test('T-6: ordered IDs are strictly increasing, also within a millisecond', () => {
  const ids = Array.from({ length: 5000 }, orderedId);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
});

test('T-6: secret IDs are random and do not follow from earlier ones', () => {
  const ids = Array.from({ length: 5000 }, secretId).map((id) => id.slice(RANDOM_PART));
  expect(new Set(ids).size).toBe(ids.length);
  // Every character of the random part takes every value, in every place, about as often.
  for (let place = 0; place < 16; place += 1) {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id.charAt(place), (counts.get(id.charAt(place)) ?? 0) + 1);
    expect(counts.size).toBe(32);
    for (const count of counts.values()) expect(count).toBeGreaterThan(5000 / 32 / 3);
  }
});
