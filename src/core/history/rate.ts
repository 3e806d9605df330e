/** A limit per second. */
export class Rate {
  readonly #perSecond: number;
  #second = -1;
  #taken = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes one in the current second, if there is room. */
  take(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#taken = 0;
    }
    if (this.#taken >= this.#perSecond) return false;
    this.#taken += 1;
    return true;
  }
}
