import type { PendingWork } from './pending-work.ts';

/** A stream that messages are read from. */
interface Pausable {
  pause(): void;
  resume(): void;
}

/** Handles one item; returns a promise if that takes several turns of the event loop. */
type Work = () => Promise<void> | void;

/**
 * Handles the items of a stream in order. While one takes several turns of the event loop, reading is paused, and items that were
 * already read wait.
 */
export class InOrder {
  readonly #source: Pausable;
  readonly #pending: PendingWork;
  readonly #onError: (error: Error) => void;
  readonly #waiting: Work[] = [];
  /** Which of them is next. `shift()` would move all the others each time. */
  #next = 0;
  #isRunning = false;

  constructor(source: Pausable, pending: PendingWork, onError: (error: Error) => void) {
    this.#source = source;
    this.#pending = pending;
    this.#onError = onError;
  }

  add(work: Work): void {
    this.#waiting.push(work);
    if (!this.#isRunning) this.#run();
  }

  #run(): void {
    this.#isRunning = true;
    for (let work = this.#waiting[this.#next]; work !== undefined; work = this.#waiting[this.#next]) {
      this.#next += 1;
      const unfinished = this.#start(work);
      if (unfinished === undefined) continue;
      this.#source.pause();
      void this.#pending.track(unfinished.catch(this.#onError).then(() => this.#continue()));
      return;
    }
    this.#waiting.length = 0;
    this.#next = 0;
    this.#isRunning = false;
  }

  /** Thrown further, an error would end up in the stream or crash the process, and the items after it would be lost. */
  #start(work: Work): Promise<void> | undefined {
    try {
      return work() ?? undefined;
    } catch (error) {
      this.#onError(error as Error);
      return undefined;
    }
  }

  #continue(): void {
    this.#run();
    if (!this.#isRunning) this.#source.resume();
  }
}
