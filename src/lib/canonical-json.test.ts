import { describe, expect, test } from 'vitest';
import { canonicalJson, hashInTurns, hashOf } from './canonical-json.ts';
import { parseExact } from './exact-json.ts';

describe('canonical JSON', () => {
  test('G-5: equal values have the same text, regardless of the order of members', () => {
    const one = { b: [1, { d: null, c: 'x' }], a: true, '10': 1, '9': 2 };
    const other = { a: true, '9': 2, '10': 1, b: [1, { c: 'x', d: null }] };
    expect(canonicalJson(one)).toBe('{"10":1,"9":2,"a":true,"b":[1,{"c":"x","d":null}]}');
    expect(canonicalJson(other)).toBe(canonicalJson(one));
    expect(hashOf(one)).toBe(hashOf(other));
    expect(hashOf(one)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test('G-5: large integers keep their digits, and undefined members are left out', () => {
    expect(canonicalJson(parseExact('{"n":9007199254740993,"é":"\\u2028"}'))).toBe(
      '{"n":9007199254740993,"é":"\u2028"}',
    );
    expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
  });

  test('G-5: a large value has the same hash when it is hashed in pieces', async () => {
    const large = { list: Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(n) })), empty: {}, none: [] };
    expect(await hashInTurns(large, 100)).toBe(hashOf(large));
    expect(await hashInTurns({}, 0)).toBe(hashOf({}));
    expect(await hashInTurns([], 0)).toBe(hashOf([]));
  });
});
