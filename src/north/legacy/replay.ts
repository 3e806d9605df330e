import { randomBytes } from 'node:crypto';

interface Kept {
  id: string;
  streamId: string;
  number: number;
  data: string;
}

const MAX_EVENTS = 1000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * What was sent on the streams of one session, for a client whose stream broke: it names the last event it saw and gets
 * the rest of that stream. This is about a broken wire and knows nothing of which application events were delivered.
 */
export class ReplayBuffer {
  #kept: Kept[] = [];
  #characters = 0;
  #count = 0;
  #streams = 0;
  /** By it an id is known as one of this session, also when what it names is not kept any more. */
  readonly #prefix = `${randomBytes(9).toString('base64url')}.`;

  newStreamId(): string {
    this.#streams += 1;
    return `${this.#prefix}${this.#streams}`;
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
