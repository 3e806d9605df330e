/** Something in flight. */
interface Entry<K, V> {
  readonly key: K;
  readonly value: V;
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/**
 * Calls, requests or responses in flight, in order of arrival. A `Map` with so many insertions and deletions would
 * make the garbage collector slow. It gets a new table now and then, V8 links the old table to the new one, and once a table
 * is in the old generation, each later one is promoted too, with all its entries.
 *
 * This is a list, which is searched from both ends: most of what ends is among the newest, or is the oldest because all take
 * the same time.
 */
export class InFlight<K, V> {
  #newest: Entry<K, V> | undefined;
  #oldest: Entry<K, V> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): Readonly<Pick<Entry<K, V>, 'key' | 'value'>> | undefined {
    return this.#oldest;
  }

  /** There must be no entry with this key. */
  add(key: K, value: V): void {
    const entry: Entry<K, V> = { key, value, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#size += 1;
  }

  has(key: K): boolean {
    return this.#find(key) !== undefined;
  }

  get(key: K): V | undefined {
    return this.#find(key)?.value;
  }

  /** Returns whether it existed. */
  delete(key: K): boolean {
    return this.take(key) !== undefined;
  }

  /** Removes an entry, and returns its value. */
  take(key: K): V | undefined {
    const entry = this.#find(key);
    if (entry === undefined) return undefined;
    const { older, newer } = entry;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    // A removed entry in the old generation would keep newer ones alive.
    entry.newer = undefined;
    this.#size -= 1;
    return entry.value;
  }

  clear(): void {
    this.#newest = undefined;
    this.#oldest = undefined;
    this.#size = 0;
  }

  /** The current keys, oldest first. */
  keys(): K[] {
    return this.#all(({ key }) => key);
  }

  values(): V[] {
    return this.#all(({ value }) => value);
  }

  /** The oldest match before the first entry that is not a candidate. */
  findOldest(isCandidate: (value: V) => boolean, holds: (value: V) => boolean): V | undefined {
    for (let entry = this.#oldest; entry !== undefined && isCandidate(entry.value); entry = entry.newer) {
      if (holds(entry.value)) return entry.value;
    }
    return undefined;
  }

  #all<T>(pick: (entry: Entry<K, V>) => T): T[] {
    const all: T[] = [];
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) all.push(pick(entry));
    return all;
  }

  #find(key: K): Entry<K, V> | undefined {
    let newer = this.#newest;
    let older = this.#oldest;
    for (let left = this.#size; left > 0 && newer !== undefined && older !== undefined; left -= 2) {
      if (newer.key === key) return newer;
      if (older.key === key) return older;
      newer = newer.older;
      older = older.newer;
    }
    return undefined;
  }
}
