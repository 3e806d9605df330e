/**
 * The store on SQLite.
 *
 *   put, drop → queue → one transaction a turn of the event loop → settled
 *
 * A failed transaction leaves the queue as it was; the next change or the next `settled` tries again, and so does a
 * timer. Writing is synchronous, so nothing can come into the queue while it is being written; for the same reason it
 * never waits for a lock that another program has on the file, but comes back to it.
 */

import { statSync, type Stats } from 'node:fs';
import { rename } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type Libsql from 'libsql';
import type { OwnedKind, RecordKind, Records, Store, Trimmed } from '../../core/ports.ts';
import { type Log, messageOf } from '../../lib/log.ts';
import { StoreError } from '../error.ts';
import { fileOf, inOurWords, openDatabase } from './database.ts';
import { Fitting } from './fit.ts';
import { isBusy, lockStore, signStore, type StoreLock } from './lock.ts';
import { type Change, ChangeQueue } from './queue.ts';
import { Statements } from './statements.ts';
import { transaction } from './transaction.ts';

export interface SqliteStoreOptions {
  /** A file, or `:memory:`. */
  path: string;
  log: Log;
  /** Only to look into it: somebody else may be using it. */
  shared?: boolean;
  /** How large the file may become. */
  maxBytes?: number;
}

export async function openSqliteStore({
  path: given,
  log,
  shared = false,
  maxBytes = Infinity,
}: SqliteStoreOptions): Promise<Store> {
  const path = await fileOf(given);
  if (shared || path === ':memory:') return new SqliteStore(await openDatabase(path), path, log, undefined, maxBytes);
  const lock = await lockStore(path);
  try {
    const db = await openDatabase(path).catch(async (error: unknown) => afresh(path, log, error));
    try {
      signStore(db);
    } catch (error) {
      db.close();
      throw inOurWords(path, error);
    }
    return new SqliteStore(db, path, log, lock, maxBytes);
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

/** All clients stand still for as long as one write waits inside SQLite. */
const BUSY_TIMEOUT_MS = 10;
/** How often a write is tried again that found the file locked. */
const BUSY_RETRY_MS = 50;
/** How long those who wait for the write, or for reading, bear with that. */
const PATIENCE_MS = 2000;
/** How often a store that fails is tried without being asked. */
const FAILING_RETRY_MS = 1000;
/** A store that stays full says so from time to time, not at each write. */
const FULL_LOG_MS = 10_000;

/** What the log beside the file may keep on disk. */
const LOG_BYTES = 16 * 1024 * 1024;

/** Shared, because it is what a fast call gets: it costs nothing. */
const NOTHING_QUEUED: Promise<void> = Promise.resolve();

const AT_THE_NEXT_START = 'restart the gateway: it puts the file aside and begins a new one';

class SqliteStore implements Store {
  readonly #db: Libsql.Database;
  readonly #path: string;
  readonly #log: Log;
  readonly #statements: Statements;
  readonly #fitting: Fitting;
  readonly #maxBytes: number;
  /** Absent where it is not ours alone. */
  readonly #lock: StoreLock | undefined;
  readonly #queue = new ChangeQueue();
  #turn: NodeJS.Immediate | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Since when the file is locked by somebody else. */
  #busySince: number | undefined;
  #waiting: Waiting | undefined;
  #failing = false;
  #fullLoggedAt = -Infinity;
  /** The file as it was opened; absent in memory. */
  readonly #file: Pick<Stats, 'ino' | 'dev'> | undefined;
  /** When the file was last seen to be the same. */
  #fileSeen = Date.now();
  /** Found while it was in use. At the next start nothing of what comes now would be there, so no new task is promised. */
  #damage: { problem: 'damaged' | 'gone'; found: number; error: StoreError; refused: Set<string> } | undefined;
  /** Of a record that was given up: for those who wait for the write it was to be in. */
  #refusal: StoreError | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: Libsql.Database, path: string, log: Log, lock: StoreLock | undefined, maxBytes: number) {
    this.#db = db;
    this.#lock = lock;
    this.#path = path;
    this.#log = log;
    this.#statements = new Statements(db);
    this.#fitting = new Fitting(db);
    this.#maxBytes = maxBytes;
    limitSize(db, maxBytes);
    if (path !== ':memory:') this.#file = statSync(path, { throwIfNoEntry: false });
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }

  put<K extends RecordKind>(kind: K, record: Records[K]): void {
    if (kind === 'task') this.#refuseIfNew(record);
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

  get problem(): 'damaged' | 'gone' | undefined {
    this.#checkFile();
    return this.#damage?.problem;
  }

  async all<K extends RecordKind>(kind: K): Promise<Records[K][]> {
    return this.#current((statements) => statements.all(kind));
  }

  async of<K extends OwnedKind>(kind: K, sessionId: string): Promise<Records[K][]> {
    return this.#current((statements) => statements.of(kind, sessionId));
  }

  async fit(sessionId: string, maxBytes: number, keepTasksUntil: number): Promise<Trimmed> {
    return this.#current(() => this.#fitting.fit(sessionId, maxBytes, keepTasksUntil));
  }

  async sessionsAtWork(): Promise<Set<string>> {
    return this.#current((statements) => statements.sessionsAtWork());
  }

  async dropOverdue(now: number): Promise<void> {
    await this.#current((statements) => statements.dropOverdue(now));
  }

  /** With all that is queued in it, so that nobody reads what is out of date. */
  async #current<T>(use: (statements: Statements) => T): Promise<T> {
    const begun = Date.now();
    for (;;) {
      if (this.#queue.size > 0) this.#flush();
      while (this.#queue.size > 0) await this.settled();
      if (this.#closing) throw this.#closedError();
      try {
        return use(this.#statements);
      } catch (error) {
        if (!isBusy(error) || Date.now() - begun > PATIENCE_MS) throw this.#inOurWords(error);
        await delay(BUSY_RETRY_MS);
      }
    }
  }

  #inOurWords(error: unknown): StoreError {
    const told = inOurWords(this.#path, error);
    if (told.code !== 'STORE_DAMAGED') return told;
    if (this.#damage === undefined) {
      const damage = new StoreError(told.code, `${told.message}; ${AT_THE_NEXT_START}`, { cause: told });
      this.#damage = { problem: 'damaged', found: Date.now(), error: damage, refused: new Set() };
      this.#log.error('store_damaged', {
        path: this.#path,
        keptAs: 'not yet: restart the gateway',
        error: told.message,
      });
    }
    return this.#damage.error;
  }

  /** SQLite goes on writing to a file that was deleted, and nobody would find there what was written. */
  #checkFile(): void {
    if (this.#file === undefined || this.#damage !== undefined) return;
    let now: Stats | undefined;
    try {
      now = statSync(this.#path, { throwIfNoEntry: false });
    } catch {
      // The folder cannot be read at the moment: that says nothing about the file.
      return;
    }
    if (now?.ino === this.#file.ino && now.dev === this.#file.dev) {
      this.#fileSeen = Date.now();
      return;
    }
    const message = `${this.#path}: the file was ${now === undefined ? 'deleted' : 'replaced'} while it was in use`;
    const error = new StoreError('STORE_DAMAGED', `${message}; restart the gateway`);
    this.#damage = { problem: 'gone', found: this.#fileSeen + 1, error, refused: new Set() };
    this.#log.error('store_gone', { path: this.#path, error: message });
    for (const change of this.#queue) {
      if (change.op === 'put' && change.kind === 'task') this.#refuseIfNew(change.record);
    }
  }

  /** Once for each: how it goes on with one that nobody was promised is told like that of any other. */
  #refuseIfNew({ id, createdAt }: { id: string; createdAt?: number }): void {
    if (this.#damage === undefined || createdAt === undefined) return;
    const { found, error, refused } = this.#damage;
    if (createdAt < found || refused.has(id)) return;
    refused.add(id);
    this.#refusal = error;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(this.#lastFlush());
    return this.#closing;
  }

  /** There is no later: this one waits, and nobody is served any more whom that could trouble. */
  #lastFlush(): StoreError | undefined {
    this.#db.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
    this.#busySince = -Infinity;
    const failure = this.#flush();
    clearTimeout(this.#retry);
    return failure;
  }

  async #close(failure: StoreError | undefined): Promise<void> {
    try {
      // Not signed off, a damaged one is looked through by whoever opens it next.
      if (this.#lock && !this.#damage) this.#db.exec('DELETE FROM owner; PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.#db.close();
      this.#lock?.release();
    }
    // What is in a damaged one was not said to be kept.
    if (failure && !this.#damage) throw failure;
  }

  #schedule(): void {
    // Whoever waits already waits for the next try.
    if (this.#busySince !== undefined && !this.#failing) return;
    this.#turn ??= setImmediate(() => this.#flush());
  }

  #flush(): StoreError | undefined {
    clearImmediate(this.#turn);
    clearTimeout(this.#retry);
    this.#turn = undefined;
    const failure = this.#queue.size === 0 ? undefined : this.#write();
    if (this.#queue.size === 0) this.#busySince = undefined;
    else if (!this.#closing) {
      const patient = this.#busySince !== undefined && !this.#failing;
      this.#retry = setTimeout(() => this.#flush(), patient ? BUSY_RETRY_MS : FAILING_RETRY_MS);
      if (patient) return failure;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (failure) waiting?.reject(failure);
    else waiting?.resolve();
    return failure;
  }

  #write(): StoreError | undefined {
    if (this.#closing) return this.#closedError();
    this.#checkFile();
    const rows = this.#serialise();
    try {
      transaction(this.#db, () => {
        for (const [change, data] of rows) this.#statements.make(change, data);
      });
    } catch (error) {
      return isFull(error) && this.#makeWay(rows) ? this.#write() : this.#failed(error);
    }
    this.#queue.clear();
    this.#busySince = undefined;
    if (this.#failing) this.#log.info('store_write_recovered', { changes: rows.length });
    this.#failing = false;
    const refusal = this.#refusal;
    this.#refusal = undefined;
    return refusal;
  }

  /**
   * The file may not grow any more: what is to be removed goes first, which makes room for the rest, and new events are not
   * stored. False if there is nothing of either.
   */
  #makeWay(rows: [Change, string][]): boolean {
    const drops = rows.filter(([{ op }]) => op !== 'put');
    const events = rows.filter(([change]) => change.op === 'put' && change.kind === 'event');
    if (drops.length + events.length === 0) return false;
    try {
      transaction(this.#db, () => {
        for (const [change, data] of drops) this.#statements.make(change, data);
      });
    } catch {
      return false;
    }
    for (const [change] of [...drops, ...events]) this.#queue.discard(change);
    if (Date.now() - this.#fullLoggedAt >= FULL_LOG_MS) {
      this.#fullLoggedAt = Date.now();
      this.#log.warn('store_full', { path: this.#path, maxBytes: this.#maxBytes });
    }
    return true;
  }

  /** A record that has no JSON (nested too deeply, say) is given up: kept, it would stop every later write. */
  #serialise(): [Change, string][] {
    const rows: [Change, string][] = [];
    for (const change of this.#queue) {
      if (change.op !== 'put') {
        rows.push([change, '']);
        continue;
      }
      try {
        rows.push([change, JSON.stringify(change.record)]);
      } catch (error) {
        this.#queue.discard(change);
        this.#refusal = this.#refused(change.kind, change.record.id, error);
      }
    }
    return rows;
  }

  #refused(kind: RecordKind, id: string, error: unknown): StoreError {
    this.#log.error('store_record_refused', { kind, id, error: messageOf(error) });
    return new StoreError('STORE_WRITE_FAILED', `${kind} ${id} cannot be stored: ${messageOf(error)}`, {
      cause: error,
    });
  }

  #failed(error: unknown): StoreError {
    const changes = this.#queue.size;
    this.#busySince = isBusy(error) ? (this.#busySince ?? Date.now()) : undefined;
    if (this.#busySince !== undefined && Date.now() - this.#busySince <= PATIENCE_MS) return this.#notWritten(error);
    if (!this.#failing) this.#log.error('store_write_failed', { path: this.#path, changes, error: messageOf(error) });
    this.#failing = true;
    const told = this.#inOurWords(error);
    return told.code === 'STORE_DAMAGED' ? told : this.#notWritten(error);
  }

  #notWritten(error: unknown): StoreError {
    const changes = this.#queue.size;
    const limit = isFull(error) && Number.isFinite(this.#maxBytes) ? ` (limits.storeBytes = ${this.#maxBytes})` : '';
    return new StoreError(
      'STORE_WRITE_FAILED',
      `${this.#path}: ${changes} changes could not be written and are kept for the next try: ${messageOf(error)}${limit}`,
      { cause: error },
    );
  }

  #closedError(): StoreError {
    return new StoreError('STORE_CLOSED', `${this.#path}: the store is closed`);
  }
}

/** SQLite counts in pages. What is in the log beside the file is limited too, once it has been moved into the file. */
function limitSize(db: Libsql.Database, maxBytes: number): void {
  if (!Number.isFinite(maxBytes)) return;
  const [{ page_size: pageSize } = { page_size: 4096 }] = db.pragma('page_size') as { page_size: number }[];
  db.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageSize)}; PRAGMA journal_size_limit = ${LOG_BYTES}`);
}

/** There is no room on the disk, or no more is allowed. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_FULL');
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
