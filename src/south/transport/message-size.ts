import { systemClock, type Clock } from '../../lib/clock.ts';
import { every } from '../../lib/timers.ts';

/** Smaller messages are not counted, so that honest servers keep working while hostile ones use up the room. */
const SMALL = 256 * 1024;
/** How many of the largest messages fit into the room. */
const LARGEST_AT_ONCE = 8;
/** While streams wait, each message that does not must grow by this much in this time. */
const MIN_GROWTH = 512 * 1024;
const STALLED_MS = 15_000;
/** What a stream brings when it is read again. */
const PIECE = 64 * 1024;

const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A stream that messages are read from. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/** The limits of all servers: how large one message may be, and how much memory the large messages of all of them may take. */
export class MessageLimits {
  readonly #bytes: number | undefined;
  readonly #room: Room;
  readonly #ofServers = new WeakMap<object, MessageLimit>();

  constructor(bytes?: number, clock?: Clock) {
    this.#bytes = bytes;
    this.#room = new Room(bytes, clock);
  }

  /** All connections to a server share one limit. */
  of(server: object): MessageLimit {
    const limit = this.#ofServers.get(server) ?? new MessageLimit(this.#bytes, this.#room);
    this.#ofServers.set(server, limit);
    return limit;
  }
}

/**
 * The memory for the large messages of all servers. When it is full, streams wait for messages to be completed and handled. To make sure
 * that some complete, the oldest message of each server continues, up to twice the memory; beyond that, only the oldest of all. A
 * message that hardly grows while others wait gives way: one that never ends must not keep others from arriving.
 */
class Room {
  readonly #bytes: number;
  readonly #clock: Clock;
  /** The large messages that are being received, in the order in which they were begun. */
  readonly #receiving = new Set<MessageCounter>();
  /** The size of these, and of complete messages that are being parsed or wait for that. */
  #taken = 0;
  #handling = 0;
  readonly #waiting = new Set<MessageCounter>();
  #stopChecks: (() => void) | undefined;

  constructor(messageBytes = DEFAULT_MESSAGE_BYTES, clock = systemClock) {
    this.#bytes = LARGEST_AT_ONCE * messageBytes;
    this.#clock = clock;
  }

  get stalled(): string {
    return `too slow while other large messages wait for memory (${LARGEST_AT_ONCE} × limits.messageBytes = ${this.#bytes} together)`;
  }

  /** More of a message has arrived. Its stream may be resumed for another reason; the next piece pauses it again. */
  grown(counter: MessageCounter, bytes: number): void {
    this.#taken += bytes;
    this.#receiving.add(counter);
    if (this.#mayContinue(counter)) return;
    this.#waiting.add(counter);
    counter.wait();
    this.#stopChecks ??= every(STALLED_MS, () => this.#check(), this.#clock);
  }

  /** A message is complete, or has been dropped. */
  ended(counter: MessageCounter, bytes: number): void {
    this.#taken -= bytes;
    this.#receiving.delete(counter);
    // There may be another message on its stream.
    if (this.#waiting.delete(counter)) counter.stream.resume();
    this.#freed();
  }

  /** Counts a complete message until the returned function is called. */
  handling(bytes: number): () => void {
    this.#taken += bytes;
    this.#handling += bytes;
    return () => {
      this.#taken -= bytes;
      this.#handling -= bytes;
      this.#freed();
    };
  }

  /** `more`: what streams that have just been resumed will bring. */
  #mayContinue(counter: MessageCounter, more = 0): boolean {
    if (this.#taken + more <= this.#bytes) return true;
    if (this.#taken <= 2 * this.#bytes) return first(counter.limit.receiving) === counter;
    // What is complete will be handled for certain; of the rest, something must be completed.
    return this.#handling === 0 && first(this.#receiving) === counter;
  }

  #freed(): void {
    let more = 0;
    for (const counter of this.#waiting) {
      if (!this.#mayContinue(counter, more)) continue;
      this.#waiting.delete(counter);
      counter.stream.resume();
      more += PIECE;
    }
    if (this.#waiting.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }

  #check(): void {
    for (const counter of this.#receiving) {
      if (this.#waiting.size === 0) return;
      if (!this.#waiting.has(counter) && !counter.hasGrown()) counter.revoke();
    }
  }
}

/** The limit of one server. */
export class MessageLimit {
  readonly bytes: number;
  /** Its large messages, in the order in which they were begun. */
  readonly receiving = new Set<MessageCounter>();
  readonly room: Room;

  constructor(bytes = DEFAULT_MESSAGE_BYTES, room = new Room(bytes)) {
    this.bytes = bytes;
    this.room = room;
  }

  /** Messages up to this size need no counter. */
  get uncounted(): number {
    return Math.min(SMALL, this.bytes);
  }

  get mistake(): string {
    return `larger than limits.messageBytes = ${this.bytes}`;
  }

  /** Counts the messages of one stream. `onRevoked`: the message gives way to others; drop it. */
  counter(stream: Pausable, onRevoked: () => void): MessageCounter {
    return new MessageCounter(this, stream, onRevoked);
  }

  /** Counts a complete message while it is handled, until the returned function is called; `undefined` for a small one. */
  handling(bytes: number): (() => void) | undefined {
    return bytes <= SMALL ? undefined : this.room.handling(bytes);
  }
}

export class MessageCounter {
  readonly limit: MessageLimit;
  readonly stream: Pausable;
  readonly #onRevoked: () => void;
  #size = 0;
  #reserved = 0;
  /** The size that it must reach by the next check. */
  #expected = 0;
  #mistake = '';

  constructor(limit: MessageLimit, stream: Pausable, onRevoked: () => void) {
    this.limit = limit;
    this.stream = stream;
    this.#onRevoked = onRevoked;
  }

  /** Why the last message was not accepted. */
  get mistake(): string {
    return this.#mistake;
  }

  /** Counts another part of the message; false if it is too large. The stream is paused if there is no room for more. */
  add(size: number): boolean {
    this.#size += size;
    if (this.#size > this.limit.bytes) {
      this.#mistake = this.limit.mistake;
      return false;
    }
    if (this.#size <= SMALL) return true;
    const more = this.#size - this.#reserved;
    this.#reserved = this.#size;
    this.limit.receiving.add(this);
    this.limit.room.grown(this, more);
    return true;
  }

  /** Pauses its stream. */
  wait(): void {
    // It must not be blamed for the pause.
    this.#expected = 0;
    this.stream.pause();
  }

  /** Whether the message has grown enough since the last time. */
  hasGrown(): boolean {
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
    this.limit.receiving.delete(this);
    this.limit.room.ended(this, reserved);
  }

  revoke(): void {
    this.#mistake = this.limit.room.stalled;
    this.#onRevoked();
    this.reset();
  }
}

function first<T>(items: Set<T>): T | undefined {
  return items.values().next().value;
}
