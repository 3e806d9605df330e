/**
 * JSON whose errors have a position. The messages of `JSON.parse` do not always contain one, and some quote the text
 * around the error, which may be a secret.
 */

import {
  getLocation,
  type Location,
  getNodeValue,
  type ParseError,
  type ParseOptions,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { parseExact } from '../lib/exact-json.ts';

export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly line: number;
  readonly column: number;

  constructor(text: string, offset: number, message: string) {
    super(message);
    const before = text.slice(0, offset).split('\n');
    this.line = before.length;
    this.column = (before.at(-1) ?? '').length + 1;
  }
}

/** Integers of any length are exact. */
export const parseJson = (text: string): unknown => parse(text, { disallowComments: true }, parseExact);

/** JSON as editors write it: with comments, and with a comma after the last element. */
export const parseJsonWithComments = (text: string): unknown => parse(text, { allowTrailingComma: true });

/** JSON with just these liberties. */
export const parseJsonAs = (text: string, options: ParseOptions): unknown => parse(text, options);

function parse(source: string, options: ParseOptions, valid: (text: string) => unknown = JSON.parse): unknown {
  const text = source.replace(/^\uFEFF/, '');
  try {
    return valid(text);
  } catch {
    // This error must not become the `cause` of ours: a logger would print the text that it quotes.
  }
  try {
    const errors: ParseError[] = [];
    const tree = parseTree(text, errors, options);
    // Unlike the library's `parse`, `getNodeValue` keeps a key named `__proto__` as a key.
    if (tree !== undefined && errors.length === 0) return getNodeValue(tree);
    throw firstError(text, errors);
  } catch (error) {
    // The library is recursive.
    if (error instanceof RangeError) throw new JsonError(text, 0, 'nested too deeply');
    throw error;
  }
}

/** By the code of the library; other codes depend on the place. */
const EXPECTED = new Map([
  ['UnexpectedEndOfString', 'a well-formed string'],
  ['InvalidUnicode', 'a well-formed string'],
  ['InvalidEscapeCharacter', 'a well-formed string'],
  ['InvalidCharacter', 'a well-formed string'],
  ['UnexpectedEndOfNumber', 'a well-formed number'],
  ['ColonExpected', "':'"],
]);

function firstError(text: string, errors: readonly ParseError[]): JsonError {
  const offset = errors[0]?.offset ?? 0;
  const comma = /,\s*$/.exec(text.slice(0, offset));
  const next = text[offset] ?? '';
  if (comma !== null && /[}\]]/.test(next)) {
    return new JsonError(text, comma.index, `a comma before '${next}': remove it`);
  }
  // For an unknown word, the next error says what is expected in its place.
  const code = errors.map(({ error }) => printParseErrorCode(error)).find((each) => each !== 'InvalidSymbol') ?? '';
  const expected = EXPECTED.get(code) ?? expectedAt(getLocation(text, offset), code);
  return new JsonError(text, offset, commentAt(text, offset) ?? `expected ${expected}`);
}

function expectedAt({ path, isAtPropertyKey }: Location, code: string): string {
  const last = path.at(-1);
  if (isAtPropertyKey && last !== undefined) return 'a key in double quotes';
  if (code === 'ValueExpected') return 'a value';
  if (last === undefined) return 'the end of the file';
  return typeof last === 'number' ? "',' or ']'" : "',' or '}'";
}

function commentAt(text: string, offset: number): string | undefined {
  if (!/^\/[/*]/.test(text.slice(offset, offset + 2))) return undefined;
  const unclosed = text[offset + 1] === '*' && !text.includes('*/', offset + 2);
  return unclosed ? "a comment without its end: expected '*/'" : 'a comment, which JSON does not have: remove it';
}
