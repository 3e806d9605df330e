import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { JsonError, parseJson } from './json.ts';

function mistakeIn(text: string): string {
  try {
    parseJson(text);
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
    ['['.repeat(100_000), '1:100001 expected a value'],
  ])('X-4: says where and what: %j', (text, mistake) => {
    expect(mistakeIn(text)).toBe(mistake);
  });

  it('X-4: never quotes the text', () => {
    try {
      parseJson('{"token": hunter2hunter2}');
      expect.unreachable();
    } catch (error) {
      expect(inspect(error)).toContain('expected a value');
      expect(inspect(error)).not.toContain('hunter2');
    }
  });
});
