import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasManyDigits, isText, markBigNumbers, parseExact, plainText, stringifyExact } from './exact-json.ts';
import { roughSize } from './rough-size.ts';

/** How much is written in one turn: about two milliseconds' worth. */
const PIECE = 512 * 1024;

/** Longer texts are parsed in turns. */
export const LARGE_TEXT = 1024 * 1024;

export const isLarge = (text: string): boolean => text.length > LARGE_TEXT;

/** Parses a text as `parseExact` does, a large one in turns. */
export async function parseText(text: string, source: object): Promise<unknown> {
  return isLarge(text) ? parseInTurns(text, source) : parseExact(text);
}

/** Resolves when all texts in the queue have been parsed. There is at most one of each source. */
let queue: Promise<void> = Promise.resolve();
/** Resolves when all texts of the source have been parsed. */
const earlierOf = new WeakMap<object, Promise<void>>();

/**
 * Parses a large text as `parseExact` does, over several turns of the event loop: one to look for long numbers, one to parse it, and
 * another one for the caller. If it has long numbers, they are marked in pieces, and it is parsed again. Several texts are parsed one
 * after the other: at the same time, they would take their turns together. So other work waits for no longer than it takes to parse
 * one text. `source`: who sent it, for example a server. A text waits for the earlier ones of its source, and each time for at most one
 * of every other source.
 */
export function parseInTurns(text: string, source: object, piece?: number): Promise<unknown> {
  const parsed = (earlierOf.get(source) ?? Promise.resolve()).then(() => parseQueued(text, piece));
  const ended = (): void => {};
  earlierOf.set(source, parsed.then(ended, ended));
  return parsed;
}

function parseQueued(text: string, piece?: number): Promise<unknown> {
  const parsed = queue.then(() => parseNext(text, piece));
  // The caller uses it in this turn.
  const rest = (): Promise<void> => nextTurn();
  queue = parsed.then(rest, rest);
  return parsed;
}

async function parseNext(text: string, piece = PIECE): Promise<unknown> {
  const mayBeInexact = hasManyDigits(text);
  await nextTurn();
  const value: unknown = JSON.parse(text);
  await nextTurn();
  if (!mayBeInexact) return value;
  const pieces: string[] = [];
  for (const marked of markBigNumbers(text, piece)) {
    pieces.push(marked);
    await nextTurn();
  }
  const marked = pieces.join('');
  if (marked === text) return value;
  const exact: unknown = JSON.parse(marked);
  await nextTurn();
  return exact;
}

/**
 * The JSON of a large value, written over several turns of the event loop, so that other work does not have to wait for all
 * of it.
 */
export async function stringifyInTurns(value: object, piece = PIECE): Promise<string> {
  let written = '';
  let size = Infinity;
  for (const text of piecesOf(value, piece)) {
    if (size > piece) {
      await nextTurn();
      size = 0;
    }
    // V8 links the pieces, and copies them once, when the whole is needed.
    written += text;
    size += text.length;
  }
  return written;
}

function* piecesOf(value: unknown, piece: number): Generator<string> {
  if (isText(value) && value.length > piece) yield* piecesOfText(plainText(value), piece);
  else if (typeof value !== 'object' || value === null || roughSize(value, piece) <= piece) {
    yield stringifyExact(value) ?? 'null';
  } else if (Array.isArray(value)) yield* piecesOfList(value, piece);
  else yield* piecesOfObject(value, piece);
}

function* piecesOfText(text: string, piece: number): Generator<string> {
  yield '"';
  for (let from = 0; from < text.length;) {
    let to = from + piece;
    // The two halves of a character stay together.
    if (isFirstHalf(text.charCodeAt(to - 1))) to += 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function* piecesOfList(list: readonly unknown[], piece: number): Generator<string> {
  let before = '[';
  for (const group of groupsOf(list, (item) => item, piece)) {
    yield before;
    const [first] = group;
    if (group.length === 1) yield* piecesOf(first, piece);
    else yield stringifyExact(group).slice(1, -1);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function* piecesOfObject(object: object, piece: number): Generator<string> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  let before = '{';
  for (const group of groupsOf(entries, ([, value]) => value, piece)) {
    yield before;
    const [first] = group;
    if (group.length === 1 && first !== undefined) {
      yield `${JSON.stringify(first[0])}:`;
      yield* piecesOf(first[1], piece);
    } else yield stringifyExact(Object.fromEntries(group)).slice(1, -1);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

/** Groups consecutive items into pieces; an item larger than a piece is alone. */
function* groupsOf<T>(items: readonly T[], valueOf: (item: T) => unknown, piece: number): Generator<T[]> {
  let group: T[] = [];
  let size = 0;
  for (const item of items) {
    const more = roughSize(valueOf(item), piece);
    if (group.length > 0 && size + more > piece) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(item);
    size += more;
  }
  if (group.length > 0) yield group;
}
