/**
 * Writes the changes of the store.
 *
 *   put, drop → queue → one transaction a turn of the event loop → settled
 *
 * A failed transaction leaves the queue as it was; the next change or the next `settled` tries again, and so does a
 * timer. In a full store each change is made by itself; what does not fit is set aside, and only a timer tries it again.
 * Writing is synchronous, so nothing can come into the queue while it is being written; for the same reason it
 * never waits for a lock that another program holds on the file, but retries later.
 */

import { statSync, type Stats } from 'node:fs';
import type Libsql from 'libsql';
import type { Observed } from '../../core/observer.ts';
import type { StoreProblem } from '../../core/ports/store.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { type Log, messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { toStoreError } from './database.ts';
import { isBusy } from './lock.ts';
import { type Change, ChangeQueue, concerns, type Put, type RecordKind, type Records } from '../queue.ts';
import { newPendingCommit, NOTHING_QUEUED, type PendingCommit } from '../pending-commit.ts';
import { Room } from './room.ts';
import type { Statements } from './statements.ts';
import { transaction } from './transaction.ts';

/** The event loop is blocked while a write waits inside SQLite. */
const BUSY_TIMEOUT_MS = 10;
/** How often a write to a locked file is retried. */
export const BUSY_RETRY_MS = 50;
/** How long reads and commits wait for a locked file before they fail. */
export const PATIENCE_MS = 2000;
/** How often writing to a failing store is retried. */
const FAILING_RETRY_MS = 1000;
/** How often a full store is logged. */
const FULL_LOG_MS = 10_000;

/** How much of what did not fit is retried in one turn once there is room again. */
const RETRY_BYTES = 4 * 1024 * 1024;

const AT_THE_NEXT_START = 'restart the gateway: it moves the file aside and creates a new one';

/** Why a record did not fit: because of the limit, or because the disk is full. */
interface Full {
  error: unknown;
  atLimit: boolean;
}

interface WriterOptions {
  path: string;
  log: Log;
  maxBytes: number;
  observed?: Observed;
}

export class Writer {
  readonly #db: Libsql.Database;
  readonly #path: string;
  readonly #log: Log;
  readonly #observed: Observed;
  readonly #statements: Statements;
  readonly #maxBytes: number;
  readonly #room: Room;
  readonly #queue = new ChangeQueue();
  #turn: NodeJS.Immediate | undefined;
  #retry: NodeJS.Timeout | undefined;
  #asideRetry: NodeJS.Timeout | undefined;
  /** Since when another process has locked the file. */
  #busySince: number | undefined;
  /** By the session whose changes they wait for; `undefined` for all. */
  #waiting = new Map<string | undefined, PendingCommit>();
  #failing = false;
  /** Why changes were set aside; absent while there are none. */
  #full: Full | undefined;
  #fullLoggedAt = -Infinity;
  /** The file as it was opened; absent in memory. */
  readonly #file: Pick<Stats, 'ino' | 'dev'> | undefined;
  /** When the file was last checked to be the same. */
  #fileSeen = Date.now();
  /** Damage found at run time. The next start would not find new records, so no new task is accepted. */
  #problem: { kind: StoreProblem; found: number; error: StoreError; refused: Set<string> } | undefined;
  /** Records that could not be stored: rejects the commits that wait for them. */
  #refusals: { put: Put; error: StoreError }[] = [];
  #closed = false;

  constructor(db: Libsql.Database, statements: Statements, { path, log, maxBytes, observed = {} }: WriterOptions) {
    this.#db = db;
    this.#statements = statements;
    this.#path = path;
    this.#log = log;
    this.#observed = observed;
    this.#maxBytes = maxBytes;
    this.#room = new Room(db, maxBytes);
    if (path !== ':memory:') this.#file = statSync(path, { throwIfNoEntry: false });
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }

  /** Whether changes of the session wait to be written; of any session if absent. */
  isQueued(sessionId: string | undefined): boolean {
    return this.#queue.has(sessionId);
  }

  /** Writes the session's changes, so that they can be read; those of others may have to wait. */
  async written(sessionId: string | undefined): Promise<void> {
    if (this.#queue.size > 0) this.#flush();
    while (this.isQueued(sessionId)) await this.settled(sessionId);
    if (this.#closed) throw this.#closedError();
  }
  put<K extends RecordKind>(kind: K, record: Records[K]): void {
    // `Put` is the union of exactly these pairs.
    const put = { op: 'put', kind, record } as unknown as Put;
    this.#refuseIfNew(put);
    this.#queue.put(put);
    this.#schedule();
  }

  drop(kind: RecordKind, id: string, sessionId?: string): void {
    this.#queue.drop(kind, id, sessionId);
    this.#schedule();
  }

  settled(sessionId?: string): Promise<void> {
    if (this.#queue.size === 0 && !this.#queue.isAside(sessionId)) return NOTHING_QUEUED;
    this.#schedule();
    const waiting = this.#waiting.get(sessionId) ?? newPendingCommit();
    this.#waiting.set(sessionId, waiting);
    return waiting.promise;
  }

  /** Whether no damage was found so far. */
  get isSound(): boolean {
    return this.#problem === undefined;
  }

  get problem(): StoreProblem | undefined {
    this.#checkFile();
    return this.#problem?.kind;
  }

  /** Also notes that the store is damaged. */
  failureFrom(error: unknown): StoreError {
    const told = toStoreError(this.#path, error);
    if (told.code !== 'STORE_DAMAGED') return told;
    if (this.#problem === undefined) {
      const error = new StoreError(told.code, `${told.message}; ${AT_THE_NEXT_START}`, { cause: told });
      this.#problem = { kind: 'damaged', found: Date.now(), error, refused: new Set() };
      this.#log.error('store_damaged', {
        path: this.#path,
        keptAs: 'not yet: restart the gateway',
        error: told.message,
      });
    }
    return this.#problem.error;
  }

  /** SQLite would keep writing to a deleted file, which the next start would not find. */
  #checkFile(): void {
    if (this.#file === undefined || this.#problem !== undefined) return;
    let now: Stats | undefined;
    try {
      now = statSync(this.#path, { throwIfNoEntry: false });
    } catch {
      // The folder cannot be read now, which says nothing about the file.
      return;
    }
    if (now?.ino === this.#file.ino && now.dev === this.#file.dev) {
      this.#fileSeen = Date.now();
      return;
    }
    const message = `${this.#path}: the file was ${now === undefined ? 'deleted' : 'replaced'} while it was in use`;
    const error = new StoreError('STORE_GONE', `${message}; restart the gateway`);
    this.#problem = { kind: 'gone', found: this.#fileSeen + 1, error, refused: new Set() };
    this.#log.error('store_gone', { path: this.#path, error: message });
    for (const change of this.#queue) if (change.op === 'put') this.#refuseIfNew(change);
  }

  /** Refuses each new task once; later changes of a refused task are written like any others. */
  #refuseIfNew(put: Put): void {
    if (this.#problem === undefined || put.kind !== 'task') return;
    const { id, createdAt } = put.record;
    const { found, error, refused } = this.#problem;
    if (createdAt < found || refused.has(id)) return;
    refused.add(id);
    this.#refusals.push({ put, error });
  }

  /** The last write may block, because no client is served any more. Returns the failure if something was not written. */
  close(): StoreError | undefined {
    this.#db.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
    this.#busySince = -Infinity;
    this.#queue.takeBack(Infinity, Infinity);
    const failure = this.#flush();
    clearTimeout(this.#retry);
    clearTimeout(this.#asideRetry);
    this.#closed = true;
    return failure;
  }

  #schedule(): void {
    // Pending commits wait for the next retry.
    if (this.#busySince !== undefined && !this.#failing) return;
    this.#turn ??= setImmediate(() => this.#flush());
  }

  #flush(): StoreError | undefined {
    clearImmediate(this.#turn);
    clearTimeout(this.#retry);
    this.#turn = undefined;
    const failure = this.#queue.size === 0 ? undefined : this.#writeObserved();
    if (this.#queue.size === 0) this.#busySince = undefined;
    else if (!this.#closed) {
      const patient = this.#busySince !== undefined && !this.#failing;
      this.#retry = setTimeout(() => this.#flush(), patient ? BUSY_RETRY_MS : FAILING_RETRY_MS);
      if (patient) return failure;
    }
    this.#asideRetry ??=
      this.#queue.asideCount > 0 ? setTimeout(() => this.#retryAside(), FAILING_RETRY_MS) : undefined;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [sessionId, { resolve, reject }] of waiting) {
      const own = failure ?? this.#failureFor(sessionId);
      if (own) reject(own);
      else resolve();
    }
    if (failure) return failure;
    const any = this.#failureFor(undefined);
    this.#refusals = [];
    return any;
  }

  /** The failure of a change that concerns the session, if the rest was written. */
  #failureFor(sessionId: string | undefined): StoreError | undefined {
    const refusal = this.#refusals.find(({ put }) => concerns(put, sessionId));
    if (refusal) return refusal.error;
    if (this.#full === undefined || !this.#queue.isAside(sessionId)) return undefined;
    const limit = this.#full.atLimit ? ` (limits.storeBytes = ${this.#maxBytes})` : '';
    return this.#notWritten(this.#full.error, this.#queue.asideCount, limit);
  }

  #writeObserved(): StoreError | undefined {
    const { observer } = this.#observed;
    if (observer === undefined) return this.#write();
    const begun = performance.now();
    const failure = this.#write();
    observer.storeCommitted((performance.now() - begun) / 1000, failure === undefined ? 'stored' : 'failed');
    return failure;
  }

  #write(): StoreError | undefined {
    if (this.#closed) return this.#closedError();
    this.#checkFile();
    const rows = this.#serialise();
    try {
      this.#make(rows);
      this.#queue.clear();
    } catch (error) {
      if (!isFull(error)) return this.#failed(error);
      const failure = this.#writeWhatFits(rows);
      if (failure) return failure;
    }
    this.#busySince = undefined;
    const roomAgain = this.#full !== undefined && this.#queue.asideCount === 0;
    if (roomAgain) this.#full = undefined;
    if (this.#failing || roomAgain) this.#log.info('store_write_recovered', { changes: rows.length });
    this.#failing = false;
    return undefined;
  }

  #make(rows: [Change, string][]): void {
    transaction(this.#db, () => {
      for (const [change, data] of rows) this.#statements.make(change, data);
    });
  }

  /** For a full store: writes removals first, then each record that fits. */
  #writeWhatFits(rows: [Change, string][]): StoreError | undefined {
    try {
      const drops = rows.filter(([{ op }]) => op !== 'put');
      this.#make(drops);
      for (const [change] of drops) this.#queue.discard(change);
      for (const [change, data] of rows) if (change.op === 'put') this.#putIfItFits(change, data);
      return undefined;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #putIfItFits(put: Put, data: string): void {
    const bytes = Buffer.byteLength(data);
    try {
      // A record that certainly does not fit is not tried.
      if (bytes > this.#room.left) throw new FullError();
      this.#make([[put, data]]);
      this.#queue.discard(put);
    } catch (error) {
      if (!isFull(error)) throw error;
      const atLimit = this.#room.isShortOf(bytes);
      if (put.kind === 'event' && atLimit) this.#dropEvent(put);
      else this.#setAside(put, bytes, { error, atLimit });
    }
  }

  /** Beyond the limit, tasks and questions are worth more than events. */
  #dropEvent(put: Put): void {
    this.#queue.discard(put);
    if (Date.now() - this.#fullLoggedAt < FULL_LOG_MS) return;
    this.#fullLoggedAt = Date.now();
    this.#log.warn('store_full', { path: this.#path, maxBytes: this.#maxBytes });
  }

  #setAside(put: Put, bytes: number, full: Full): void {
    this.#queue.setAside(put, bytes);
    if (this.#full === undefined) {
      this.#log.error('store_write_failed', { path: this.#path, changes: 1, error: messageOf(full.error) });
    }
    this.#full = full;
  }

  /** The smallest alone shows whether there is room again. */
  #retryAside(most = 0): void {
    this.#asideRetry = undefined;
    const before = this.#queue.asideCount;
    this.#queue.takeBack(this.#room.left, most);
    this.#flush();
    const left = this.#queue.asideCount;
    if (left === 0 || left >= before || this.#closed) return;
    clearTimeout(this.#asideRetry);
    this.#asideRetry = setTimeout(() => this.#retryAside(RETRY_BYTES));
  }

  /** Discards a record that cannot be serialized, for example if nested too deeply: it would block every later write. */
  #serialise(): [Change, string][] {
    const rows: [Change, string][] = [];
    for (const change of this.#queue) {
      if (change.op !== 'put') {
        rows.push([change, '']);
        continue;
      }
      try {
        rows.push([change, stringifyExact(change.record)]);
      } catch (error) {
        this.#queue.discard(change);
        this.#refusals.push({ put: change, error: this.#refused(change.kind, change.record.id, error) });
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
    const told = this.failureFrom(error);
    return told.code === 'STORE_DAMAGED' ? told : this.#notWritten(error);
  }

  #notWritten(error: unknown, changes = this.#queue.size, limit = ''): StoreError {
    return new StoreError(
      'STORE_WRITE_FAILED',
      `${this.#path}: ${changes} changes could not be written and will be retried: ${messageOf(error)}${limit}`,
      { cause: error },
    );
  }

  #closedError(): StoreError {
    return new StoreError('STORE_CLOSED', `${this.#path}: the store is closed`);
  }
}

/** For a record that is larger than the remaining room, with SQLite's message. */
class FullError extends Error {
  readonly code = 'SQLITE_FULL';

  constructor() {
    super('database or disk is full');
  }
}

/** The disk is full, or the limit is reached. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_FULL');
}
