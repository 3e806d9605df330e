import { expect, test } from 'vitest';
import { displayWidth, fit, pad, table, wrap } from './layout.ts';

test.each([
  ['', 0],
  ['abc', 3],
  ['grüße', 5],
  ['e\u0301', 1],
  ['你好', 4],
  ['👩‍👩‍👧', 2],
  ['✓', 1],
  ['1️⃣', 2],
  ['\u1100\u1161', 2],
  ['\u200B', 0],
])('C-3: the width of %j is %i', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('C-3: text that does not fit is truncated', () => {
  expect(fit('abcdef', 6)).toBe('abcdef');
  expect(fit('abcdef', 5)).toBe('abcd…');
  expect(fit('你好吗', 4)).toBe('你…');
  expect(fit('abc', 0)).toBe('');
  expect(pad('你', 4)).toBe('你  ');
  expect(pad('abc', 2)).toBe('abc');
});

test('C-3: text is wrapped between words', () => {
  expect(wrap('a short text to break', 10)).toEqual(['a short', 'text to', 'break']);
  expect(wrap('unbreakable', 5)).toEqual(['unbreakable']);
  expect(wrap('', 5)).toEqual(['']);
});

test('C-3: columns of a table are aligned, also with wide characters', () => {
  expect(
    table([
      ['a', 'first'],
      ['你好', 'second', 'third'],
      ['none', ''],
    ]),
  ).toBe('a     first\n你好  second  third\nnone');
  expect(table([['name', 'a long description']], 12)).toBe('name  a lon…');
  expect(table([])).toBe('');
});
