/**
 * Changes that wait for the next flush. Of several changes to one record only the last one is kept, at the place of
 * the last one, so that replaying the queue in order gives the same rows as making each change at once.
 *
 * A put that does not fit into a full store is set aside: it does not hold up the others, and is taken back when it may fit.
 */

import type { ServerRecord, SessionRecords } from '../core/ports/records.ts';

export interface Records extends SessionRecords {
  server: ServerRecord;
}

export type RecordKind = keyof Records;

/** The kinds of records that belong to a session and are deleted with it. */
export type OwnedKind = Exclude<RecordKind, 'session' | 'server'>;

export type Put = { [K in RecordKind]: { op: 'put'; kind: K; record: Records[K] } }[RecordKind];

export type Change =
  | Put
  | { op: 'drop'; kind: Exclude<RecordKind, 'session'>; id: string; sessionId: string | undefined }
  | { op: 'drop_session'; id: string };

interface Aside {
  put: Put;
  /** The size of its row at the last attempt. */
  bytes: number;
}

export class ChangeQueue {
  readonly #changes = new Map<string, Change>();
  readonly #aside = new Map<string, Aside>();

  /** Without changes that are set aside. */
  get size(): number {
    return this.#changes.size;
  }

  get asideCount(): number {
    return this.#aside.size;
  }

  put(put: Put): void {
    const key = keyOf(put);
    const aside = this.#aside.get(key);
    // A newer version is hardly smaller, and each attempt would cost as much as the first.
    if (aside === undefined) this.#append(put);
    else aside.put = put;
  }

  drop(kind: RecordKind, id: string, sessionId?: string): void {
    if (kind === 'session') this.#dropSession(id);
    else this.#append({ op: 'drop', kind, id, sessionId });
  }

  /** The change was made, or can never be made. */
  discard(change: Change): void {
    this.#changes.delete(keyOf(change));
  }

  setAside(put: Put, bytes: number): void {
    this.discard(put);
    this.#aside.set(keyOf(put), { put, bytes });
  }

  /** Requeues changes that fit into `room` bytes, smallest first, but at most `most` bytes after the first. */
  takeBack(room: number, most: number): void {
    let taken = 0;
    for (const [key, { put, bytes }] of [...this.#aside].toSorted(([, a], [, b]) => a.bytes - b.bytes)) {
      if (taken + bytes > room || (taken > 0 && taken + bytes > most)) return;
      taken += bytes;
      this.#aside.delete(key);
      this.#append(put);
    }
  }

  /** Whether a change of that session, or of no session, is queued; without an id, any change. */
  has(sessionId: string | undefined): boolean {
    for (const change of this.#changes.values()) if (concerns(change, sessionId)) return true;
    return this.isAside(sessionId);
  }

  /** Whether a change of that session, or of no session, is set aside; without an id, any change. */
  isAside(sessionId: string | undefined): boolean {
    if (sessionId === undefined) return this.#aside.size > 0;
    for (const { put } of this.#aside.values()) if (concerns(put, sessionId)) return true;
    return false;
  }

  clear(): void {
    this.#changes.clear();
  }

  [Symbol.iterator](): IterableIterator<Change> {
    return this.#changes.values();
  }

  /** Has a separate key: a session that is put again must not undo the deletion of the old rows. */
  #dropSession(id: string): void {
    for (const [key, change] of this.#changes) {
      if (change.op === 'put' && sessionIdOf(change) === id) this.#changes.delete(key);
    }
    for (const [key, { put }] of this.#aside) {
      if (sessionIdOf(put) === id) this.#aside.delete(key);
    }
    this.#append({ op: 'drop_session', id });
  }

  #append(change: Change): void {
    const key = keyOf(change);
    this.#aside.delete(key);
    this.#changes.delete(key);
    this.#changes.set(key, change);
  }
}

function keyOf(change: Change): string {
  switch (change.op) {
    case 'put':
      return `${change.kind} ${change.record.id}`;
    case 'drop':
      return `${change.kind} ${change.id}`;
    case 'drop_session':
      return `drop_session ${change.id}`;
  }
}

/** Whether a failed change concerns a session: it is its own, or one of all sessions. */
export function concerns(change: Change, sessionId: string | undefined): boolean {
  const owner = sessionIdOf(change);
  return sessionId === undefined || owner === undefined || owner === sessionId;
}

/** The session of a record; a session belongs to itself, a server to none. */
export function sessionIdOf(change: Change): string | undefined {
  if (change.op === 'drop') return change.sessionId;
  if (change.op === 'drop_session') return change.id;
  const { kind, record } = change;
  switch (kind) {
    case 'session':
      return record.id;
    case 'server':
      return undefined;
    case 'task':
    case 'question':
    case 'event':
    case 'subscription':
      return record.sessionId;
  }
}
