/** The SQL of the notification queue, for both databases. */

import { randomUUID } from 'node:crypto';
import type { ClaimedNotice, NoticeState, QueuedNotice } from '../../core/ports/outbox.ts';

export interface OutboxDialect {
  /** The prefix of table names. */
  schema: string;
  parameter: (place: number) => string;
  /** The values of a JSON list parameter. */
  listOf: (parameter: string) => string;
  /** Skips rows that another gateway is claiming. */
  skipLocked: string;
  /** All rows, before an offset. */
  noLimit: string;
  /** Whether the gateway of a claim is dead. The third parameter: how long ago its lease must have ended. */
  isGone: string;
}

export interface OutboxStatements {
  add: string;
  drop: string;
  dueTargets: string;
  nextDue: string;
  claim: string;
  reclaim: string;
  postpone: string;
  delivered: string;
  failed: string;
  list: string;
  trimOld: string;
  trimMost: string;
}

/** Queued notifications of a removed target are deleted this long after their last retry time. */
const UNCLAIMED_MS = 3_600_000;

/** The gateway of a claim, which starts with its id. */
export const CLAIM_GATEWAY = 'substr(claim, 1, 36)';

export const newClaim = (gateway: string): string => `${gateway}/${randomUUID()}`;

const NOTICE = 'id, target, subject, created_at, due_at, give_up_at, keep_until, attempts, data';

/** A claim postpones the due time of a row, so it expires even if its gateway dies unnoticed. */
export function outboxStatements({ schema, parameter: p, ...dialect }: OutboxDialect): OutboxStatements {
  const table = `${schema}outbox`;
  const listed = dialect.listOf(p(1));
  return {
    add: `INSERT INTO ${table} (${NOTICE}, state)
      VALUES (${Array.from({ length: 9 }, (_, index) => p(index + 1)).join(', ')}, 'waiting') ON CONFLICT (id) DO NOTHING`,
    drop: `DELETE FROM ${table} WHERE state = 'waiting' AND subject IN (${listed})`,
    dueTargets: `SELECT DISTINCT target FROM ${table} WHERE state = 'waiting' AND due_at <= ${p(1)} ORDER BY target`,
    nextDue: `SELECT min(due_at) AS next FROM ${table} WHERE state = 'waiting' AND due_at > ${p(1)}`,
    // Materialized before the update: as a subquery, it might be evaluated for every row.
    claim: `WITH chosen AS MATERIALIZED (SELECT id AS chosen_id FROM ${table}
        WHERE state = 'waiting' AND target = ${p(3)} AND due_at <= ${p(4)}
        ORDER BY due_at, id LIMIT ${p(5)} ${dialect.skipLocked})
      UPDATE ${table} SET due_at = ${p(1)}, claim = ${p(2)}, attempts = attempts + 1 FROM chosen WHERE id = chosen_id
      RETURNING ${NOTICE}, claim`,
    reclaim: `UPDATE ${table} SET due_at = ${p(1)}, claim = NULL
      WHERE state = 'waiting' AND claim IS NOT NULL AND due_at > ${p(1)} AND ${CLAIM_GATEWAY} <> ${p(2)} AND ${dialect.isGone}`,
    postpone: `UPDATE ${table} SET due_at = ${p(1)}, attempts = ${p(2)}, error = coalesce(${p(3)}, error), claim = NULL
      WHERE id = ${p(4)} AND claim = ${p(5)} AND state = 'waiting'`,
    delivered: `UPDATE ${table} SET state = 'delivered', ended_at = ${p(1)}, error = NULL, claim = NULL, data = ''
      WHERE id = ${p(2)}`,
    failed: `UPDATE ${table} SET state = 'failed', ended_at = ${p(1)}, error = coalesce(${p(2)}, error), claim = NULL, data = ''
      WHERE id = ${p(3)} AND claim = ${p(4)} AND state = 'waiting'`,
    list: `SELECT id, target, subject, created_at, due_at, attempts, state, ended_at, error FROM ${table}
      WHERE state <> 'delivered' ORDER BY created_at DESC, id LIMIT ${p(1)}`,
    trimOld: `DELETE FROM ${table} WHERE (state <> 'waiting' AND keep_until <= ${p(1)})
      OR (state = 'waiting' AND give_up_at <= ${p(1)} - ${UNCLAIMED_MS})`,
    trimMost: `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table}
      ORDER BY CASE state WHEN 'waiting' THEN 0 ELSE 1 END, created_at DESC, id ${dialect.noLimit} OFFSET ${p(1)})
      RETURNING target, state`,
  };
}

/** The values of a row, in the order of `add`. */
export function noticeValues(notice: QueuedNotice): (string | number)[] {
  const { id, target, subject, createdAt, dueAt, giveUpAt, keepUntil, attempts, data } = notice;
  return [id, target, subject, createdAt, dueAt, giveUpAt, keepUntil, attempts, data];
}

type Row = Record<string, unknown>;

export function claimedNotice(row: Row): ClaimedNotice {
  return {
    id: String(row['id']),
    target: String(row['target']),
    subject: String(row['subject']),
    createdAt: Number(row['created_at']),
    dueAt: Number(row['due_at']),
    giveUpAt: Number(row['give_up_at']),
    keepUntil: Number(row['keep_until']),
    attempts: Number(row['attempts']),
    data: String(row['data']),
    claim: String(row['claim']),
    // The claim has postponed it.
    until: Number(row['due_at']),
  };
}

/** The number of unsent notifications among the deleted ones. */
export function countWaiting(deleted: readonly Row[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { target, state } of deleted) {
    if (state === 'waiting') counts.set(String(target), (counts.get(String(target)) ?? 0) + 1);
  }
  return counts;
}

export function noticeState(row: Row): NoticeState {
  const { id, target, subject, createdAt, dueAt, attempts } = claimedNotice(row);
  const { state, ended_at: endedAt, error } = row;
  return {
    id,
    target,
    subject,
    createdAt,
    dueAt,
    attempts,
    state: state as NoticeState['state'],
    ...(endedAt !== null && { endedAt: Number(endedAt) }),
    ...(typeof error === 'string' && { error }),
  };
}
