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
 * The messages on the streams of one session, for clients that resume a stream: they name their last event and get
 * the rest. This concerns the wire only; the delivery of session events is decided elsewhere.
 */
export class ReplayBuffer {
  #kept: Kept[] = [];
  #characters = 0;
  #count = 0;
  #streams = 0;
  /** Marks the event ids of this session, including events that are no longer kept. */
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

  /** The stream of an event and the events after it; `undefined` if the id is not ours. */
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

/** The requests that the stream of an event should answer; `undefined` if the id is not ours, even from before a restart. */
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
