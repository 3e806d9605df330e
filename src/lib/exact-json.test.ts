import { expect, test } from 'vitest';
import {
  exactNumber,
  isBigNumber,
  nearestNumber,
  parseExact,
  plainText,
  stringifyExact,
  withNearestNumbers,
} from './exact-json.ts';

const BIG = '9007199254740993';

test.each([
  BIG,
  `-${BIG}`,
  `[${BIG}]`,
  `{"a":${BIG},"b":[1,${BIG},{"c":-${BIG}}]}`,
  '100000000000000000000000000001',
  '{"a":12345678901234567890123456789012345678901234567890}',
  `{"a":"${BIG}","b":${BIG}}`,
  `{"a":"\\"${BIG}","b":"\\\\","c":${BIG},"${BIG}":"${BIG}\\\\\\""}`,
  `{"text":"é🎉 ${BIG}","n":${BIG}}`,
  '{"a":9007199254740991,"b":0.1,"c":1e+300,"d":true,"e":null,"f":"x"}',
  '""',
])('M-7: %s is the same after it is parsed and written', (json) => {
  expect(stringifyExact(parseExact(json))).toBe(json);
});

test.each(Array.from({ length: 40 }, (_, index) => index))(
  'M-7: a large number is found after %i characters',
  (before) => {
    const json = `{"${'x'.repeat(before)}":${BIG}}`;
    expect(stringifyExact(parseExact(json))).toBe(json);
  },
);

test('M-7: a number that a JavaScript number can hold stays a number', () => {
  for (const number of [
    9007199254740991, -9007199254740991, 1e16, 9007199254740992, 1234567890123456, 0.1234567890123456,
  ])
    expect(parseExact(`{"n":${number}}`)).toEqual({ n: number });
  for (const text of [
    '1.0000000000000000',
    '9007199254740993.5',
    '9007199254740993e2',
    '0.12345678901234567890',
    '1e-9007199254740993',
  ])
    expect(parseExact(text)).toBe(Number(text));
});

test('M-7: digits in a string stay a string', () => {
  const value = { id: '20260728123456789012', nested: [`"${BIG}"`] };
  expect(parseExact(JSON.stringify(value))).toEqual(value);
});

test('M-7: invalid JSON with many digits is refused', () => {
  for (const text of [`{${BIG}:1}`, `{"a":${BIG}`, `"${BIG}`, `0${BIG}`, `${BIG}-`, '', `{"a":"${BIG}\\"}`])
    expect(() => parseExact(text)).toThrow(SyntaxError);
});

test('M-7: a large number differs from a string, can be compared, and is readable in messages', () => {
  const { n, again, text } = parseExact(`{"n":${BIG},"again":${BIG},"text":"${BIG}"}`) as Record<string, unknown>;
  expect(n).toBe(again);
  expect(isBigNumber(n)).toBe(true);
  expect(isBigNumber(text)).toBe(false);
  expect(n).toBe(exactNumber(BIG));
  expect(exactNumber('12')).toBe(12);
  expect(plainText(`got ${String(n)}`)).toBe(`got ${BIG}`);
  expect(stringifyExact({ error: `got ${String(n)}` })).toBe(`{"error":"got ${BIG}"}`);
  expect(stringifyExact({ text: stringifyExact({ n }) })).toBe(`{"text":"{\\"n\\":${BIG}}"}`);
  expect(nearestNumber(exactNumber(BIG))).toBe(9007199254740992);
  expect(nearestNumber(3)).toBe(3);
  expect(nearestNumber(BIG)).toBeUndefined();
});

test('M-7: a large number as a key becomes a string', () => {
  const n = String(exactNumber(BIG));
  expect(stringifyExact({ [n]: exactNumber(BIG) })).toBe(`{"${BIG}":${BIG}}`);
  expect(stringifyExact({ [n]: [exactNumber(BIG)] }, 1)).toBe(`{\n "${BIG}": [\n  ${BIG}\n ]\n}`);
});

test('M-7: withNearestNumbers converts large numbers to the nearest JavaScript numbers', () => {
  const value = parseExact(`{"a":[${BIG}],"b":"${BIG}"}`);
  expect(withNearestNumbers(value)).toEqual({ a: [9007199254740992], b: BIG });
  const small = { a: 1 };
  expect(withNearestNumbers(small)).toBe(small);
});

test('M-7: a large result with many quotes and backslashes stays the same', () => {
  const value = { parts: Array.from({ length: 1000 }, (_, index) => ({ index, text: '\\"'.repeat(500) })), hash: BIG };
  const json = JSON.stringify(value).replace(`"${BIG}"`, BIG);
  expect(stringifyExact(parseExact(json))).toBe(json);
});
