import type { Clock } from '../lib/clock.ts';

/** Caches the result of a request. A failure is cached only for a while, so that not every token repeats the request. */
export class CachedRequest<T> {
  readonly #ask: () => Promise<T>;
  readonly #clock: Clock;
  readonly #retryMs: number;
  #answer: Promise<T> | undefined;
  /** The time of the failure, if the cached result is one. */
  #failedAt: number | undefined;

  constructor(ask: () => Promise<T>, clock: Clock, retryMs: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.#retryMs = retryMs;
  }

  async get(): Promise<T> {
    // Compares the absolute difference, so that a clock that is set back does not keep a failure for hours.
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
