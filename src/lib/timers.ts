/** Longest delay a timer can hold; anything above fires at once. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

export const clampDelay = (ms: number): number => Math.min(Math.max(0, ms), MAX_DELAY_MS);

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
  #timer: NodeJS.Timeout | undefined;
  #moment = Infinity;
  readonly #due: () => void;

  constructor(due: () => void) {
    this.#due = due;
  }

  at(moment: number | undefined): void {
    if (moment === undefined || moment >= this.#moment) return;
    clearTimeout(this.#timer);
    this.#moment = moment;
    this.#timer = setTimeout(
      () => {
        this.#moment = Infinity;
        this.#timer = undefined;
        this.#due();
      },
      clampDelay(moment - Date.now()),
    );
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#moment = Infinity;
  }
}
