/**
 * Results that are sent again and again as they are, such as the lists of many servers: what is made of them and their texts
 * are made once. Whoever keeps a result must not change it.
 */

import { stringifyExact } from '../lib/exact-json.ts';
import type { OutgoingMessage, Params, RequestId } from './message.ts';

/** What was made of each kept result, by who made it. */
const kept = new WeakMap<Params, Map<unknown, Params>>();

export function keep(result: Params): Params {
  if (!kept.has(result)) kept.set(result, new Map());
  return result;
}

/** What `make` makes of a result: of a kept one, once for each `by`, and kept as well. */
export function madeOf(result: Params, by: unknown, make: () => Params): Params {
  const known = kept.get(result);
  if (known === undefined) return make();
  const made = known.get(by) ?? keep(make());
  known.set(by, made);
  return made;
}

/** How much text is kept, in characters. A result of which it is not is only more work. */
const MAX_TEXT = 16_000_000;

/** Those that were used last are at the end. */
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
