import { LazySet } from '../../lib/lazy-collections.ts';

/** Answers to a server's requests that are being sent; the transport waits for them before it closes. */
export class PendingAnswers {
  readonly #pending = new LazySet<Promise<unknown>>();

  async track<T>(sending: Promise<T>): Promise<T> {
    this.#pending.add(sending);
    try {
      return await sending;
    } finally {
      this.#pending.delete(sending);
    }
  }

  async sent(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }
}
