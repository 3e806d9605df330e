/**
 * Changes that wait for the next flush. Of several changes to one record only the last one is kept, at the place of
 * the last one, so that replaying the queue in order gives the same rows as making each change at once.
 */

import type { RecordKind, Records } from '../../core/ports.ts';

export type Change =
  | { op: 'put'; kind: RecordKind; record: Records[RecordKind] }
  | { op: 'drop'; kind: Exclude<RecordKind, 'session'>; id: string }
  | { op: 'drop_session'; id: string };

export class ChangeQueue {
  readonly #changes = new Map<string, Change>();

  get size(): number {
    return this.#changes.size;
  }

  put(kind: RecordKind, record: Records[RecordKind]): void {
    this.#append(`${kind} ${record.id}`, { op: 'put', kind, record });
  }

  drop(kind: RecordKind, id: string): void {
    if (kind === 'session') this.#dropSession(id);
    else this.#append(`${kind} ${id}`, { op: 'drop', kind, id });
  }

  /** Takes out one change that can never be made. */
  discard(change: Change): void {
    for (const [key, queued] of this.#changes) {
      if (queued === change) this.#changes.delete(key);
    }
  }

  clear(): void {
    this.#changes.clear();
  }

  [Symbol.iterator](): IterableIterator<Change> {
    return this.#changes.values();
  }

  /** Has a key of its own: a session put again later must not undo that the old one's rows go. */
  #dropSession(id: string): void {
    for (const [key, change] of this.#changes) {
      if (change.op === 'put' && ownerOf(change) === id) this.#changes.delete(key);
    }
    this.#append(`drop_session ${id}`, { op: 'drop_session', id });
  }

  #append(key: string, change: Change): void {
    this.#changes.delete(key);
    this.#changes.set(key, change);
  }
}

/** The session a put belongs to; a session belongs to itself, a server to nobody. */
function ownerOf({ kind, record }: Extract<Change, { op: 'put' }>): string | undefined {
  if (kind === 'session') return record.id;
  return sessionIdOf(record);
}

export function sessionIdOf(record: Records[RecordKind]): string | undefined {
  return 'sessionId' in record ? record.sessionId : undefined;
}
