import { systemClock, type Clock } from '../../lib/clock.ts';
import { every } from '../../lib/timers.ts';

/** How many of the largest messages fit into it. */
const LARGEST_AT_ONCE = 8;
/** How often it is checked, while streams wait, whether the others make progress. */
const CHECK_MS = 15_000;
/** What a stream brings when it is read again. */
const PIECE = 64 * 1024;

/** A large message that is being received. */
export interface LargeMessage {
  /** All large messages of its server, in the order in which they were begun. */
  readonly ofServer: ReadonlySet<LargeMessage>;
  /** How much of it has arrived. */
  readonly size: number;
  /** Stops reading its stream. */
  pause(): void;
  resume(): void;
  /** Whether it has grown enough since the last check. */
  grewSinceCheck(): boolean;
  /** Drops the message: others need its memory. */
  revoke(): void;
}

/**
 * The memory for the large messages of all servers. When it is full, streams wait for messages to be completed and handled. To make sure
 * that some complete, the oldest message of each server continues, unless these and complete ones alone fill the memory, and all
 * together twice as much; then only the oldest of all does, once nothing is being parsed. A message that hardly grows while others
 * wait is dropped: one that never ends must not keep others from arriving.
 */
export class MessageMemory {
  readonly #bytes: number;
  readonly #clock: Clock;
  /** The large messages that are being received, in the order in which they were begun. */
  readonly #receiving = new Set<LargeMessage>();
  /** The same, of each server. */
  readonly #ofServers = new Set<LargeMessage['ofServer']>();
  /** The size of these, and of complete messages that are being parsed or wait for that. */
  #taken = 0;
  #handling = 0;
  readonly #waiting = new Set<LargeMessage>();
  #stopChecks: (() => void) | undefined;

  constructor(messageBytes: number, clock = systemClock) {
    this.#bytes = LARGEST_AT_ONCE * messageBytes;
    this.#clock = clock;
  }

  get stalled(): string {
    return `too slow while other large messages wait for memory (${LARGEST_AT_ONCE} × limits.messageBytes = ${this.#bytes} together)`;
  }

  /** More of a message has arrived. Its stream may be resumed for another reason; the next piece pauses it again. */
  grown(message: LargeMessage, bytes: number): void {
    this.#taken += bytes;
    this.#receiving.add(message);
    this.#ofServers.add(message.ofServer);
    if (this.#mayContinue(message)) return;
    this.#waiting.add(message);
    message.pause();
    this.#stopChecks ??= every(CHECK_MS, () => this.#check(), this.#clock);
  }

  /** A message is complete, or has been dropped. */
  ended(message: LargeMessage, bytes: number): void {
    this.#taken -= bytes;
    this.#receiving.delete(message);
    if (message.ofServer.size === 0) this.#ofServers.delete(message.ofServer);
    // There may be another message on its stream.
    if (this.#waiting.delete(message)) message.resume();
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
  #mayContinue(message: LargeMessage, more = 0): boolean {
    if (this.#taken + more <= this.#bytes) return true;
    if (first(message.ofServer) !== message) return false;
    if (this.#taken <= 2 * this.#bytes || this.#takenByOldest() <= this.#bytes) return true;
    // What is complete will be handled for certain; of the rest, something must be completed.
    return this.#handling === 0 && first(this.#receiving) === message;
  }

  /** What would be taken if each server had only its oldest message. */
  #takenByOldest(): number {
    let taken = this.#handling;
    for (const messages of this.#ofServers) taken += first(messages)?.size ?? 0;
    return taken;
  }

  #freed(): void {
    let more = 0;
    for (const message of this.#waiting) {
      if (!this.#mayContinue(message, more)) continue;
      this.#waiting.delete(message);
      message.resume();
      more += PIECE;
    }
    if (this.#waiting.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }

  #check(): void {
    for (const message of this.#receiving) {
      if (this.#waiting.size === 0) return;
      if (!this.#waiting.has(message) && !message.grewSinceCheck()) message.revoke();
    }
  }
}

function first<T>(items: ReadonlySet<T>): T | undefined {
  return items.values().next().value;
}
