import type { Clock } from '../lib/clock.ts';

/** Asks once and keeps the answer. A failure is kept for a while only: it may pass, but not each token should ask again. */
export class Kept<T> {
  readonly #ask: () => Promise<T>;
  readonly #clock: Clock;
  readonly #retryMs: number;
  #answer: Promise<T> | undefined;
  /** When the answer that is kept turned out to be a failure. */
  #failedAt: number | undefined;

  constructor(ask: () => Promise<T>, clock: Clock, retryMs: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.#retryMs = retryMs;
  }

  async get(): Promise<T> {
    // Either way: a clock that was set back must not keep a failure for hours.
    if (this.#failedAt !== undefined && Math.abs(this.#clock.now() - this.#failedAt) >= this.#retryMs) {
      this.#answer = undefined;
      this.#failedAt = undefined;
    }
    this.#answer ??= this.#ask().catch((error: unknown) => {
      this.#failedAt = this.#clock.now();
      throw error;
    });
    return this.#answer;
  }
}
