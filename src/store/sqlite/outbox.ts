/** The queue of notifications in the file of the store. */

import { randomUUID } from 'node:crypto';
import type Libsql from 'libsql';
import type { ClaimedNotice, NoticeClaim, NoticeState, Outbox, QueuedNotice } from '../../core/ports.ts';
import { claimedNotice, noticeState, noticeValues, outboxStatements } from '../outbox/sql.ts';
import { toStoreError } from './database.ts';
import type { PreparedStatements } from './statements.ts';
import { transaction } from './transaction.ts';

const SQL = outboxStatements({
  schema: '',
  parameter: (place) => `?${place}`,
  listOf: (parameter) => `SELECT value FROM json_each(${parameter})`,
  // No other gateway uses the file.
  skipLocked: '',
  noLimit: 'LIMIT -1',
});

type Value = string | number | null;
type Row = Record<string, unknown>;

export class SqliteOutbox implements Outbox {
  readonly #db: Libsql.Database;
  readonly #prepared: PreparedStatements;
  readonly #path: string;

  constructor(db: Libsql.Database, prepared: PreparedStatements, path: string) {
    this.#db = db;
    this.#prepared = prepared;
    this.#path = path;
  }

  async add(notices: readonly QueuedNotice[]): Promise<void> {
    if (notices.length === 0) return;
    this.#try(() =>
      transaction(this.#db, () => {
        for (const notice of notices) this.#prepared.get(SQL.add).run(...noticeValues(notice));
      }),
    );
  }

  async drop(subjects: readonly string[]): Promise<void> {
    if (subjects.length > 0) this.#run(SQL.drop, JSON.stringify(subjects));
  }

  async due(now: number): Promise<{ targets: string[]; nextAt?: number }> {
    const targets = this.#rows(SQL.dueTargets, now).map((row) => String(row['target']));
    const next = this.#rows(SQL.nextDue, now)[0]?.['next'];
    return { targets, ...(typeof next === 'number' && { nextAt: next }) };
  }

  async claim({ target, now, until, limit }: NoticeClaim): Promise<ClaimedNotice[]> {
    return this.#rows(SQL.claim, until, randomUUID(), target, now, limit).map(claimedNotice);
  }

  async postpone(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { dueAt, attempts, error }: { dueAt: number; attempts: number; error?: string },
  ): Promise<void> {
    this.#run(SQL.postpone, dueAt, attempts, error ?? null, id, claim);
  }

  async end(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { state, at, error }: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void> {
    if (state === 'delivered') this.#run(SQL.delivered, at, id);
    else this.#run(SQL.failed, at, error ?? null, id, claim);
  }

  async list(limit: number): Promise<NoticeState[]> {
    return this.#rows(SQL.list, limit).map(noticeState);
  }

  async trim(now: number, most: number): Promise<void> {
    this.#run(SQL.trimOld, now);
    this.#run(SQL.trimMost, most);
  }

  #rows(sql: string, ...values: Value[]): Row[] {
    return this.#try(() => this.#prepared.get(sql).all(...values) as Row[]);
  }

  #run(sql: string, ...values: Value[]): void {
    this.#try(() => this.#prepared.get(sql).run(...values));
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toStoreError(this.#path, error);
    }
  }
}
