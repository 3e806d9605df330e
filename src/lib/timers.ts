import { systemClock, type Clock } from './clock.ts';

/** What the promise brings, or `undefined` if it takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * One timer for many moments: `at` arms it for the earliest one asked for, and `due` is called then. The owner of the
 * moments decides what is due and arms it again, so no moment has a timer of its own to forget.
 */
export class Alarm {
  #cancel: (() => void) | undefined;
  #moment = Infinity;
  readonly #due: () => void;
  readonly #clock: Clock;

  constructor(due: () => void, clock: Clock = systemClock) {
    this.#due = due;
    this.#clock = clock;
  }

  at(moment: number | undefined): void {
    if (moment === undefined || moment >= this.#moment) return;
    this.#cancel?.();
    this.#moment = moment;
    this.#cancel = this.#clock.after(moment - this.#clock.now(), () => {
      this.#moment = Infinity;
      this.#cancel = undefined;
      this.#due();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#moment = Infinity;
  }
}
