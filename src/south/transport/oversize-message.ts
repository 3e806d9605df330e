import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { copyOf } from '../../lib/shorten.ts';
import { isObject } from '../../lib/values.ts';
import { parseExact } from '../../lib/exact-json.ts';
import type { ServerTransport } from './transport.ts';

/** How much is kept of both ends of a message that is too large: enough for its id and method. */
const KEPT = 1024;

/** A message that was too large: its beginning and its end. */
export class OversizeMessage {
  readonly #start: string;
  #end = '';
  /** Why it was not accepted. */
  readonly mistake: string;

  /** `pieces`: everything that has arrived so far. */
  constructor(pieces: readonly (string | Buffer)[], mistake: string) {
    this.mistake = mistake;
    let start = '';
    for (const piece of pieces) {
      start += startOf(piece);
      if (start.length >= KEPT) break;
    }
    this.#start = copyOf(start.slice(0, KEPT));
    // The last piece may be too short to hold the end by itself.
    for (let last = pieces.length - 1; last >= 0 && this.#end.length < KEPT; last -= 1) {
      this.#end = copyOf((endOf(pieces[last] ?? '') + this.#end).slice(-KEPT));
    }
  }

  append(piece: string | Buffer): void {
    this.#end = copyOf((this.#end + endOf(piece)).slice(-KEPT));
  }

  /** Its id and type, if they can be read: serializers write the short members before or after the long one. */
  about(): { id?: string | number; isRequest: boolean } {
    const { id, method } = { ...membersOf(FIRST.exec(this.#start)), ...membersOf(LAST.exec(this.#end)) };
    const named = typeof id === 'string' || typeof id === 'number' ? { id } : {};
    return { ...named, isRequest: typeof method === 'string' };
  }
}

function startOf(piece: string | Buffer): string {
  return typeof piece === 'string' ? piece.slice(0, KEPT) : piece.toString('utf8', 0, KEPT);
}

function endOf(piece: string | Buffer): string {
  return typeof piece === 'string' ? piece.slice(-KEPT) : piece.toString('utf8', Math.max(0, piece.length - KEPT));
}

const MEMBER = String.raw`"(?:jsonrpc|id|method)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d+)\s*`;
const FIRST = new RegExp(String.raw`^\s*\{\s*((?:${MEMBER},\s*)+)`);
const LAST = new RegExp(String.raw`((?:,\s*${MEMBER})+)\}\s*$`);

function membersOf(found: RegExpExecArray | null): Record<string, unknown> {
  const text = found?.[1]?.trim().replace(/^,|,$/g, '');
  if (text === undefined) return {};
  try {
    const members: unknown = parseExact(`{${text}}`);
    return isObject(members) ? members : {};
  } catch {
    // Not JSON: the id cannot be read.
    return {};
  }
}

/**
 * Handles a message of a server that was too large to be read: a response fails its request, a request is refused, and
 * anything else is dropped.
 */
export function handleOversize(
  message: OversizeMessage,
  transport: Pick<ServerTransport, 'onmessage' | 'onerror' | 'send'>,
): void {
  const { id, isRequest } = message.about();
  const report = (error: Error): void => transport.onerror?.(error);
  if (id === undefined) report(new Error(`dropped a message that is ${message.mistake}`));
  else if (isRequest) transport.send(tooLarge(id, `the request is ${message.mistake}`)).catch(report);
  else transport.onmessage?.(tooLarge(id, `the server's answer is ${message.mistake}`), 'any');
}

function tooLarge(id: string | number, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: -32600, message } };
}
