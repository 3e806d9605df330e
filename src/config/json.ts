/**
 * JSON whose mistakes have a place. The engine's own messages do not always tell where, and some quote the text around
 * the mistake, which may be a secret.
 */

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

export function parseJson(source: string): unknown {
  const text = source.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch {
    // The engine's error is not passed on as the cause either: whoever prints causes would print what it quotes.
    const { offset, expected } = findMistake(text);
    const known = notJson(text, offset);
    throw new JsonError(text, known?.offset ?? offset, known?.message ?? `expected ${expected}`);
  }
}

/** What people write where JSON must be, because other programs take it. */
function notJson(text: string, offset: number): { offset: number; message: string } | undefined {
  if (text.startsWith('/*', offset) && !text.includes('*/', offset + 2)) {
    return { offset, message: "a comment without its end: expected '*/'" };
  }
  if (text.startsWith('//', offset) || text.startsWith('/*', offset)) {
    return { offset, message: 'a comment, which JSON does not have: remove it' };
  }
  const before = text.slice(0, offset).trimEnd();
  const closing = text[offset];
  if (!before.endsWith(',') || (closing !== '}' && closing !== ']')) return undefined;
  return { offset: before.length - 1, message: `a comma before '${closing}': remove it` };
}

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Expected = 'value' | 'first element' | 'key' | 'first key' | 'colon' | 'next';

/** Reads as far as the text is JSON. */
function findMistake(text: string): { offset: number; expected: string } {
  const open: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found !== null;
  };
  const takeChar = (char: string | undefined): boolean => {
    if (char === undefined || text[at] !== char) return false;
    at++;
    return true;
  };
  for (;;) {
    take(SPACE);
    const closing = open.at(-1);
    switch (expected) {
      case 'value':
      case 'first element':
        if (expected === 'first element' && takeChar(']')) {
          open.pop();
          expected = 'next';
        } else if (takeChar('{')) {
          open.push('}');
          expected = 'first key';
        } else if (takeChar('[')) {
          open.push(']');
          expected = 'first element';
        } else if (take(STRING) || take(SCALAR)) expected = 'next';
        else return { offset: at, expected: text[at] === '"' ? 'a well-formed string' : 'a value' };
        break;
      case 'key':
      case 'first key':
        if (expected === 'first key' && takeChar('}')) {
          open.pop();
          expected = 'next';
        } else if (take(STRING)) expected = 'colon';
        else return { offset: at, expected: 'a key in double quotes' };
        break;
      case 'colon':
        if (!takeChar(':')) return { offset: at, expected: "':'" };
        expected = 'value';
        break;
      case 'next':
        if (takeChar(closing)) open.pop();
        else if (closing !== undefined && takeChar(',')) expected = closing === '}' ? 'key' : 'value';
        else return { offset: at, expected: closing === undefined ? 'the end of the file' : `',' or '${closing}'` };
        break;
    }
  }
}
