/** How far the deletion time must move before all lines are checked again. */
const SWEEP_MS = 3_600_000;

/**
 * Decides when the whole record is searched for old lines. Lines are deleted from the oldest on, up to the first that must be kept. If that
 * one was written with a wrong clock, in the future, all later ones would be kept with it. Checking every line costs more, so
 * it is done less often.
 */
export class Sweeps {
  #last = -Infinity;

  isDue(before: number): boolean {
    // A corrected clock may go back.
    if (before === -Infinity || Math.abs(before - this.#last) < SWEEP_MS) return false;
    this.#last = before;
    return true;
  }
}
