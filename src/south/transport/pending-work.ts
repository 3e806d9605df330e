import { LazySet } from '../../lib/lazy-collections.ts';

/** What a transport finishes before it closes: answers that are being sent, or messages that are being parsed. */
export class PendingWork {
  readonly #pending = new LazySet<Promise<unknown>>();

  async track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    try {
      return await work;
    } finally {
      this.#pending.delete(work);
    }
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  async done(): Promise<void> {
    while (!this.isEmpty) await Promise.allSettled(this.#pending);
  }
}
