import { systemClock, type Clock } from '../../src/lib/clock.ts';

interface Timer {
  at: number;
  callback: () => void;
  unref: boolean;
  /** Stops the real timer behind it. */
  stop: () => void;
}

/** A clock that goes like any other, and that the test can move on at once, for programs that also wait for others. */
export class JumpingClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  after(ms: number, callback: () => void, options?: { unref: boolean }): () => void {
    const timer: Timer = { at: this.now() + ms, callback, unref: options?.unref === true, stop: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#forget(timer);
  }

  /** Moves the time on, and calls the timers that are due then in their order. */
  jump(ms: number): void {
    this.#ahead += ms;
    const now = this.now();
    const due = [...this.#timers].filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
    for (const timer of due) this.#run(timer);
    // The others are nearer than they were.
    for (const timer of this.#timers) this.#arm(timer);
  }

  #arm(timer: Timer): void {
    timer.stop();
    timer.stop = systemClock.after(timer.at - this.now(), () => this.#run(timer), { unref: timer.unref });
  }

  #run(timer: Timer): void {
    // One that was due before it may have cancelled it.
    if (!this.#timers.has(timer)) return;
    this.#forget(timer);
    timer.callback();
  }

  #forget(timer: Timer): void {
    this.#timers.delete(timer);
    timer.stop();
  }
}
