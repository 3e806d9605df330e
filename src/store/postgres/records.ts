/** Reads the records of the store. */

import type { SessionRecord } from '../../core/ports/records.ts';
import type { DormantQuery, DormantSession, StoredSession } from '../../core/ports/store.ts';
import { CONNECTION_SESSION } from '../../core/session/kind.ts';
import { messageOf } from '../../lib/log.ts';
import type { OwnedKind, RecordKind, Records } from '../queue.ts';
import { readRecord, TABLES, type UnreadableRecord } from '../records.ts';
import { CLAIM_HOLDS, LEASE_HOLDS } from './cluster.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import { isHashed, keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

/** How many sessions one gateway takes over at once, so that others can share the work. */
const RESUME_CHUNK = 100;
/** How many unfinished sessions one statement reads: nearly all of them are claimed, and there may be very many. */
const RESUME_WINDOW = 2000;

/**
 * Of the next unfinished sessions, some that no gateway has, and that clients reach at any of them: not that of a connection.
 * The record is read only if the columns contain hashes instead of ids. In random order, so that several gateways do not all
 * begin with the same one.
 */
const SESSIONS_TO_RESUME = `WITH unfinished AS MATERIALIZED (
    (SELECT id FROM ${SCHEMA}.sessions WHERE resumes AND id > $2 ORDER BY id LIMIT ${RESUME_WINDOW})
    UNION (SELECT DISTINCT session_id FROM ${SCHEMA}.tasks WHERE keep_until IS NULL AND session_id > $2
      ORDER BY session_id LIMIT ${RESUME_WINDOW})
    ORDER BY id LIMIT ${RESUME_WINDOW}),
  unclaimed AS MATERIALIZED (SELECT id FROM unfinished
    LEFT JOIN LATERAL (SELECT gateway FROM ${SCHEMA}.claims WHERE session_id = id OFFSET 0) claims ON true
    LEFT JOIN ${SCHEMA}.leases ON leases.gateway = claims.gateway AND ${LEASE_HOLDS}
    WHERE id NOT LIKE '${CONNECTION_SESSION}%' AND leases.gateway IS NULL AND claims.gateway IS DISTINCT FROM $1),
  found AS (SELECT id, principal, CASE WHEN id LIKE '"%' OR principal LIKE '"%' THEN data END AS data
    FROM ${SCHEMA}.sessions JOIN unclaimed USING (id) ORDER BY random() LIMIT ${RESUME_CHUNK})
  SELECT found.*, (SELECT CASE WHEN count(*) = ${RESUME_WINDOW} THEN max(id) END FROM unfinished) AS last
  FROM (VALUES (1)) always LEFT JOIN found ON true`;

export class RecordReader {
  readonly #db: Database;
  readonly #onUnreadable: (record: UnreadableRecord) => void;
  /** The last examined unfinished session; empty at the end. */
  #resumeAfter = '';

  constructor(db: Database, onUnreadable: (record: UnreadableRecord) => void) {
    this.#db = db;
    this.#onUnreadable = onUnreadable;
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    return this.byKey('session', keyOf(id));
  }

  async contents(sessionId: string): Promise<StoredSession> {
    const of = async <K extends OwnedKind>(kind: K): Promise<Records[K][]> => {
      const sql = `SELECT id, data FROM ${SCHEMA}.${TABLES[kind]} WHERE session_id = $1 ORDER BY id`;
      return this.#records(kind, await this.#db.read(sql, [keyOf(sessionId)]));
    };
    const [tasks, questions, events, subscriptions] = await Promise.all([
      of('task'),
      of('question'),
      of('event'),
      of('subscription'),
    ]);
    return { tasks, questions, events, subscriptions };
  }

  /** Continues after the last found sessions, which may not be restorable. */
  async sessionsToResume(gateway: string): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    const begin = this.#resumeAfter;
    const found = await this.#sessionsToResume(gateway, begin);
    return found.length > 0 || begin === '' ? found : this.#sessionsToResume(gateway, '');
  }

  async #sessionsToResume(gateway: string, begin: string): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    for (let after = begin; ;) {
      const rows: Row[] = await this.#db.read(SESSIONS_TO_RESUME, [gateway, after]);
      const found = await this.#foundToResume(rows.filter(({ id }) => id !== null));
      const last = rows[0]?.['last'];
      this.#resumeAfter = after = typeof last === 'string' ? last : '';
      if (found.length > 0 || after === '') return found;
    }
  }

  async #foundToResume(rows: readonly Row[]): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    const hashed = await this.#records(
      'session',
      rows.filter(({ data }) => data !== null),
    );
    const known = new Map(hashed.map(({ id, principal }) => [keyOf(id), { id, principal }]));
    return rows.flatMap(({ id: key, principal, data }) => {
      const found = data === null ? { id: String(key), principal: String(principal) } : known.get(String(key));
      return found ? [found] : [];
    });
  }

  async dormantSessions({ principal, cursor, limit }: DormantQuery, gateway: string): Promise<DormantSession[]> {
    const values: (string | number)[] = [limit, gateway];
    const conditions = [
      `NOT EXISTS (SELECT FROM ${SCHEMA}.claims
        WHERE session_id = sessions.id AND (gateway = $2 OR ${CLAIM_HOLDS}) OFFSET 0)`,
    ];
    if (principal !== undefined) conditions.push(`principal = $${values.push(keyOf(principal))}`);
    if (cursor !== undefined) {
      const [at, id] = [values.push(cursor.at), values.push(keyOf(cursor.id))];
      conditions.push(`(last_active_at, id) < ($${at}::double precision, $${id})`);
    }
    const count = (table: string, more = ''): string =>
      `(SELECT count(*) FROM ${SCHEMA}.${table} WHERE session_id = found.id${more})`;
    const sql = `WITH found AS MATERIALIZED (SELECT id, data, last_active_at FROM ${SCHEMA}.sessions
        WHERE ${conditions.join(' AND ')} ORDER BY last_active_at DESC, id DESC LIMIT $1)
      SELECT id, data, ${count('tasks', ' AND keep_until IS NULL')} AS running,
        ${count('tasks', ' AND keep_until IS NOT NULL')} AS ended, ${count('questions')} AS questions
      FROM found ORDER BY last_active_at DESC, id DESC`;
    const sessions: DormantSession[] = [];
    for (const row of await this.#db.read(sql, values)) {
      const [record] = await this.#records('session', [row]);
      if (record === undefined) continue;
      const tasks = { running: Number(row['running']), ended: Number(row['ended']) };
      sessions.push({ record, tasks, questions: Number(row['questions']) });
    }
    return sessions;
  }

  async states(principal: string): Promise<SessionRecord[]> {
    const sql = `SELECT id, data FROM ${SCHEMA}.sessions WHERE principal = $1 AND owner_kind = 'state' ORDER BY id`;
    return this.#records('session', await this.#db.read(sql, [keyOf(principal)]));
  }

  /** With the text of each, by which changes are noticed. */
  async servers(): Promise<{ record: Records['server']; data: string }[]> {
    const rows = await this.#db.read(`SELECT id, data FROM ${SCHEMA}.servers ORDER BY id`);
    const records = await Promise.all(rows.map(async (row) => this.#records('server', [row])));
    return records.flatMap(([record], index) => (record ? [{ record, data: String(rows[index]?.['data']) }] : []));
  }

  async byKey<K extends RecordKind>(kind: K, key: string): Promise<Records[K] | undefined> {
    const rows = await this.#db.read(`SELECT id, data FROM ${SCHEMA}.${TABLES[kind]} WHERE id = $1`, [key]);
    return (await this.#records(kind, rows))[0];
  }

  /** The id of a record from its key; `undefined` if it cannot be read. */
  async idOf(kind: RecordKind, key: string): Promise<string | undefined> {
    return isHashed(key) ? (await this.byKey(kind, key))?.id : key;
  }

  /** Sets unreadable rows aside, which would otherwise prevent the session or the program from starting. */
  async #records<K extends RecordKind>(kind: K, rows: readonly Row[]): Promise<Records[K][]> {
    const records: Records[K][] = [];
    for (const { id, data } of rows) {
      try {
        records.push(readRecord(kind, String(data)));
      } catch (error) {
        await this.#setAside(kind, String(id), messageOf(error));
      }
    }
    return records;
  }

  async #setAside(kind: RecordKind, id: string, reason: string): Promise<void> {
    await this.#db.read(
      `WITH gone AS (DELETE FROM ${SCHEMA}.${TABLES[kind]} WHERE id = $1 RETURNING id, data)
       INSERT INTO ${SCHEMA}.set_aside (kind, id, data, reason) SELECT $2, id, data, $3 FROM gone
       ON CONFLICT (kind, id) DO UPDATE SET data = excluded.data, reason = excluded.reason`,
      [id, kind, reason],
    );
    this.#onUnreadable({ kind, id, reason });
  }
}
