/**
 * Collections that take no memory until they have an entry. An empty `Map` takes 184 bytes and an empty `Set` 152; a session has dozens
 * of them, most of which stay empty. Not for what each call adds and removes: the collection is dropped when it becomes
 * empty, so an iteration does not see what is added after that.
 */

const NOTHING: [] = [];

export class LazyMap<K, V> {
  #map: Map<K, V> | undefined;

  get size(): number {
    return this.#map?.size ?? 0;
  }

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  has(key: K): boolean {
    return this.#map?.has(key) ?? false;
  }

  set(key: K, value: V): this {
    this.#map ??= new Map();
    this.#map.set(key, value);
    return this;
  }

  /** Returns whether it existed. */
  delete(key: K): boolean {
    const existed = this.#map?.delete(key) ?? false;
    if (this.#map?.size === 0) this.#map = undefined;
    return existed;
  }

  clear(): void {
    this.#map?.clear();
    this.#map = undefined;
  }

  keys(): IterableIterator<K> {
    return (this.#map ?? NOTHING).keys() as IterableIterator<K>;
  }

  values(): IterableIterator<V> {
    return (this.#map ?? NOTHING).values() as IterableIterator<V>;
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return (this.#map ?? NOTHING)[Symbol.iterator]() as IterableIterator<[K, V]>;
  }
}

export class LazySet<T> {
  #set: Set<T> | undefined;

  get size(): number {
    return this.#set?.size ?? 0;
  }

  has(value: T): boolean {
    return this.#set?.has(value) ?? false;
  }

  add(value: T): this {
    this.#set ??= new Set();
    this.#set.add(value);
    return this;
  }

  /** Returns whether it existed. */
  delete(value: T): boolean {
    const existed = this.#set?.delete(value) ?? false;
    if (this.#set?.size === 0) this.#set = undefined;
    return existed;
  }

  clear(): void {
    this.#set?.clear();
    this.#set = undefined;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return (this.#set ?? NOTHING)[Symbol.iterator]() as IterableIterator<T>;
  }
}
