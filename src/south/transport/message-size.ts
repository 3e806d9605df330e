import { isObject } from '../../lib/values.ts';
import { copyOf } from '../../lib/shorten.ts';

/** Smaller messages are not counted, so that honest servers are heard while hostile ones use up the total. */
const SMALL = 256 * 1024;
/** So many of the largest messages may be on their way at the same time. */
const LARGEST_AT_ONCE = 8;
/** How much of a message that is too large is kept at either end: enough for its id and its method. */
const KEPT = 1024;

export const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;

/** How large one message of a server may be, and all messages together that are being received. */
export class MessageLimit {
  readonly bytes: number;
  #receiving = 0;

  constructor(bytes = DEFAULT_MESSAGE_BYTES) {
    this.bytes = bytes;
  }

  get mistake(): string {
    return `larger than limits.messageBytes = ${this.bytes}`;
  }

  /** Counts the messages of one stream, one after the other. */
  counter(): MessageCounter {
    return new MessageCounter(this.bytes, (change) => {
      if (change > 0 && this.#receiving + change > LARGEST_AT_ONCE * this.bytes) return false;
      this.#receiving += change;
      return true;
    });
  }
}

export class MessageCounter {
  #size = 0;
  #reserved = 0;
  readonly #limit: number;
  readonly #reserve: (change: number) => boolean;

  constructor(limit: number, reserve: (change: number) => boolean) {
    this.#limit = limit;
    this.#reserve = reserve;
  }

  /** More of the message has come; false when that is too much. */
  add(size: number): boolean {
    this.#size += size;
    if (this.#size <= SMALL && this.#size <= this.#limit) return true;
    if (this.#size > this.#limit || !this.#reserve(this.#size - this.#reserved)) return false;
    this.#reserved = this.#size;
    return true;
  }

  /** The message is complete, or nothing of it is kept any more. */
  reset(): void {
    this.#size = 0;
    if (this.#reserved > 0) this.#reserve(-this.#reserved);
    this.#reserved = 0;
  }
}

/** A message that was too large: its beginning and its end. */
export class OversizeMessage {
  readonly #start: string;
  #end = '';

  /** With all pieces that have come so far. */
  constructor(pieces: readonly (string | Buffer)[]) {
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

  /** What can be known of it, because serializers write the short members before or after the long one. */
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
    const members: unknown = JSON.parse(`{${text}}`);
    return isObject(members) ? members : {};
  } catch {
    // A server may send anything; what is not JSON says nothing of the message.
    return {};
  }
}
