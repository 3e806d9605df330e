/**
 * The store on SQLite.
 *
 *   put, drop → queue → one transaction a turn of the event loop → settled
 *
 * A failed transaction leaves the queue as it was; the next change or the next `settled` tries again. Writing is
 * synchronous, so nothing can come into the queue while it is being written.
 */

import { rename } from 'node:fs/promises';
import type Libsql from 'libsql';
import type { OwnedKind, RecordKind, Records, Store } from '../../core/ports.ts';
import { type Log, messageOf } from '../../lib/log.ts';
import { StoreError } from '../error.ts';
import { openDatabase } from './database.ts';
import { lockStore, signStore, type StoreLock } from './lock.ts';
import { type Change, ChangeQueue } from './queue.ts';
import { Statements } from './statements.ts';
import { transaction } from './transaction.ts';

export interface SqliteStoreOptions {
  /** A file, or `:memory:`. */
  path: string;
  log: Log;
  /** Only to look into it: somebody else may be using it. */
  shared?: boolean;
}

export async function openSqliteStore({ path, log, shared = false }: SqliteStoreOptions): Promise<Store> {
  if (shared || path === ':memory:') return new SqliteStore(await openDatabase(path), path, log, undefined);
  const lock = await lockStore(path);
  try {
    const db = await openDatabase(path).catch(async (error: unknown) => afresh(path, log, error));
    signStore(db);
    return new SqliteStore(db, path, log, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** A damaged store is put aside for whoever can mend it; the program goes on with a new one. */
async function afresh(path: string, log: Log, error: unknown): Promise<Libsql.Database> {
  if (!(error instanceof StoreError) || error.code !== 'STORE_DAMAGED') throw error;
  const keptAs = `${path}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const end of ['', '-wal', '-shm']) {
    await rename(path + end, keptAs + end).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'ENOENT') throw failure;
    });
  }
  log.error('store_damaged', { path, keptAs, error: error.message });
  return openDatabase(path);
}

/** Shared, because it is what a fast call gets: it costs nothing. */
const NOTHING_QUEUED: Promise<void> = Promise.resolve();

class SqliteStore implements Store {
  readonly #db: Libsql.Database;
  readonly #path: string;
  readonly #log: Log;
  readonly #statements: Statements;
  /** Absent where it is not ours alone. */
  readonly #lock: StoreLock | undefined;
  readonly #queue = new ChangeQueue();
  #turn: NodeJS.Immediate | undefined;
  #waiting: Waiting | undefined;
  #failing = false;
  #closing: Promise<void> | undefined;

  constructor(db: Libsql.Database, path: string, log: Log, lock: StoreLock | undefined) {
    this.#db = db;
    this.#lock = lock;
    this.#path = path;
    this.#log = log;
    this.#statements = new Statements(db);
  }

  put<K extends RecordKind>(kind: K, record: Records[K]): void {
    this.#queue.put(kind, record);
    this.#schedule();
  }

  drop(kind: RecordKind, id: string): void {
    this.#queue.drop(kind, id);
    this.#schedule();
  }

  settled(): Promise<void> {
    if (this.#queue.size === 0) return NOTHING_QUEUED;
    this.#schedule();
    this.#waiting ??= waiting();
    return this.#waiting.promise;
  }

  async all<K extends RecordKind>(kind: K): Promise<Records[K][]> {
    return this.#current().all(kind);
  }

  async of<K extends OwnedKind>(kind: K, sessionId: string): Promise<Records[K][]> {
    return this.#current().of(kind, sessionId);
  }

  async sessionsAtWork(): Promise<Set<string>> {
    return this.#current().sessionsAtWork();
  }

  async dropOverdue(now: number): Promise<void> {
    this.#current().dropOverdue(now);
  }

  /** With all that is queued in it, so that nobody reads what is out of date. */
  #current(): Statements {
    if (this.#closing) throw this.#closedError();
    const failure = this.#flush();
    if (failure) throw failure;
    return this.#statements;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(this.#flush());
    return this.#closing;
  }

  async #close(failure: StoreError | undefined): Promise<void> {
    try {
      if (this.#lock) this.#db.exec('DELETE FROM owner; PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.#db.close();
      this.#lock?.release();
    }
    if (failure) throw failure;
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => this.#flush());
  }

  #flush(): StoreError | undefined {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    const failure = this.#queue.size === 0 ? undefined : this.#write();
    if (failure) waiting?.reject(failure);
    else waiting?.resolve();
    return failure;
  }

  #write(): StoreError | undefined {
    if (this.#closing) return this.#closedError();
    const { rows, refused } = this.#serialise();
    try {
      transaction(this.#db, () => {
        for (const [change, data] of rows) this.#statements.make(change, data);
      });
    } catch (error) {
      return this.#failed(error);
    }
    this.#queue.clear();
    if (this.#failing) this.#log.info('store_write_recovered', { changes: rows.length });
    this.#failing = false;
    return refused;
  }

  /** A record that has no JSON (nested too deeply, say) is given up: kept, it would stop every later write. */
  #serialise(): { rows: [Change, string][]; refused: StoreError | undefined } {
    const rows: [Change, string][] = [];
    let refused: StoreError | undefined;
    for (const change of this.#queue) {
      if (change.op !== 'put') {
        rows.push([change, '']);
        continue;
      }
      try {
        rows.push([change, JSON.stringify(change.record)]);
      } catch (error) {
        this.#queue.discard(change);
        refused = this.#refused(change.kind, change.record.id, error);
      }
    }
    return { rows, refused };
  }

  #refused(kind: RecordKind, id: string, error: unknown): StoreError {
    this.#log.error('store_record_refused', { kind, id, error: messageOf(error) });
    return new StoreError('STORE_WRITE_FAILED', `${kind} ${id} cannot be stored: ${messageOf(error)}`, {
      cause: error,
    });
  }

  #failed(error: unknown): StoreError {
    const changes = this.#queue.size;
    if (!this.#failing) this.#log.error('store_write_failed', { path: this.#path, changes, error: messageOf(error) });
    this.#failing = true;
    return new StoreError(
      'STORE_WRITE_FAILED',
      `${this.#path}: ${changes} changes could not be written and are kept for the next try: ${messageOf(error)}`,
      { cause: error },
    );
  }

  #closedError(): StoreError {
    return new StoreError('STORE_CLOSED', `${this.#path}: the store is closed`);
  }
}

interface Waiting {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: StoreError) => void;
}

function waiting(): Waiting {
  let resolve: Waiting['resolve'] = () => {};
  let reject: Waiting['reject'] = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Whoever awaits it still gets the error; one who asked and went away must not bring the process down. It is logged.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
