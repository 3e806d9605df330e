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
])('M-7: %s is written as it was read', (json) => {
  expect(stringifyExact(parseExact(json))).toBe(json);
});

test.each(Array.from({ length: 40 }, (_, index) => index))(
  'M-7: a long number is found after %i characters',
  (before) => {
    const json = `{"${'x'.repeat(before)}":${BIG}}`;
    expect(stringifyExact(parseExact(json))).toBe(json);
  },
);

test('M-7: a number that a JavaScript number holds stays one', () => {
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

test('M-7: digits in a text are no number', () => {
  const value = { id: '20260728123456789012', nested: [`"${BIG}"`] };
  expect(parseExact(JSON.stringify(value))).toEqual(value);
});

test('M-7: what is not JSON is refused, with many digits too', () => {
  for (const text of [`{${BIG}:1}`, `{"a":${BIG}`, `"${BIG}`, `0${BIG}`, `${BIG}-`, '', `{"a":"${BIG}\\"}`])
    expect(() => parseExact(text)).toThrow(SyntaxError);
});

test('M-7: a big number can be told from a text, compared, and quoted to people', () => {
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

test('M-7: a big number as the key of an object becomes a text', () => {
  const n = String(exactNumber(BIG));
  expect(stringifyExact({ [n]: exactNumber(BIG) })).toBe(`{"${BIG}":${BIG}}`);
  expect(stringifyExact({ [n]: [exactNumber(BIG)] }, 1)).toBe(`{\n "${BIG}": [\n  ${BIG}\n ]\n}`);
});

test('M-7: code that knows only JavaScript numbers gets the nearest ones', () => {
  const value = parseExact(`{"a":[${BIG}],"b":"${BIG}"}`);
  expect(withNearestNumbers(value)).toEqual({ a: [9007199254740992], b: BIG });
  const small = { a: 1 };
  expect(withNearestNumbers(small)).toBe(small);
});

test('M-7: a large result with many quotes and backslashes is read in one go', () => {
  const value = { parts: Array.from({ length: 1000 }, (_, index) => ({ index, text: '\\"'.repeat(500) })), hash: BIG };
  const json = JSON.stringify(value).replace(`"${BIG}"`, BIG);
  expect(stringifyExact(parseExact(json))).toBe(json);
});
