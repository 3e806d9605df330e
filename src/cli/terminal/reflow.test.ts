import { expect, test } from 'vitest';
import { readingWidth, reflow } from './reflow.ts';

test('L-3: paragraphs are joined and wrapped again', () => {
  expect(reflow('one two\nthree four five\n\nsix', 14)).toBe('one two three\nfour five\n\nsix');
});

test('L-3: the last column of a row is wrapped within its column, or below the row if the column is too narrow', () => {
  const row = '  --port N  MEANWHILE_PORT  the port to listen on; 0 takes any free one\n';
  expect(reflow(row, 60)).toBe(
    '  --port N  MEANWHILE_PORT  the port to listen on; 0 takes\n                            any free one\n',
  );
  expect(reflow(row, 40)).toBe(
    '  --port N  MEANWHILE_PORT\n      the port to listen on; 0 takes any\n      free one\n',
  );
});

test('L-3: lines that are indented further are joined to their row', () => {
  expect(reflow('Flags\n  -a   first\n       second\n  -b   other', 80)).toBe(
    'Flags\n  -a   first second\n  -b   other',
  );
});

test('L-3: help is as wide as the terminal, at most 100 columns, and 80 columns in a pipe', () => {
  expect([{ isTTY: true, columns: 40 }, { isTTY: true, columns: 300 }, {}].map(readingWidth)).toEqual([40, 100, 80]);
});
