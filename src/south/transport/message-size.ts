import type { Clock } from '../../lib/clock.ts';
import { MessageMemory, type LargeMessage } from './message-memory.ts';

/** Smaller messages are not counted, so that honest servers keep working while hostile ones use up the memory. */
const SMALL = 256 * 1024;
/** While others wait, a large message must grow by this much between two checks. */
const MIN_GROWTH = 512 * 1024;

const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A stream that messages are read from. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/** The limits of all servers: how large one message may be, and how much memory the large messages of all of them may take. */
export class MessageLimits {
  readonly #bytes: number;
  readonly #memory: MessageMemory;
  readonly #ofServers = new WeakMap<object, MessageLimit>();

  constructor(bytes = DEFAULT_MESSAGE_BYTES, clock?: Clock) {
    this.#bytes = bytes;
    this.#memory = new MessageMemory(bytes, clock);
  }

  /** All connections to a server share one limit. */
  of(server: object): MessageLimit {
    const limit = this.#ofServers.get(server) ?? new MessageLimit(this.#bytes, this.#memory);
    this.#ofServers.set(server, limit);
    return limit;
  }
}

/** The limit of one server. */
export class MessageLimit {
  readonly bytes: number;
  /** Its large messages, in the order in which they were begun. */
  readonly receiving = new Set<LargeMessage>();
  readonly memory: MessageMemory;

  constructor(bytes = DEFAULT_MESSAGE_BYTES, memory = new MessageMemory(bytes)) {
    this.bytes = bytes;
    this.memory = memory;
  }

  /** Messages up to this size need no counter. */
  get uncounted(): number {
    return Math.min(SMALL, this.bytes);
  }

  get mistake(): string {
    return `larger than limits.messageBytes = ${this.bytes}`;
  }

  /** Counts the messages of one stream. `onRevoked`: drop the message, others need its memory. */
  counter(stream: Pausable, onRevoked: () => void): MessageCounter {
    return new MessageCounter(this, stream, onRevoked);
  }

  /** Counts a complete message while it is handled, until the returned function is called; `undefined` for a small one. */
  handling(bytes: number): (() => void) | undefined {
    return bytes <= SMALL ? undefined : this.memory.handling(bytes);
  }
}

/** Counts the size of the messages of one stream, one after the other. */
export class MessageCounter implements LargeMessage {
  readonly #limit: MessageLimit;
  readonly #stream: Pausable;
  readonly #onRevoked: () => void;
  #size = 0;
  #reserved = 0;
  /** The size that it must reach by the next check. */
  #expected = 0;
  #mistake = '';

  constructor(limit: MessageLimit, stream: Pausable, onRevoked: () => void) {
    this.#limit = limit;
    this.#stream = stream;
    this.#onRevoked = onRevoked;
  }

  /** Why the last message was not accepted. */
  get mistake(): string {
    return this.#mistake;
  }

  /** Counts another part of the message; false if it is too large. The stream is paused if there is no room for more. */
  add(size: number): boolean {
    this.#size += size;
    if (this.#size > this.#limit.bytes) {
      this.#mistake = this.#limit.mistake;
      return false;
    }
    if (this.#size <= SMALL) return true;
    const more = this.#size - this.#reserved;
    this.#reserved = this.#size;
    this.#limit.receiving.add(this);
    this.#limit.memory.grown(this, more);
    return true;
  }

  get size(): number {
    return this.#reserved;
  }

  get ofServer(): ReadonlySet<LargeMessage> {
    return this.#limit.receiving;
  }

  pause(): void {
    // While paused it cannot grow.
    this.#expected = 0;
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  grewSinceCheck(): boolean {
    const enough = this.#size >= this.#expected;
    this.#expected = this.#size + MIN_GROWTH;
    return enough;
  }

  /** The message is complete, or has been dropped. */
  reset(): void {
    this.#size = 0;
    this.#expected = 0;
    const reserved = this.#reserved;
    if (reserved === 0) return;
    this.#reserved = 0;
    this.#limit.receiving.delete(this);
    this.#limit.memory.ended(this, reserved);
  }

  revoke(): void {
    this.#mistake = this.#limit.memory.stalled;
    this.#onRevoked();
    this.reset();
  }
}
