/** Deletes what is over and what no gateway has, some of it at a time: no statement takes long, however much there is. */

import { OWNED_BY_A_SESSION, TABLES } from '../records.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { OwnedKind } from '../queue.ts';
import { CLAIM_HOLDS } from './cluster.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import type { RecordReader } from './records.ts';
import { SCHEMA } from './schema.ts';
import type { Writer } from './writer.ts';

/** How many records one statement deletes. */
const CHUNK = 1000;
/** How many records one statement looks at that are not in the order of an index. */
const WINDOW = 5000;

/** Who has claimed a session decides by its own clock. */
const IS_FREE = `NOT EXISTS (SELECT FROM ${SCHEMA}.claims
  WHERE claims.session_id = tasks.session_id AND gateway <> $2 AND ${CLAIM_HOLDS})`;

/** In the order of the index: otherwise a plan that fits any time would look at all of them. */
const DROP_OVERDUE = `WITH gone AS (DELETE FROM ${SCHEMA}.tasks WHERE id IN (SELECT id FROM ${SCHEMA}.tasks
    WHERE keep_until <= $1 AND ${IS_FREE} ORDER BY keep_until LIMIT ${CHUNK} FOR UPDATE SKIP LOCKED) RETURNING 1)
  SELECT count(*) AS count FROM gone`;

const DROP_ENDED = `WITH looked_at AS MATERIALIZED (SELECT id, session_id, keep_until, data FROM ${SCHEMA}.tasks WHERE id > $3
    ORDER BY id LIMIT ${WINDOW}),
  gone AS (DELETE FROM ${SCHEMA}.tasks WHERE id IN (SELECT id FROM looked_at AS tasks WHERE keep_until IS NOT NULL
    AND (data::json->>'updatedAt')::double precision < $1 AND ${IS_FREE}) RETURNING 1)
  SELECT (SELECT count(*) FROM gone) AS count, CASE WHEN count(*) = ${WINDOW} THEN max(id) END AS last FROM looked_at`;

const claimIdle = (which = ''): string => `INSERT INTO ${SCHEMA}.claims (session_id, gateway, fence)
  SELECT id, $2, nextval('${SCHEMA}.fences') FROM (SELECT id FROM ${SCHEMA}.sessions
    WHERE last_active_at <= $1 AND EXISTS (SELECT FROM ${SCHEMA}.gateways WHERE gateways.id = $2)
      AND NOT EXISTS (SELECT FROM ${SCHEMA}.claims WHERE session_id = id AND (gateway = $2 OR ${CLAIM_HOLDS})) ${which}
    ORDER BY last_active_at LIMIT ${CHUNK}) idle
  ON CONFLICT (session_id) DO UPDATE SET gateway = excluded.gateway, fence = excluded.fence
    WHERE claims.gateway <> excluded.gateway AND NOT ${CLAIM_HOLDS}
  RETURNING session_id, fence`;

const CLAIM_IDLE = claimIdle();
const CLAIM_FINISHED = claimIdle(
  `AND NOT EXISTS (SELECT FROM ${SCHEMA}.tasks WHERE tasks.session_id = sessions.id AND keep_until IS NULL)`,
);

export interface CleanUpParts {
  db: Database;
  reader: RecordReader;
  writer: Writer;
  /** The id of this gateway. */
  gateway: string;
}

export class CleanUp {
  readonly #parts: CleanUpParts;

  constructor(parts: CleanUpParts) {
    this.#parts = parts;
  }

  /** Tasks that need not be kept any longer; resolves with their number. */
  async dropOverdue(now: number): Promise<number> {
    const { db, writer, gateway } = this.#parts;
    await writer.written(undefined);
    let dropped = 0;
    for (let count = CHUNK; count === CHUNK; dropped += count) {
      count = countIn(await db.read(DROP_OVERDUE, [now, gateway]));
    }
    return dropped;
  }

  /** Tasks that ended before. */
  async dropEnded(before: number): Promise<number> {
    const { db, gateway } = this.#parts;
    let dropped = 0;
    for (let after: unknown = ''; typeof after === 'string';) {
      const rows: Row[] = await db.read(DROP_ENDED, [before, gateway, after]);
      dropped += countIn(rows);
      after = rows[0]?.['last'];
    }
    return dropped;
  }

  /** Sessions that were last active at that time or earlier. */
  async dropIdle(before: number): Promise<void> {
    await this.#dropSessions(CLAIM_IDLE, before);
  }

  /** Those of them that have no task at work; tells before each chunk of them what goes. */
  async dropFinished(
    before: number,
    onChunk: (removed: Record<OwnedKind | 'session', number>) => Promise<void>,
  ): Promise<void> {
    await this.#dropSessions(CLAIM_FINISHED, before, async (rows) => {
      const keys = stringifyExact(rows.map(({ session_id: key }) => key));
      const counts = OWNED_BY_A_SESSION.map(
        (kind) =>
          `(SELECT count(*) FROM ${SCHEMA}.${TABLES[kind]} WHERE session_id IN (SELECT key FROM keys)) AS ${kind}`,
      );
      const sql = `WITH keys AS (SELECT value AS key FROM json_array_elements_text($1::text::json)) SELECT ${counts.join(', ')}`;
      const [row] = await this.#parts.db.read(sql, [keys]);
      const count = (kind: OwnedKind): number => Number(row?.[kind]);
      await onChunk({
        session: rows.length,
        task: count('task'),
        question: count('question'),
        event: count('event'),
        subscription: count('subscription'),
      });
    });
  }

  async #dropSessions(claim: string, before: number, onChunk?: (rows: readonly Row[]) => Promise<void>): Promise<void> {
    const { db, reader, writer, gateway } = this.#parts;
    await writer.written(undefined);
    for (let count = CHUNK; count === CHUNK;) {
      const rows = await db.read(claim, [before, gateway]);
      count = rows.length;
      await onChunk?.(rows);
      for (const { session_id: key, fence } of rows) {
        const sessionId = await reader.idOf('session', String(key));
        if (sessionId !== undefined) writer.erase({ sessionId, fence: Number(fence), lost: false });
      }
      if (count === CHUNK) await writer.written(undefined);
    }
  }
}

const countIn = ([row]: readonly Row[]): number => Number(row?.['count']);
