import { expect, test } from 'vitest';
import { isBase64 } from './base64.ts';

test.each([
  ['aGVsbG8=', true],
  ['aGVs\nbG8=\n', true],
  ['_-+/', true],
  ['', true],
  ['aGVs"bG8=', false],
  ['<svg>', false],
])('W-7: %j is Base64: %j', (text, expected) => {
  expect(isBase64(text)).toBe(expected);
});

test('W-7: a long text with many spaces is checked in less than a second', () => {
  const text = `${' '.repeat(300_000)}!`;
  const start = performance.now();
  expect(isBase64(text)).toBe(false);
  expect(performance.now() - start).toBeLessThan(1000);
});
