import { expect, it } from 'vitest';
import { blankOut, parseJsonWithComments } from './comments.ts';
import { JsonError } from './json.ts';

it.each<[string, unknown]>([
  ['// first\n{"a": 1} // last', { a: 1 }],
  ['\uFEFF{"a": 1, // one\r\n "b": 2}', { a: 1, b: 2 }],
  ['{/* a\n * b */"a"/**/:/* ] */1}', { a: 1 }],
  ['{"a": [1, 2,], "b": {"c": "d",},}', { a: [1, 2], b: { c: 'd' } }],
  ['{"a": [{},\n // "x",\n ], "b": true, /* , */ }', { a: [{}], b: true }],
  [
    '{"url": "https://x//y", "glob": "/* */,}", "q": "\\"// ,]"}',
    { url: 'https://x//y', glob: '/* */,}', q: '"// ,]' },
  ],
  ['["\\\\", // "\n]', ['\\']],
])('X-4: comments and a last comma are no mistake: %j', (text, value) => {
  expect(parseJsonWithComments(text)).toEqual(value);
});

it.each([
  ['{\n  // a\n  "b": 1 2}', "3:10 expected ',' or '}'"],
  ['{ /* a\nb */ c}', '2:6 expected a key in double quotes'],
  ['{"a": [1,],\n "b": tru}', '2:7 expected a value'],
  ['[,]', '1:2 expected a value'],
  ['{,}', '1:2 expected a key in double quotes'],
  ['[1,,]', '1:4 expected a value'],
  ['{"a":,}', '1:6 expected a value'],
  ['{"a": 1,', '1:9 expected a key in double quotes'],
  ['{"a": "x // y\n}', '1:7 expected a well-formed string'],
  ['{"a": http://x/,}', '1:7 expected a value'],
  ['{"a": 1} /* b', "1:10 a comment without its end: expected '*/'"],
  ['{"a": /}', '1:7 expected a value'],
])('X-4: other mistakes keep their place: %j', (text, mistake) => {
  try {
    parseJsonWithComments(text);
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    expect(`${error.line}:${error.column} ${error.message}`).toBe(mistake);
  }
});

it('X-4: what is plain JSON stays as it is, and a long text takes no longer than it should', () => {
  const text = JSON.stringify({ a: `"//${'\\'.repeat(1000)}`, b: ['/*', '*/', ',]'] }, null, 2);
  expect(blankOut(text)).toBe(text);
  const long = `["${'x'.repeat(1_000_000)}", // ${'y'.repeat(1_000_000)}\n]`;
  expect(parseJsonWithComments(long)).toEqual(['x'.repeat(1_000_000)]);
});
