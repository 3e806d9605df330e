/**
 * Canonical JSON as in RFC 8785: without white space, and with object members sorted by name.
 * Integers beyond 2^53 are written exactly.
 */

import { createHash, hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringifyExact } from './exact-json.ts';
import { roughSize } from './rough-size.ts';

/** How much is written in one turn of the event loop: about two milliseconds' worth. */
const PIECE = 256 * 1024;

export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return stringifyExact(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return `{${membersOf(value)
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
    .join(',')}}`;
}

/** `sha256:` and the digest of the canonical text. */
export function hashOf(value: unknown): string {
  return `sha256:${hash('sha256', canonicalJson(value))}`;
}

/** The same for a large value, over several turns of the event loop. */
export async function hashInTurns(value: unknown, piece = PIECE): Promise<string> {
  const digest = createHash('sha256');
  let size = 0;
  for (const text of piecesOf(value, piece)) {
    digest.update(text);
    size += text.length;
    if (size < piece) continue;
    size = 0;
    await nextTurn();
  }
  return `sha256:${digest.digest('hex')}`;
}

function* piecesOf(value: unknown, piece: number): Generator<string> {
  if (typeof value !== 'object' || value === null || roughSize(value, piece) <= piece) yield canonicalJson(value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ',';
      yield* piecesOf(item, piece);
    }
    yield value.length === 0 ? '[]' : ']';
  } else {
    for (const [index, [key, member]] of membersOf(value).entries()) {
      yield `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`;
      yield* piecesOf(member, piece);
    }
    yield membersOf(value).length === 0 ? '{}' : '}';
  }
}

/** By the UTF-16 units of their names. */
function membersOf(value: object): [string, unknown][] {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
