/**
 * Results that are sent repeatedly, such as merged lists of many servers: derived results and their JSON
 * are computed once. Kept results must not be modified.
 */

import { stringifyExact } from '../lib/exact-json.ts';
import type { OutgoingMessage, Params, RequestId } from './message.ts';

/** Derived results of each kept result, by key. */
const kept = new WeakMap<Params, Map<unknown, Params>>();

export function keep(result: Params): Params {
  if (!kept.has(result)) kept.set(result, new Map());
  return result;
}

/** Derives a result with `make`; for a kept result, once per `by`, and the derived result is kept too. */
export function madeOf(result: Params, by: unknown, make: () => Params): Params {
  const known = kept.get(result);
  if (known === undefined) return make();
  const made = known.get(by) ?? keep(make());
  known.set(by, made);
  return made;
}

/** The limit on cached text, in characters. */
const MAX_TEXT = 16_000_000;

/** Least recently used first. */
const texts = new Map<Params, string>();
let length = 0;

export function isKept(result: Params): boolean {
  return kept.has(result);
}

export function messageText(message: OutgoingMessage): string {
  if ('resultJson' in message) return replyText(message.id, message.resultJson);
  return 'result' in message && isKept(message.result)
    ? replyText(message.id, textOf(message.result))
    : stringifyExact(message);
}

function replyText(id: RequestId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${stringifyExact(id)},"result":${resultJson}}`;
}

function textOf(result: Params): string {
  const known = texts.get(result);
  const text = known ?? stringifyExact(result);
  if (known === undefined) length += text.length;
  texts.delete(result);
  texts.set(result, text);
  for (const [oldest, its] of texts) {
    if (length <= MAX_TEXT) break;
    texts.delete(oldest);
    length -= its.length;
  }
  return text;
}
