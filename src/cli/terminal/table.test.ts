import { expect, test } from 'vitest';
import { table } from './table.ts';

test('C-3: columns stand below each other, whatever is in them', () => {
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
