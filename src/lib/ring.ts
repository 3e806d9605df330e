interface Kept<T> {
  item: T;
  bytes: number;
}

/** Where the memory for the items comes from. */
export interface RingBudget {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** Keeps the newest items, limited in number and bytes. */
export class Ring<T> {
  #kept: (Kept<T> | undefined)[] = [];
  /** The index of the oldest item. Dropped items before it are trimmed in bulk, because shifting for each would be slow. */
  #first = 0;
  #bytes = 0;
  readonly #limits: { count: number; bytes: number };
  readonly #room: RingBudget;

  constructor(limits: { count: number; bytes: number }, room: RingBudget) {
    this.#limits = limits;
    this.#room = room;
  }

  /** Drops the oldest items until there is room; an item that still does not fit is dropped. */
  push(item: T, bytes: number): void {
    const { count, bytes: most } = this.#limits;
    while (this.#size >= count || this.#bytes + bytes > most || !this.#room.take(bytes)) {
      if (this.#size === 0) return;
      this.#dropOldest();
    }
    this.#kept.push({ item, bytes });
    this.#bytes += bytes;
  }

  /** Oldest first. */
  items(): T[] {
    return this.#kept.flatMap((kept) => (kept === undefined ? [] : [kept.item]));
  }

  clear(): void {
    this.#room.give(this.#bytes);
    this.#kept = [];
    this.#first = 0;
    this.#bytes = 0;
  }

  get #size(): number {
    return this.#kept.length - this.#first;
  }

  #dropOldest(): void {
    const { bytes = 0 } = this.#kept[this.#first] ?? {};
    this.#kept[this.#first] = undefined;
    this.#first += 1;
    this.#bytes -= bytes;
    this.#room.give(bytes);
    if (this.#first < this.#limits.count) return;
    this.#kept = this.#kept.slice(this.#first);
    this.#first = 0;
  }
}
