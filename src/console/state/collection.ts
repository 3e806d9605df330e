/** A set of items by id that components can watch. Of two versions of an item, the one with the higher `seq` counts. */

import { useLayoutEffect, useReducer } from 'preact/hooks';

export class Collection<T extends object> {
  readonly #items = new Map<string, T>();
  readonly #listeners = new Set<() => void>();
  readonly #idOf: (item: T) => string;
  readonly #details: readonly (keyof T)[];
  #changed = false;

  /** `details` are fields that only the single item has: they stay when a change comes without them. */
  constructor(idOf: (item: T) => string, details: readonly (keyof T)[] = []) {
    this.#idOf = idOf;
    this.#details = details;
  }

  get(id: string | undefined): T | undefined {
    return id === undefined ? undefined : this.#items.get(id);
  }

  all(): T[] {
    return [...this.#items.values()];
  }

  get size(): number {
    return this.#items.size;
  }

  put(item: T): void {
    const id = this.#idOf(item);
    const known = this.#items.get(id);
    if (known !== undefined && seqOf(item) < seqOf(known)) return;
    const details = known === undefined ? [] : this.#details.map((name) => [name, known[name]]);
    this.#items.set(id, { ...Object.fromEntries(details), ...item } as T);
    this.#notify();
  }

  putAll(items: readonly T[]): void {
    for (const item of items) this.put(item);
  }

  /** The list is complete: what it does not have is gone. */
  replaceAll(items: readonly T[]): void {
    const known = new Set(items.map(this.#idOf));
    for (const id of this.#items.keys()) if (!known.has(id)) this.#items.delete(id);
    this.putAll(items);
    this.#notify();
  }

  delete(id: string): void {
    if (this.#items.delete(id)) this.#notify();
  }

  clear(): void {
    this.#items.clear();
    this.#notify();
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Listeners are called once for all changes of a moment. */
  #notify(): void {
    if (this.#changed) return;
    this.#changed = true;
    setTimeout(() => {
      this.#changed = false;
      for (const listener of this.#listeners) listener();
    }, 16);
  }
}

/** Items without one, such as servers, are always new. */
function seqOf(item: object): number {
  return 'seq' in item && typeof item.seq === 'number' ? item.seq : 0;
}

interface Watchable {
  watch(listener: () => void): () => void;
}

/**
 * Renders the component again when any of these changes. The layout effect runs together with the render: an effect after
 * the next frame would miss the changes in between.
 */
export function useWatched(...watched: Watchable[]): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const stops = watched.map((each) => each.watch(() => again(undefined)));
    return () => {
      for (const stop of stops) stop();
    };
    // The watched things are the same ones as long as the component lives.
  }, []);
}

/** A single value that components can watch. */
export class Value<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
