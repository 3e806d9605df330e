import { expect, test } from 'vitest';
import { roughSize } from './rough-size.ts';
import { shortenText, shortenValue } from './shorten.ts';

test('X-3: a long text is cut and ends with the number of missing characters', () => {
  expect(shortenText('short', 10)).toBe('short');
  expect(shortenText('x'.repeat(25), 10)).toBe(`${'x'.repeat(10)}… (15 more characters)`);
});

test('X-3: a large value is cut to its first parts', () => {
  const value = { uri: 'x:1', text: 'x'.repeat(100_000), list: Array.from({ length: 100_000 }, () => []), more: 1 };
  const short = shortenValue(value, 1000) as typeof value;
  expect(short.uri).toBe('x:1');
  expect(short.text).toContain('more characters');
  expect(roughSize(short, Infinity)).toBeLessThan(1500);
  expect(roughSize(shortenValue([value.list, value], 1000), Infinity)).toBeLessThan(1500);
  expect(shortenValue({ a: [1, 'two', null, true] }, 1000)).toEqual({ a: [1, 'two', null, true] });
});
