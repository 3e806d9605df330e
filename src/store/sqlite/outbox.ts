/** The notification queue in the store file. */

import { randomUUID } from 'node:crypto';
import type Libsql from 'libsql';
import type { ClaimedNotice, NoticeClaim, NoticeState, Outbox, QueuedNotice } from '../../core/ports/outbox.ts';
import { claimedNotice, countWaiting, newClaim, noticeState, noticeValues, outboxStatements } from '../outbox/sql.ts';
import { CheckedStatements } from './checked-statements.ts';
import type { PreparedStatements } from './statements.ts';
import { transaction } from './transaction.ts';

const SQL = outboxStatements({
  schema: '',
  parameter: (place) => `?${place}`,
  listOf: (parameter) => `SELECT value FROM json_each(${parameter})`,
  // No other gateway uses the file.
  skipLocked: '',
  noLimit: 'LIMIT -1',
  // Other claims are from earlier processes.
  isGone: '?3 IS NOT NULL',
});

export class SqliteOutbox implements Outbox {
  readonly #db: Libsql.Database;
  readonly #prepared: PreparedStatements;
  readonly #statements: CheckedStatements;
  /** Identifies the claims of this process. */
  readonly #runId = randomUUID();

  constructor(db: Libsql.Database, prepared: PreparedStatements, path: string) {
    this.#db = db;
    this.#prepared = prepared;
    this.#statements = new CheckedStatements(prepared, path);
  }

  async add(notices: readonly QueuedNotice[]): Promise<void> {
    if (notices.length === 0) return;
    this.#statements.check(() =>
      transaction(this.#db, () => {
        for (const notice of notices) this.#prepared.get(SQL.add).run(...noticeValues(notice));
      }),
    );
  }

  async drop(subjects: readonly string[]): Promise<void> {
    if (subjects.length > 0) this.#statements.run(SQL.drop, JSON.stringify(subjects));
  }

  async due(now: number): Promise<{ targets: string[]; nextAt?: number }> {
    const targets = this.#statements.rows(SQL.dueTargets, now).map((row) => String(row['target']));
    const next = this.#statements.rows(SQL.nextDue, now)[0]?.['next'];
    return { targets, ...(typeof next === 'number' && { nextAt: next }) };
  }

  async claim({ target, now, until, limit }: NoticeClaim): Promise<ClaimedNotice[]> {
    return this.#statements.rows(SQL.claim, until, newClaim(this.#runId), target, now, limit).map(claimedNotice);
  }

  async reclaim(now: number, graceMs: number): Promise<void> {
    this.#statements.run(SQL.reclaim, now, this.#runId, graceMs);
  }

  async postpone(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { dueAt, attempts, error }: { dueAt: number; attempts: number; error?: string },
  ): Promise<void> {
    this.#statements.run(SQL.postpone, dueAt, attempts, error ?? null, id, claim);
  }

  async end(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { state, at, error }: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void> {
    if (state === 'delivered') this.#statements.run(SQL.delivered, at, id);
    else this.#statements.run(SQL.failed, at, error ?? null, id, claim);
  }

  async list(limit: number): Promise<NoticeState[]> {
    return this.#statements.rows(SQL.list, limit).map(noticeState);
  }

  async trim(now: number, most: number): Promise<ReadonlyMap<string, number>> {
    this.#statements.run(SQL.trimOld, now);
    return countWaiting(this.#statements.rows(SQL.trimMost, most));
  }
}
