/**
 * JSON whose errors have a position. The messages of `JSON.parse` do not always contain one, and some quote the text
 * around the error, which may be a secret.
 */

import { getNodeValue, type ParseError, type ParseOptions, parseTree, printParseErrorCode, visit } from 'jsonc-parser';

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

export const parseJson = (text: string): unknown => parse(text, { disallowComments: true });

/** JSON as editors write it: with comments, and with a comma after the last element. */
export const parseJsonWithComments = (text: string): unknown => parse(text, { allowTrailingComma: true });

function parse(source: string, options: ParseOptions): unknown {
  const text = source.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch {
    // This error must not become the `cause` of ours: a logger would print the text that it quotes.
  }
  try {
    const errors: ParseError[] = [];
    const tree = parseTree(text, errors, options);
    // Unlike the library's `parse`, `getNodeValue` keeps a key named `__proto__` as a key.
    if (tree !== undefined && errors.length === 0) return getNodeValue(tree);
    throwFirstError(text, options);
  } catch (error) {
    // The library is recursive.
    if (error instanceof RangeError) throw new JsonError(text, 0, 'nested too deeply');
    throw error;
  }
}

const KEY = 'a key in double quotes';
const VALUE = 'a value';

const MALFORMED: Readonly<Record<string, string>> = {
  UnexpectedEndOfString: 'a well-formed string',
  InvalidUnicode: 'a well-formed string',
  InvalidEscapeCharacter: 'a well-formed string',
  InvalidCharacter: 'a well-formed string',
  UnexpectedEndOfNumber: 'a well-formed number',
};

/** The library says where the first error is; the tokens before it say what is expected there. */
function throwFirstError(text: string, options: ParseOptions): void {
  const open: ('}' | ']')[] = [];
  let expected = VALUE;
  let comma: number | undefined;
  const expect = (what: string, commaAt?: number): void => {
    expected = what;
    comma = commaAt;
  };
  const expectNext = (): void => {
    const closing = open.at(-1);
    expect(closing === undefined ? 'the end of the file' : `',' or '${closing}'`);
  };
  const begin = (closing: '}' | ']', first: string): void => {
    open.push(closing);
    expect(first);
  };
  const end = (offset: number): void => {
    // Also called at the end of the text, before the error that the bracket is missing.
    if (offset === text.length) return;
    open.pop();
    expectNext();
  };
  visit(
    text,
    {
      onObjectBegin: () => begin('}', KEY),
      onObjectEnd: end,
      onArrayBegin: () => begin(']', VALUE),
      onArrayEnd: end,
      onObjectProperty: () => expect("':'"),
      onLiteralValue: expectNext,
      onSeparator: (separator, offset) => {
        if (separator === ':') expect(VALUE);
        else expect(open.at(-1) === '}' ? KEY : VALUE, offset);
      },
      onError: (code, offset) => {
        const next = text[offset] ?? '';
        if (comma !== undefined && /[}\]]/.test(next)) {
          throw new JsonError(text, comma, `a comma before '${next}': remove it`);
        }
        const wanted = MALFORMED[printParseErrorCode(code)] ?? expected;
        throw new JsonError(text, offset, commentAt(text, offset) ?? `expected ${wanted}`);
      },
    },
    options,
  );
}

function commentAt(text: string, offset: number): string | undefined {
  if (!/^\/[/*]/.test(text.slice(offset, offset + 2))) return undefined;
  const unclosed = text[offset + 1] === '*' && !text.includes('*/', offset + 2);
  return unclosed ? "a comment without its end: expected '*/'" : 'a comment, which JSON does not have: remove it';
}
