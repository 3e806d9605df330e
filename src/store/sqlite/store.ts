/** The store on SQLite. */

import { randomBytes } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type Libsql from 'libsql';
import type { Observed } from '../../core/observer.ts';
import type { AuditLog } from '../../core/ports/audit-log.ts';
import type { ServerRecord, SessionRecord } from '../../core/ports/records.ts';
import type { ClaimedSession, DormantQuery, DormantSession, Store, StoreProblem } from '../../core/ports/store.ts';
import type { Log } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { SqliteAccounts } from './accounts.ts';
import { SqliteClaim, type ClaimParts } from './claim.ts';
import { fileOf, toStoreError, openDatabase } from './database.ts';
import { Fitting } from './fit.ts';
import { SqliteHistory } from './history.ts';
import { isBusy, lockStore, writeOwner, type StoreLock } from './lock.ts';
import { SqliteOutbox } from './outbox.ts';
import type { RecordKind, Records } from '../queue.ts';
import { PreparedStatements, Statements } from './statements.ts';
import { BUSY_RETRY_MS, PATIENCE_MS, Writer } from './writer.ts';

export interface SqliteStoreOptions {
  /** A file, or `:memory:`. */
  path: string;
  log: Log;
  /** Opened without the lock: another process may be using it. */
  shared?: boolean;
  /** How large the file may become. */
  maxBytes?: number;
  observed?: Observed;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { log, shared = false } = options;
  const path = await fileOf(options.path);
  if (shared || path === ':memory:') return new SqliteStore(await openDatabase(path), { ...options, path }, undefined);
  const lock = await lockStore(path);
  try {
    const db = await openDatabase(path).catch(async (error: unknown) => reopenAside(path, log, error));
    try {
      writeOwner(db);
    } catch (error) {
      db.close();
      throw toStoreError(path, error);
    }
    return new SqliteStore(db, { ...options, path }, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Moves a damaged store aside and opens a new one. */
async function reopenAside(path: string, log: Log, error: unknown): Promise<Libsql.Database> {
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

/** For reads that no queued change affects. */
const NO_SESSION = '';

/** How many session ids are read at once. */
const DORMANT_BATCH = 1000;

/** Only one gateway at a time uses the file. */
export class SqliteStore implements Store {
  readonly cluster = undefined;
  readonly history: SqliteHistory;
  readonly outbox: SqliteOutbox;
  readonly accounts: SqliteAccounts;
  readonly #claimed = new Set<string>();
  readonly #claimParts: ClaimParts;
  readonly #db: Libsql.Database;
  readonly #options: SqliteStoreOptions;
  readonly #statements: Statements;
  readonly #writer: Writer;
  /** Absent for a store that is only read, or in memory. */
  readonly #lock: StoreLock | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: Libsql.Database, options: SqliteStoreOptions, lock: StoreLock | undefined) {
    const { path, log, maxBytes = Infinity, observed = {} } = options;
    this.#db = db;
    this.#options = options;
    this.#lock = lock;
    const prepared = new PreparedStatements(db);
    this.#statements = new Statements(prepared, (record) => {
      log.error('record_set_aside', {
        ...record,
        fix: `it was moved to the table set_aside of ${path}; everything else continues`,
      });
    });
    this.history = new SqliteHistory(db, prepared, { path, maxBytes, log });
    this.outbox = new SqliteOutbox(db, prepared, path);
    this.accounts = new SqliteAccounts(prepared, path);
    this.#writer = new Writer(db, this.#statements, { path, log, maxBytes, observed });
    this.#claimParts = {
      claimed: this.#claimed,
      writer: this.#writer,
      fitting: new Fitting(prepared),
      current: async (sessionId, use) => this.#current(sessionId, use),
    };
  }

  async openAudit(): Promise<AuditLog> {
    const { SqliteAudit } = await import('./audit.ts');
    const { path, maxBytes = Infinity, log } = this.#options;
    return new SqliteAudit(this.#db, new PreparedStatements(this.#db), { path, maxBytes, log });
  }

  async claim(sessionId: string): Promise<ClaimedSession | undefined> {
    if (this.#claimed.has(sessionId)) return undefined;
    this.#claimed.add(sessionId);
    try {
      const record = await this.#current(sessionId, (statements) => statements.session(sessionId));
      return new SqliteClaim(sessionId, record, this.#claimParts);
    } catch (error) {
      this.#claimed.delete(sessionId);
      throw error;
    }
  }

  async sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    return this.#current(NO_SESSION, (statements) => statements.sessionsToResume());
  }

  async dormantSessions(query: DormantQuery): Promise<DormantSession[]> {
    const found: DormantSession[] = [];
    for (let { cursor } = query; ;) {
      const { length, last } = await this.#current(NO_SESSION, (statements) => {
        const ids = statements.sessionIds({ ...query, limit: DORMANT_BATCH, ...(cursor && { cursor }) });
        for (const { id } of ids) {
          if (found.length === query.limit) break;
          const session = this.#claimed.has(id) ? undefined : statements.dormantSession(id);
          if (session) found.push(session);
        }
        return { length: ids.length, last: ids.at(-1) };
      });
      if (found.length === query.limit || length < DORMANT_BATCH) return found;
      cursor = last;
    }
  }

  async states(principal: string): Promise<SessionRecord[]> {
    return this.#current(NO_SESSION, (statements) => statements.states(principal));
  }

  async dropIdle(before: number): Promise<void> {
    const idle = await this.#current(NO_SESSION, (statements) => statements.idleSessions(before));
    for (const id of idle) if (!this.#claimed.has(id)) this.drop('session', id);
  }

  async dropOverdue(now: number): Promise<void> {
    await this.#current(NO_SESSION, (statements) => statements.dropOverdue(now));
  }

  async addToCounter(name: string, amount: number, keepUntil: number): Promise<number> {
    return this.#current(NO_SESSION, (statements) => statements.addToCounter(name, amount, keepUntil));
  }

  async secret(name: string): Promise<Buffer> {
    return this.#current(NO_SESSION, (statements) => statements.secret(name, randomBytes(32)));
  }

  async servers(): Promise<ServerRecord[]> {
    return this.all('server');
  }

  putServer(record: ServerRecord): void {
    this.put('server', record);
  }

  dropServer(id: string): void {
    this.drop('server', id);
  }

  watchServers(): () => void {
    return () => {};
  }

  put<K extends RecordKind>(kind: K, record: Records[K]): void {
    this.#writer.put(kind, record);
  }

  drop(kind: RecordKind, id: string, sessionId?: string): void {
    this.#writer.drop(kind, id, sessionId);
  }

  settled(sessionId?: string): Promise<void> {
    return this.#writer.settled(sessionId);
  }

  get problem(): StoreProblem | undefined {
    return this.#writer.problem;
  }

  async all<K extends RecordKind>(kind: K): Promise<Records[K][]> {
    return this.#current(undefined, (statements) => statements.all(kind));
  }

  /** Reads after all queued changes of the session are written; those of others may have to wait. */
  async #current<T>(sessionId: string | undefined, use: (statements: Statements) => T): Promise<T> {
    const begun = Date.now();
    for (;;) {
      await this.#writer.written(sessionId);
      try {
        return use(this.#statements);
      } catch (error) {
        if (!isBusy(error) || Date.now() - begun > PATIENCE_MS) throw this.#writer.failureFrom(error);
        await delay(BUSY_RETRY_MS);
      }
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close(this.#writer.close());
    return this.#closing;
  }

  async #close(failure: StoreError | undefined): Promise<void> {
    const { isSound } = this.#writer;
    try {
      // With the owner left in place, the next start checks a damaged store.
      if (this.#lock && isSound) this.#db.exec('DELETE FROM owner; PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.#db.close();
      this.#lock?.release();
    }
    // Records of a damaged store were not reported as kept.
    if (failure && isSound) throw failure;
  }
}
