/** Smaller messages are not counted, so that honest servers keep working while hostile ones use up the total. */
const SMALL = 256 * 1024;
/** How many of the largest messages may be received at the same time. */
const LARGEST_AT_ONCE = 8;

const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;

/** The limits of all servers: how large one message may be, and how much may be received from all of them at once. */
export class MessageLimits {
  readonly #bytes: number | undefined;
  readonly #shared = new Set<MessageLimit>();
  readonly #ofServers = new WeakMap<object, MessageLimit>();

  constructor(bytes?: number) {
    this.#bytes = bytes;
  }

  /** All connections to a server share one limit. */
  of(server: object): MessageLimit {
    const limit = this.#ofServers.get(server) ?? new MessageLimit(this.#bytes, this.#shared);
    this.#ofServers.set(server, limit);
    return limit;
  }
}

/**
 * The limit of one server. When all servers together receive too much at once, the server that takes the most room gives
 * way: one that never finishes its messages must not keep others from sending theirs.
 */
export class MessageLimit {
  readonly bytes: number;
  /** Servers whose large messages are being received. */
  readonly #shared: Set<MessageLimit>;
  /** The large messages of this one. */
  readonly #receiving = new Set<MessageCounter>();
  #reserved = 0;

  constructor(bytes = DEFAULT_MESSAGE_BYTES, shared = new Set<MessageLimit>()) {
    this.bytes = bytes;
    this.#shared = shared;
  }

  /** Messages up to this size need no counter. */
  get uncounted(): number {
    return Math.min(SMALL, this.bytes);
  }

  get mistake(): string {
    return `larger than limits.messageBytes = ${this.bytes}`;
  }

  get crowded(): string {
    return `too large while other large messages are received (${LARGEST_AT_ONCE} × limits.messageBytes = ${LARGEST_AT_ONCE * this.bytes} together); try again`;
  }

  /** Counts the messages of one stream. `onRevoked`: the message gives way to that of another server; drop it. */
  counter(onRevoked: () => void): MessageCounter {
    return new MessageCounter(this, onRevoked);
  }

  /** Makes room for a message; false if there is none. */
  reserve(counter: MessageCounter, bytes: number): boolean {
    const most = LARGEST_AT_ONCE * this.bytes;
    while (sum(this.#shared) + bytes > most) {
      const largest = maxBy(this.#shared, (limit) => limit.#reserved);
      if (largest === undefined || largest.#reserved <= this.#reserved + bytes) return false;
      maxBy(largest.#receiving, ({ reserved }) => reserved)?.revoke();
    }
    this.#reserved += bytes;
    this.#receiving.add(counter);
    this.#shared.add(this);
    return true;
  }

  release(counter: MessageCounter, bytes: number): void {
    this.#reserved -= bytes;
    this.#receiving.delete(counter);
    if (this.#receiving.size === 0) this.#shared.delete(this);
  }

  get reserved(): number {
    return this.#reserved;
  }
}

export class MessageCounter {
  #size = 0;
  #reserved = 0;
  #mistake = '';
  readonly #limit: MessageLimit;
  readonly #onRevoked: () => void;

  constructor(limit: MessageLimit, onRevoked: () => void) {
    this.#limit = limit;
    this.#onRevoked = onRevoked;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Why the last message was not accepted. */
  get mistake(): string {
    return this.#mistake;
  }

  /** Counts another part of the message; false if it is too much. */
  add(size: number): boolean {
    this.#size += size;
    if (this.#size > this.#limit.bytes) {
      this.#mistake = this.#limit.mistake;
      return false;
    }
    if (this.#size <= SMALL) return true;
    if (!this.#limit.reserve(this, this.#size - this.#reserved)) {
      this.#mistake = this.#limit.crowded;
      return false;
    }
    this.#reserved = this.#size;
    return true;
  }

  /** The message is complete, or has been dropped. A complete message is not counted while it is parsed: that takes a few turns. */
  reset(): void {
    this.#size = 0;
    if (this.#reserved > 0) this.#limit.release(this, this.#reserved);
    this.#reserved = 0;
  }

  revoke(): void {
    this.#mistake = this.#limit.crowded;
    this.#onRevoked();
    this.reset();
  }
}

function sum(limits: Iterable<MessageLimit>): number {
  let total = 0;
  for (const { reserved } of limits) total += reserved;
  return total;
}

function maxBy<T>(items: Iterable<T>, size: (item: T) => number): T | undefined {
  let largest: T | undefined;
  for (const item of items) {
    if (largest === undefined || size(item) > size(largest)) largest = item;
  }
  return largest;
}
