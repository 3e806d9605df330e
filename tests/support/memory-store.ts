import type { SessionRecordKind, SessionRecords } from '../../src/core/ports/records.ts';
import type { SessionStore } from '../../src/core/ports/store.ts';

interface Held {
  release: () => void;
  fail: (error: Error) => void;
}

function held(): Held & { promise: Promise<void> } {
  let release = (): void => {};
  let fail = (_error: Error): void => {};
  const promise = new Promise<void>((resolve, reject) => {
    release = resolve;
    fail = reject;
  });
  // A test may fail it before anybody waits.
  promise.catch(() => {});
  return { promise, release, fail };
}

/** Keeps the records of one session in memory. A test may hold back the moment at which they are stored. */
export class MemoryStore implements SessionStore {
  readonly #records = new Map<string, unknown>();
  #held: (Held & { promise: Promise<void> }) | undefined;
  recorded?: () => Promise<void>;

  put<K extends SessionRecordKind>(kind: K, record: SessionRecords[K]): void {
    this.#records.set(`${kind} ${record.id}`, structuredClone(record));
  }

  drop(kind: SessionRecordKind, id: string): void {
    this.#records.delete(`${kind} ${id}`);
  }

  async settled(): Promise<void> {
    await this.#held?.promise;
  }

  /** Until `release` or `fail` is called, nothing counts as stored. */
  hold(): Held {
    this.#held = held();
    return this.#held;
  }

  /** As if other gateways could use the store, too; until `release` is called, or `fail`, this is the only one to know. */
  shared(): Held {
    const { promise, ...rest } = held();
    this.recorded = async () => promise;
    return rest;
  }

  all<K extends SessionRecordKind>(kind: K): SessionRecords[K][] {
    return [...this.#records]
      .filter(([name]) => name.startsWith(`${kind} `))
      .map(([, record]) => record as SessionRecords[K]);
  }
}
