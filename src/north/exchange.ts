import type { Progress } from '../core/ports.ts';

/** A reason that says "I would not wait any longer", as opposed to "stop this". */
const GAVE_UP = /time[ds]?[\s-]*out/i;

/**
 * One request of a client and what becomes of it: the client may give up or go away, it may cancel, and the reply may
 * or may not reach it. Doors and dialects report that here; the hub listens.
 */
export class Exchange {
  readonly #gone = new AbortController();
  readonly #cancelled = new AbortController();
  #settled: boolean | undefined;
  #listeners: ((delivered: boolean) => void)[] = [];
  /** Sends progress to the client; there only if it asked for it. */
  readonly progress: ((progress: Progress) => void) | undefined;

  constructor(progress?: (progress: Progress) => void) {
    this.progress = progress;
  }

  /** The client does not wait for the reply any more, but may want the result. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The client wants the work stopped. */
  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  get open(): boolean {
    return this.#settled === undefined && !this.#gone.signal.aborted && !this.#cancelled.signal.aborted;
  }

  giveUp(): void {
    this.#gone.abort();
    this.settle(false);
  }

  /** What a client's cancellation means depends on why: a time-out is not a wish to have the work stopped. */
  cancel(reason: string): void {
    if (GAVE_UP.test(reason)) {
      this.giveUp();
      return;
    }
    this.#cancelled.abort();
    this.settle(false);
  }

  /** Only the first word on whether the reply arrived counts. */
  settle(delivered: boolean): void {
    if (this.#settled !== undefined) return;
    this.#settled = delivered;
    for (const listener of this.#listeners) listener(delivered);
    this.#listeners = [];
  }

  whenSettled(listener: (delivered: boolean) => void): void {
    if (this.#settled === undefined) this.#listeners.push(listener);
    else listener(this.#settled);
  }
}
