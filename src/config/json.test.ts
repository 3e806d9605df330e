import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { JsonError, parseJson, parseJsonWithComments } from './json.ts';

function errorOf(parse: (text: string) => unknown, text: string): string {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof JsonError) return `${error.line}:${error.column} ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('parseJson', () => {
  it('reads JSON, also with a byte order mark', () => {
    expect(parseJson('\uFEFF{"a": [1, "ü", null]}')).toEqual({ a: [1, 'ü', null] });
  });

  it.each([
    ['', '1:1 expected a value'],
    ['{', '1:2 expected a key in double quotes'],
    ['{"a": 1', "1:8 expected ',' or '}'"],
    ['{\n  "a": 1,\n}', "2:9 a comma before '}': remove it"],
    ['{\n  a: 1}', '2:3 expected a key in double quotes'],
    ['[1, 2,]', "1:6 a comma before ']': remove it"],
    ['[1 2]', "1:4 expected ',' or ']'"],
    ['{"a" 1}', "1:6 expected ':'"],
    ['{"a": "x\ny"}', '1:7 expected a well-formed string'],
    ['{"a": "\\x"}', '1:7 expected a well-formed string'],
    ['{"a": tru}', '1:7 expected a value'],
    ['{"a": 01}', "1:8 expected ',' or '}'"],
    ['{} // no', '1:4 a comment, which JSON does not have: remove it'],
    ['/* no */\n{}', '1:1 a comment, which JSON does not have: remove it'],
    ['{"a": 1, /* no\n}', "1:10 a comment without its end: expected '*/'"],
    ['{"a": http://x}', '1:7 expected a value'],
    ['{"🗝️": [[], {}], x}', '1:19 expected a key in double quotes'],
    ['{"del\u007f\u0085": 1, x}', '1:14 expected a key in double quotes'],
    ['{"a": 1.}', '1:7 expected a well-formed number'],
    ['{"a" x}', "1:6 expected ':'"],
    ['{"a": 1 x}', "1:9 expected ',' or '}'"],
    ['{} x', '1:4 expected the end of the file'],
    ['['.repeat(100_000), '1:1 nested too deeply'],
  ])('X-4: reports the position and the mistake: %j', (text, mistake) => {
    expect(errorOf(parseJson, text)).toBe(mistake);
  });

  it('X-4: never quotes the text in errors', () => {
    try {
      parseJson('{"token": hunter2hunter2}');
      expect.unreachable();
    } catch (error) {
      expect(inspect(error)).toContain('expected a value');
      expect(inspect(error)).not.toContain('hunter2');
    }
  });
});

describe('parseJsonWithComments', () => {
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
  ])('X-4: accepts comments and trailing commas: %j', (text, value) => {
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
  ])('X-4: reports other mistakes with their position: %j', (text, mistake) => {
    expect(errorOf(parseJsonWithComments, text)).toBe(mistake);
  });

  it('X-4: reads plain JSON like JSON.parse, and reads a long text', () => {
    const text = JSON.stringify({ a: `"//${'\\'.repeat(1000)}`, b: ['/*', '*/', ',]'] }, null, 2);
    expect(parseJsonWithComments(text)).toEqual(JSON.parse(text));
    const long = `["${'x'.repeat(1_000_000)}", // ${'y'.repeat(1_000_000)}\n]`;
    expect(parseJsonWithComments(long)).toEqual(['x'.repeat(1_000_000)]);
  });

  it('X-4: a key named __proto__ stays a plain key, also in a text with comments', () => {
    const value = parseJsonWithComments('{"__proto__": {"a": 1}, /* b */}');
    expect(Object.entries(value as object)).toEqual([['__proto__', expect.objectContaining({ a: 1 })]]);
  });
});
