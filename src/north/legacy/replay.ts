import { randomBytes } from 'node:crypto';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { isRequestId, type RequestId } from '../message.ts';

interface Kept {
  id: string;
  streamId: string;
  number: number;
  data: string;
}

const MAX_EVENTS = 1000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * The messages on the streams of one session, for clients that resume a stream: they name the last event they have, and get
 * the rest. This is about the wire; which events of the session were delivered is decided elsewhere.
 */
export class ReplayBuffer {
  #kept: Kept[] = [];
  #characters = 0;
  #count = 0;
  #streams = 0;
  /** Marks the ids of this session, also of events that are not kept any more. */
  readonly #prefix = `${randomBytes(9).toString('base64url')}.`;

  /** The id names the requests that the stream answers, because after a restart nothing else is known of it. */
  newStreamId(requests: RequestId[] = []): string {
    this.#streams += 1;
    const named = requests.length === 0 ? '' : `-${Buffer.from(stringifyExact(requests)).toString('base64url')}`;
    return `${this.#prefix}${this.#streams}${named}`;
  }

  add(streamId: string, data: string): string {
    this.#count += 1;
    const id = `${streamId}~${this.#count}`;
    this.#kept.push({ id, streamId, number: this.#count, data });
    this.#characters += data.length;
    while (this.#kept.length > MAX_EVENTS || (this.#characters > MAX_CHARACTERS && this.#kept.length > 1)) {
      this.#characters -= this.#kept.shift()?.data.length ?? 0;
    }
    return id;
  }

  /** The stream an event belongs to and what came after it there; `undefined` if the id is not one of ours. */
  after(eventId: string): { streamId: string; events: { id: string; data: string }[] } | undefined {
    const [streamId, count] = eventId.split('~');
    const number = Number(count);
    if (streamId === undefined || !streamId.startsWith(this.#prefix)) return undefined;
    if (!Number.isSafeInteger(number) || number < 1 || number > this.#count) return undefined;
    const events = this.#kept.filter((each) => each.streamId === streamId && each.number > number && each.data !== '');
    return { streamId, events };
  }

  get size(): number {
    return this.#kept.length;
  }
}

/** The requests that the stream of an event was to answer; `undefined` if it is no event of ours, of whichever run. */
export function requestsNamedIn(eventId: string): RequestId[] | undefined {
  const [, named] = /^[\w-]{12}\.\d+(?:-([\w-]+))?~\d+$/.exec(eventId) ?? [undefined, null];
  if (named === null) return undefined;
  if (named === undefined) return [];
  try {
    const ids: unknown = parseExact(Buffer.from(named, 'base64url').toString());
    return Array.isArray(ids) && ids.every(isRequestId) ? ids : undefined;
  } catch {
    return undefined;
  }
}
