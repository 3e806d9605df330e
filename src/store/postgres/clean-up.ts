/**
 * Deletes expired records and idle, unclaimed sessions. It processes chunks in the order of an index: no statement takes
 * long, however many records there are.
 */

import { stringifyExact } from '../../lib/exact-json.ts';
import type { OwnedKind } from '../queue.ts';
import { OWNED_BY_A_SESSION, TABLES } from '../records.ts';
import { CLAIM_HOLDS } from './cluster.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import type { RecordReader } from './records.ts';
import { SCHEMA } from './schema.ts';
import type { Writer } from './writer.ts';

/** The number of records per statement. */
const CHUNK = 1000;

/** The records after the position in $3 and $4. */
const lookAt = (table: string, column: string, columns = ''): string => `looked_at AS MATERIALIZED (
    SELECT id, ${column} AS place ${columns} FROM ${SCHEMA}.${table} WHERE ${column} <= $1
      AND (${column}, id) > ($3::double precision, $4) ORDER BY ${column}, id LIMIT ${CHUNK}),
  last AS (SELECT place, id FROM looked_at ORDER BY place DESC, id DESC
    LIMIT CASE WHEN (SELECT count(*) FROM looked_at) = ${CHUNK} THEN 1 ELSE 0 END)`;

/** The owner of a session decides by its own clock. */
const IS_FREE = `NOT EXISTS (SELECT FROM ${SCHEMA}.claims
  WHERE claims.session_id = looked_at.session_id AND gateway <> $2 AND ${CLAIM_HOLDS})`;

const dropTasks = (
  which: string,
): string => `gone AS (DELETE FROM ${SCHEMA}.tasks WHERE id IN (SELECT tasks.id FROM looked_at
    JOIN ${SCHEMA}.tasks ON tasks.id = looked_at.id WHERE ${which} AND ${IS_FREE} FOR UPDATE OF tasks SKIP LOCKED) RETURNING 1)
  SELECT (SELECT count(*) FROM gone) AS count, (SELECT place FROM last) AS place, (SELECT id FROM last) AS last`;

const DROP_OVERDUE = `WITH ${lookAt('tasks', 'keep_until', ', session_id')}, ${dropTasks('tasks.keep_until <= $1')}`;

const END = `(tasks.data::json->>'updatedAt')::double precision`;
const DROP_ENDED = `WITH ${lookAt('tasks', 'keep_until', ', session_id')},
  ${dropTasks(`tasks.keep_until IS NOT NULL AND ${END} < $5`)}`;

/** Also returns earlier claims of this gateway, which it may not know if an answer was lost. */
const claimIdle = (which = ''): string => `WITH ${lookAt('sessions', 'last_active_at')},
  claimed AS (INSERT INTO ${SCHEMA}.claims (session_id, gateway, fence)
    SELECT id, $2, nextval('${SCHEMA}.fences') FROM looked_at WHERE EXISTS (SELECT FROM ${SCHEMA}.gateways WHERE gateways.id = $2)
      AND NOT EXISTS (SELECT FROM ${SCHEMA}.claims WHERE session_id = looked_at.id AND (gateway = $2 OR ${CLAIM_HOLDS})) ${which}
    ON CONFLICT (session_id) DO UPDATE SET gateway = excluded.gateway, fence = excluded.fence
      WHERE excluded.fence > claims.fence AND claims.gateway <> excluded.gateway AND NOT ${CLAIM_HOLDS}
    RETURNING session_id, fence)
  SELECT session_id, fence, place, last FROM (SELECT (SELECT place FROM last) AS place, (SELECT id FROM last) AS last) chunk
  LEFT JOIN (SELECT * FROM claimed UNION ALL
    SELECT session_id, fence FROM ${SCHEMA}.claims JOIN looked_at ON id = session_id WHERE gateway = $2) found ON true`;

const CLAIM_IDLE = claimIdle();
const CLAIM_FINISHED = claimIdle(
  `AND NOT EXISTS (SELECT FROM ${SCHEMA}.tasks WHERE tasks.session_id = looked_at.id AND keep_until IS NULL)`,
);

const KEYS = 'keys AS (SELECT value AS key FROM json_array_elements_text($1::text::json))';
const keysOf = (rows: readonly Row[]): string => stringifyExact(rows.map(({ session_id: key }) => key));

const STILL_IDLE = `WITH ${KEYS} SELECT id FROM ${SCHEMA}.sessions JOIN keys ON id = key WHERE last_active_at <= $2`;

const RELEASE = `DELETE FROM ${SCHEMA}.claims WHERE session_id = $1 AND fence = $2`;

export interface CleanUpParts {
  db: Database;
  reader: RecordReader;
  writer: Writer;
  /** The id of this gateway. */
  gateway: string;
  /** Whether this gateway knows that it owns the session, or is about to write to it. */
  isHeld: (sessionId: string) => boolean;
}

export type Removed = Record<OwnedKind | 'session', number>;

export class CleanUp {
  readonly #parts: CleanUpParts;

  constructor(parts: CleanUpParts) {
    this.#parts = parts;
  }

  /** Drops expired tasks; resolves with their number. */
  async dropOverdue(now: number): Promise<number> {
    return this.#dropTasks(DROP_OVERDUE, now);
  }

  /** Drops tasks that ended before this time, even if they should be kept longer. */
  async dropEnded(before: number): Promise<number> {
    return this.#dropTasks(DROP_ENDED, 'Infinity', before);
  }

  async #dropTasks(sql: string, until: SqlValue, ...more: SqlValue[]): Promise<number> {
    let dropped = 0;
    for await (const [row] of this.#chunks(sql, until, more)) dropped += Number(row?.['count']);
    return dropped;
  }

  /** Drops sessions that were last active at this time or earlier. */
  async dropIdle(before: number): Promise<void> {
    await this.#dropSessions(CLAIM_IDLE, before);
  }

  /** Drops those without unfinished tasks; reports the counts of each chunk. */
  async dropFinished(before: number, onChunk: (removed: Removed) => Promise<void>): Promise<void> {
    await this.#dropSessions(CLAIM_FINISHED, before, async (rows) => onChunk(await this.#sizeOf(rows)));
  }

  async #dropSessions(sql: string, before: number, onChunk?: (rows: readonly Row[]) => Promise<void>): Promise<void> {
    const { writer } = this.#parts;
    for await (const rows of this.#chunks(sql, before)) {
      const idle = await this.#idleOf(rows, before);
      await onChunk?.(idle.map(({ row }) => row));
      for (const { row, sessionId } of idle) writer.erase({ sessionId, fence: Number(row['fence']), lost: false });
    }
  }

  /** The claimed sessions to delete; unknown claims on other sessions are released. */
  async #idleOf(rows: readonly Row[], before: number): Promise<{ row: Row; sessionId: string }[]> {
    const { db, reader, isHeld } = this.#parts;
    const claimed = rows.filter(({ fence }) => fence !== null);
    const still = claimed.length === 0 ? [] : await db.read(STILL_IDLE, [keysOf(claimed), before]);
    const idleKeys = new Set(still.map(({ id }) => id));
    const idle: { row: Row; sessionId: string }[] = [];
    for (const row of claimed) {
      const { session_id: key, fence } = row;
      const sessionId = await reader.idOf('session', String(key));
      if (sessionId !== undefined && isHeld(sessionId)) continue;
      if (sessionId !== undefined && idleKeys.has(key)) idle.push({ row, sessionId });
      // It was set aside, or used just before it was claimed.
      else await db.read(RELEASE, [String(key), Number(fence)]);
    }
    return idle;
  }

  /** The record counts of the sessions in these rows. */
  async #sizeOf(rows: readonly Row[]): Promise<Removed> {
    const counts = OWNED_BY_A_SESSION.map(
      (kind) =>
        `(SELECT count(*) FROM ${SCHEMA}.${TABLES[kind]} WHERE session_id IN (SELECT key FROM keys)) AS ${kind}`,
    );
    const [row] = await this.#parts.db.read(`WITH ${KEYS} SELECT ${counts.join(', ')}`, [keysOf(rows)]);
    const count = (kind: OwnedKind): number => Number(row?.[kind]);
    const owned = { task: count('task'), question: count('question'), event: count('event') };
    return { session: rows.length, ...owned, subscription: count('subscription') };
  }

  /** The results of a statement for each chunk; pending writes run between chunks. */
  async *#chunks(sql: string, until: SqlValue, more: readonly SqlValue[] = []): AsyncGenerator<Row[]> {
    const { db, writer, gateway } = this.#parts;
    let [place, last]: unknown[] = ['-Infinity', ''];
    while (typeof last === 'string') {
      await writer.written(undefined);
      const rows = await db.read(sql, [until, gateway, String(place), last, ...more]);
      yield rows;
      place = rows[0]?.['place'];
      last = rows[0]?.['last'];
    }
  }
}
