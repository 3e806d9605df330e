/** The notification queue in the database. All gateways add to it, and each sends the notifications it has claimed. */

import type { ClaimedNotice, NoticeClaim, NoticeState, Outbox, QueuedNotice } from '../../core/ports/outbox.ts';
import {
  CLAIM_GATEWAY,
  claimedNotice,
  countWaiting,
  newClaim,
  noticeState,
  noticeValues,
  outboxStatements,
} from '../outbox/sql.ts';
import { holdsWithin } from './cluster.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { SCHEMA } from './schema.ts';

const SQL = outboxStatements({
  schema: `${SCHEMA}.`,
  parameter: (place) => `$${place}`,
  listOf: (parameter) => `SELECT value FROM json_array_elements_text(${parameter}::text::json)`,
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  noLimit: '',
  isGone: `NOT EXISTS (SELECT FROM ${SCHEMA}.leases
    WHERE leases.gateway = ${CLAIM_GATEWAY} AND ${holdsWithin('leases.until', '$3')})`,
});

export class PostgresOutbox implements Outbox {
  readonly #db: Database;
  readonly #gateway: string;

  constructor(db: Database, gateway: string) {
    this.#db = db;
    this.#gateway = gateway;
  }

  async add(notices: readonly QueuedNotice[]): Promise<void> {
    // There are few at a time, and each is retried separately.
    for (const notice of notices) await this.#run(SQL.add, ...noticeValues(notice));
  }

  async drop(subjects: readonly string[]): Promise<void> {
    if (subjects.length > 0) await this.#run(SQL.drop, JSON.stringify(subjects));
  }

  async due(now: number): Promise<{ targets: string[]; nextAt?: number }> {
    const targets = (await this.#run(SQL.dueTargets, now)).map((row) => String(row['target']));
    const next = (await this.#run(SQL.nextDue, now))[0]?.['next'];
    return { targets, ...(typeof next === 'number' && { nextAt: next }) };
  }

  /** If the answer is lost, the notifications are due again when the claim ends. */
  async claim({ target, now, until, limit }: NoticeClaim): Promise<ClaimedNotice[]> {
    return (await this.#run(SQL.claim, until, newClaim(this.#gateway), target, now, limit)).map(claimedNotice);
  }

  async reclaim(now: number, graceMs: number): Promise<void> {
    await this.#run(SQL.reclaim, now, this.#gateway, graceMs);
  }

  async postpone(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { dueAt, attempts, error }: { dueAt: number; attempts: number; error?: string },
  ): Promise<void> {
    await this.#run(SQL.postpone, dueAt, attempts, error === undefined ? null : storable(error), id, claim);
  }

  async end(
    { id, claim }: Pick<ClaimedNotice, 'id' | 'claim'>,
    { state, at, error }: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void> {
    if (state === 'delivered') await this.#run(SQL.delivered, at, id);
    else await this.#run(SQL.failed, at, error === undefined ? null : storable(error), id, claim);
  }

  async list(limit: number): Promise<NoticeState[]> {
    return (await this.#run(SQL.list, limit)).map(noticeState);
  }

  async trim(now: number, most: number): Promise<ReadonlyMap<string, number>> {
    await this.#run(SQL.trimOld, now);
    return countWaiting(await this.#run(SQL.trimMost, most));
  }

  /** Every statement may run twice. */
  async #run(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#db.read(sql, values, 'history');
  }
}

/** Removes characters that PostgreSQL cannot store. */
const storable = (text: string): string => text.replaceAll(/\0|\p{Surrogate}/gu, '\u{FFFD}');
