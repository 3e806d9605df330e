/** Longest delay a timer can hold; anything above fires at once. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

export const clampDelay = (ms: number): number => Math.min(Math.max(0, ms), MAX_DELAY_MS);

export const isoTime = (moment: number): string => new Date(moment).toISOString();

/** The time and timers. Tests use a controllable clock. */
export interface Clock {
  now(): number;
  /**
   * Calls back once after `ms` milliseconds, unless the returned function is called first. With `unref`, the timer alone
   * does not keep the program running.
   */
  after(ms: number, callback: () => void, options?: { unref: boolean }): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback, options) => {
    const timer = setTimeout(callback, clampDelay(ms));
    if (options?.unref) timer.unref();
    return () => clearTimeout(timer);
  },
};
