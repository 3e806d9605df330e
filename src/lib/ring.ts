/** Keeps the newest `capacity` items. */
export class Ring<T> {
  #items: T[] = [];
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(item: T): void {
    this.#items.push(item);
    // Trimmed in bulk, so that a flood does not shift the whole array for each item.
    if (this.#items.length > 2 * this.#capacity) this.#items = this.#items.slice(-this.#capacity);
  }

  /** Oldest first. */
  items(): T[] {
    return this.#items.slice(-this.#capacity);
  }
}
