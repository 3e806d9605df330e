import type { Clock } from '../../src/lib/clock.ts';

/** A clock that only the test moves. */
export class TestClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  constructor(now = 1_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the time on, and calls the timers that are due in their order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }

  /** Moves the time on, but calls no timer yet, as a machine does that wakes up. */
  skip(ms: number): void {
    this.#now += ms;
  }

  /** Somebody sets the time of the machine, forwards or backwards: timers are due after the same while as before. */
  jump(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  /** How many timers are armed. */
  get armed(): number {
    return this.#timers.size;
  }
}
