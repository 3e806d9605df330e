const SECONDS = 60;
const SECOND_MS = 1000;

/** Counts starts in the last minute, by the second. */
export class RateWindow {
  readonly #counts = new Uint32Array(SECONDS);
  #sum = 0;
  /** The current second. */
  #now = 0;

  add(nowMs: number): void {
    this.#advance(nowMs);
    const at = this.#now % SECONDS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += 1;
  }

  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#sum;
  }

  /** How long until this many have left the window; a minute if there are fewer. */
  untilGone(count: number, nowMs: number): number {
    this.#advance(nowMs);
    let gone = 0;
    for (let age = SECONDS - 1; age >= 0; age -= 1) {
      gone += this.#counts[(this.#now - age + SECONDS) % SECONDS] ?? 0;
      if (gone >= count) return (this.#now - age + SECONDS) * SECOND_MS - nowMs;
    }
    return SECONDS * SECOND_MS;
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / SECOND_MS);
    const passed = second - this.#now;
    // If the clock is set back a little, keep counting in the last second.
    if (passed <= 0 && passed > -SECONDS) return;
    if (passed < 0 || passed >= SECONDS) {
      this.#counts.fill(0);
      this.#sum = 0;
    } else {
      for (let each = this.#now + 1; each <= second; each += 1) {
        this.#sum -= this.#counts[each % SECONDS] ?? 0;
        this.#counts[each % SECONDS] = 0;
      }
    }
    this.#now = second;
  }
}
