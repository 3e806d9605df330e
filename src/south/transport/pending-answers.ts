/** The answers to a server's own requests that are on their way to it; they arrive before the transport is closed. */
export class PendingAnswers {
  readonly #pending = new Set<Promise<unknown>>();

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
