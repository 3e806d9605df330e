/** A stream that messages are read from. */
interface Pausable {
  pause(): void;
  resume(): void;
}

/**
 * Handles what a stream brings, in order. While something takes several turns of the event loop, reading pauses, and what has been read
 * already waits.
 */
export class InOrder<T> {
  readonly #source: () => Pausable | null | undefined;
  readonly #handle: (item: T) => Promise<void> | undefined;
  #busy: Promise<void> | undefined;
  #waiting: T[] = [];

  /** `handle` returns a promise for what takes several turns; it must not reject. */
  constructor(source: () => Pausable | null | undefined, handle: (item: T) => Promise<void> | undefined) {
    this.#source = source;
    this.#handle = handle;
  }

  add(item: T): void {
    if (this.#busy === undefined) this.#start(item);
    else this.#waiting.push(item);
  }

  /** Resolves when everything that was added has been handled. */
  async done(): Promise<void> {
    while (this.#busy !== undefined) await this.#busy;
  }

  #start(item: T): void {
    const handled = this.#handle(item);
    if (handled === undefined) return;
    this.#source()?.pause();
    this.#busy = handled.then(() => this.#next());
  }

  #next(): void {
    this.#busy = undefined;
    while (this.#busy === undefined) {
      const item = this.#waiting.shift();
      if (item === undefined) {
        this.#source()?.resume();
        return;
      }
      this.#start(item);
    }
  }
}
