/** How far the time before which lines are deleted moves until all lines are looked at again. */
const SWEEP_MS = 3_600_000;

/**
 * When the whole record is searched for old lines. They are deleted from the oldest on, up to the first that is to be kept. If that
 * one was written while a clock was wrong, in the future, all later ones would be kept with it. To look at every line costs more, so
 * that is done less often.
 */
export class Sweeps {
  #last = -Infinity;

  isDue(before: number): boolean {
    // A clock that was put right goes back.
    if (before === -Infinity || Math.abs(before - this.#last) < SWEEP_MS) return false;
    this.#last = before;
    return true;
  }
}
