import { expect, test } from 'vitest';
import { escapeControls } from './escape-controls.ts';
import { clean, cleanLine } from './clean.ts';

const ESC = '\u001B';

test.each([
  ['plain', 'plain'],
  ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
  ['grüße 你好 👩‍👩‍👧', 'grüße 你好 👩‍👩‍👧'],
  [`${ESC}[31mred${ESC}[0m`, 'red'],
  [`${ESC}[2J${ESC}[Hgone`, 'gone'],
  [`${ESC}]8;;http://evil.example${ESC}\\link${ESC}]8;;${ESC}\\`, 'link'],
  [`${ESC}]0;title\u0007text`, 'text'],
  [`${ESC}[2J${ESC}[Hseen\u0007${ESC}]0;unseen\u0007 too`, 'seen too'],
  [`${ESC}]0;no end`, '0;no end'],
  [`${ESC}(Bcharset${ESC}c`, 'charset'],
  ['first\rsecond', 'first\nsecond'],
  ['windows\r\nlines', 'windows\nlines'],
  ['back\b\b\bspace\u0000\u007F', 'backspace'],
  ['c1\u009B31mtext\u0085', 'c1text'],
  ['abc\u202Egnp.exe\u2066', 'abcgnp.exe'],
])('C-3: control sequences are removed from text for the terminal: %j', (dirty, expected) => {
  expect(clean(dirty)).toBe(expected);
});

test('C-3: removing escape sequences does not create new ones', () => {
  expect(clean(`${ESC}${ESC}[31m[2Jx`)).not.toContain(ESC);
  expect(clean(`${ESC}P1$r${ESC}\\x`)).not.toContain(ESC);
});

test('C-3: text for one line has no line breaks', () => {
  expect(cleanLine('  a\n\n b\t c ')).toBe('a b c');
});

test('C-3: JSON for a terminal is the same document with escaped control characters', () => {
  const document = { text: `${ESC}[2J\u009B31m\u007F\u202E\n\t` };
  const shown = escapeControls(JSON.stringify(document, null, 2));
  expect(JSON.parse(shown)).toEqual(document);
  expect(clean(shown)).toBe(shown);
});
