import { systemClock, type Clock } from '../../lib/clock.ts';

/** Smaller messages are not counted, so that honest servers keep working while hostile ones use up the room. */
const SMALL = 256 * 1024;
/** How many of the largest messages fit into the room. */
const LARGEST_AT_ONCE = 8;
/** How long streams wait for room that none of the others frees. */
const STALLED_MS = 30_000;

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
 * The memory for the large messages of all servers. When there is too little, streams wait, except for the one whose message was
 * begun first, and the server that takes most of it gives way to others: one that never finishes its messages must not keep others
 * from sending theirs.
 */
class Room {
  readonly #bytes: number;
  readonly #clock: Clock;
  /** Servers whose large messages are being received. */
  readonly #receiving = new Set<MessageLimit>();
  /** The size of the messages that are complete, and are being parsed or wait for that. */
  #handling = 0;
  readonly #waiting = new Set<MessageCounter>();
  #stopTimer: (() => void) | undefined;

  constructor(messageBytes = DEFAULT_MESSAGE_BYTES, clock = systemClock) {
    this.#bytes = LARGEST_AT_ONCE * messageBytes;
    this.#clock = clock;
  }

  get crowded(): string {
    return `too large while other large messages are received (${LARGEST_AT_ONCE} × limits.messageBytes = ${this.#bytes} together); try again`;
  }

  /** More of a message has arrived. */
  grown(counter: MessageCounter): void {
    const { limit } = counter;
    this.#receiving.add(limit);
    while (this.#received > this.#bytes) {
      const largest = maxBy(this.#receiving, ({ reserved }) => reserved);
      if (largest === undefined || largest.reserved <= limit.reserved) break;
      maxBy(largest.receiving, ({ reserved }) => reserved)?.revoke();
    }
    if (this.#mayContinue(counter)) return;
    this.#waiting.add(counter);
    counter.stream.pause();
    this.#startTimer();
  }

  /** A message is complete, or has been dropped. */
  ended(counter: MessageCounter): void {
    if (counter.limit.receiving.size === 0) this.#receiving.delete(counter.limit);
    // There may be another message on its stream.
    if (this.#waiting.delete(counter)) counter.stream.resume();
    this.#freed();
  }

  /** Counts a complete message until the returned function is called. */
  handling(bytes: number): () => void {
    this.#handling += bytes;
    return () => {
      this.#handling -= bytes;
      this.#freed();
    };
  }

  get #received(): number {
    let total = 0;
    for (const { reserved } of this.#receiving) total += reserved;
    return total;
  }

  #mayContinue(counter: MessageCounter): boolean {
    if (this.#received + this.#handling <= this.#bytes) return true;
    // What is complete will be handled for certain; of the rest, something must be completed.
    return this.#handling === 0 && counter.limit.oldest === counter;
  }

  #freed(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (const counter of this.#waiting) {
      if (!this.#mayContinue(counter)) continue;
      this.#waiting.delete(counter);
      counter.stream.resume();
    }
    if (this.#waiting.size > 0) this.#startTimer();
  }

  /** The message that the others wait for does not end: it gives way. */
  #startTimer(): void {
    this.#stopTimer ??= this.#clock.after(
      STALLED_MS,
      () => {
        this.#stopTimer = undefined;
        maxBy(this.#receiving, ({ reserved }) => reserved)?.oldest?.revoke();
      },
      { unref: true },
    );
  }
}

/** The limit of one server. */
export class MessageLimit {
  readonly bytes: number;
  /** Its large messages. The one that was begun first comes first. */
  readonly receiving = new Set<MessageCounter>();
  /** The size of these. */
  reserved = 0;
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

  get oldest(): MessageCounter | undefined {
    return this.receiving.values().next().value;
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
  #mistake = '';

  constructor(limit: MessageLimit, stream: Pausable, onRevoked: () => void) {
    this.limit = limit;
    this.stream = stream;
    this.#onRevoked = onRevoked;
  }

  get reserved(): number {
    return this.#reserved;
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
    this.limit.reserved += this.#size - this.#reserved;
    this.#reserved = this.#size;
    this.limit.receiving.add(this);
    this.limit.room.grown(this);
    return true;
  }

  /** The message is complete, or has been dropped. */
  reset(): void {
    this.#size = 0;
    if (this.#reserved === 0) return;
    this.limit.reserved -= this.#reserved;
    this.#reserved = 0;
    this.limit.receiving.delete(this);
    this.limit.room.ended(this);
  }

  revoke(): void {
    this.#mistake = this.limit.room.crowded;
    this.#onRevoked();
    this.reset();
  }
}

function maxBy<T>(items: Iterable<T>, size: (item: T) => number): T | undefined {
  let largest: T | undefined;
  for (const item of items) {
    if (largest === undefined || size(item) > size(largest)) largest = item;
  }
  return largest;
}
