/** The SQL of the store. */

import type Libsql from 'libsql';
import type { SessionRecord } from '../../core/ports/records.ts';
import type { DormantCursor, DormantQuery, DormantSession } from '../../core/ports/store.ts';
import { resumes } from '../../core/session/kind.ts';
import { hasEnded } from '../../core/task/task.ts';
import { messageOf } from '../../lib/log.ts';
import type { Change, OwnedKind, Put, RecordKind, Records } from '../queue.ts';
import { OWNED_BY_A_SESSION, readRecord, TABLES, type UnreadableRecord } from '../records.ts';

/** Larger records are skipped when all of a kind are read; sessions are trimmed instead. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

const SESSION = 'SELECT id, data FROM sessions WHERE id = ?';
/** Most recently used first. */
const SESSION_IDS = (conditions: readonly string[]): string =>
  `SELECT id, last_active_at AS at FROM sessions${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}
    ORDER BY last_active_at DESC, id DESC LIMIT ?`;
const COUNTS = `SELECT (SELECT count(*) FROM tasks WHERE session_id = ?1 AND keep_until IS NULL) AS running,
  (SELECT count(*) FROM tasks WHERE session_id = ?1 AND keep_until IS NOT NULL) AS ended,
  (SELECT count(*) FROM questions WHERE session_id = ?1) AS questions`;
const STATES = `SELECT id, data FROM sessions WHERE principal = ? AND owner_kind = 'state' ORDER BY id`;
const IDLE_SESSIONS = 'SELECT id FROM sessions WHERE last_active_at <= ?';
const DROP_OVERDUE = 'DELETE FROM tasks WHERE keep_until <= ?';
const DROP_COUNTERS = 'DELETE FROM counters WHERE keep_until <= ?';
const ADD_TO_COUNTER = `INSERT INTO counters (name, value, keep_until) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET value = value + excluded.value, keep_until = excluded.keep_until RETURNING value`;
const MAKE_SECRET = 'INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)';
const SECRET = 'SELECT value FROM secrets WHERE name = ?';
const SET_ASIDE = 'INSERT OR REPLACE INTO set_aside (kind, id, data, reason) VALUES (?, ?, ?, ?)';

/** Without OR, which would make SQLite read all sessions. */
export const SESSIONS_TO_RESUME = `SELECT id, principal FROM sessions WHERE id IN (
  SELECT id FROM sessions WHERE resumes UNION ALL SELECT session_id FROM tasks WHERE keep_until IS NULL) ORDER BY id`;

const PUT: Record<RecordKind, string> = {
  session: `INSERT INTO sessions (id, data, principal, owner_kind, last_active_at, resumes) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, owner_kind = excluded.owner_kind,
      last_active_at = excluded.last_active_at, resumes = excluded.resumes`,
  server: 'INSERT INTO servers (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data',
  task: `INSERT INTO tasks (id, data, session_id, keep_until) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, keep_until = excluded.keep_until`,
  question: putOwned('question'),
  event: putOwned('event'),
  subscription: putOwned('subscription'),
};

function putOwned(kind: OwnedKind): string {
  return `INSERT INTO ${TABLES[kind]} (id, data, session_id) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, session_id = excluded.session_id`;
}

/** Prepares each statement on first use: most starts need few of them. */
export class PreparedStatements {
  readonly #db: Libsql.Database;
  readonly #prepared = new Map<string, Libsql.Statement>();

  constructor(db: Libsql.Database) {
    this.#db = db;
  }

  get(sql: string): Libsql.Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

export class Statements {
  readonly #prepared: PreparedStatements;
  readonly #onUnreadable: (record: UnreadableRecord) => void;

  constructor(prepared: PreparedStatements, onUnreadable: (record: UnreadableRecord) => void) {
    this.#prepared = prepared;
    this.#onUnreadable = onUnreadable;
  }

  /** `data` is the JSON of the record of a put. */
  make(change: Change, data: string): void {
    switch (change.op) {
      case 'put': {
        this.#prepared.get(PUT[change.kind]).run(change.record.id, data, ...columnsOf(change));
        return;
      }
      case 'drop':
        this.#drop(change.kind, change.id);
        return;
      case 'drop_session':
        for (const kind of OWNED_BY_A_SESSION) {
          this.#prepared.get(`DELETE FROM ${TABLES[kind]} WHERE session_id = ?`).run(change.id);
        }
        this.#drop('session', change.id);
        return;
    }
  }

  all<K extends RecordKind>(kind: K): Records[K][] {
    const sql = `SELECT id, data FROM ${TABLES[kind]} WHERE octet_length(data) <= ${MAX_RECORD_BYTES} ORDER BY id`;
    return this.#records(kind, this.#prepared.get(sql).all());
  }

  of<K extends OwnedKind>(kind: K, sessionId: string): Records[K][] {
    const sql = `SELECT id, data FROM ${TABLES[kind]} WHERE session_id = ? ORDER BY id`;
    return this.#records(kind, this.#prepared.get(sql).all(sessionId));
  }

  session(id: string): SessionRecord | undefined {
    return this.#records('session', this.#prepared.get(SESSION).all(id))[0];
  }

  sessionsToResume(): Pick<SessionRecord, 'id' | 'principal'>[] {
    return this.#prepared.get(SESSIONS_TO_RESUME).all() as Pick<SessionRecord, 'id' | 'principal'>[];
  }

  /** The ids of sessions and when they were last active. */
  sessionIds({ principal, cursor, limit }: DormantQuery): DormantCursor[] {
    const conditions = [
      ...(principal === undefined ? [] : ['principal = ?']),
      ...(cursor === undefined ? [] : ['(last_active_at, id) < (?, ?)']),
    ];
    const values = [...(principal === undefined ? [] : [principal]), ...(cursor ? [cursor.at, cursor.id] : []), limit];
    return this.#prepared.get(SESSION_IDS(conditions)).all(...values) as DormantCursor[];
  }

  dormantSession(id: string): DormantSession | undefined {
    const record = this.session(id);
    if (record === undefined) return undefined;
    const { running, ended, questions } = this.#prepared.get(COUNTS).get(id) as Record<string, number>;
    return {
      record,
      tasks: { running: Number(running), ended: Number(ended) },
      questions: Number(questions),
    };
  }

  states(principal: string): SessionRecord[] {
    return this.#records('session', this.#prepared.get(STATES).all(principal));
  }

  idleSessions(before: number): string[] {
    return (this.#prepared.get(IDLE_SESSIONS).all(before) as { id: string }[]).map(({ id }) => id);
  }

  dropOverdue(now: number): void {
    this.#prepared.get(DROP_OVERDUE).run(now);
    this.#prepared.get(DROP_COUNTERS).run(now);
  }

  addToCounter(name: string, amount: number, keepUntil: number): number {
    return (this.#prepared.get(ADD_TO_COUNTER).get(name, amount, keepUntil) as { value: number }).value;
  }

  /** The key of this name; the given one if there is none yet. */
  secret(name: string, fresh: Buffer): Buffer {
    const find = (): { value: string } | undefined =>
      this.#prepared.get(SECRET).get(name) as { value: string } | undefined;
    if (find() === undefined) this.#prepared.get(MAKE_SECRET).run(name, fresh.toString('hex'));
    return Buffer.from(find()?.value ?? '', 'hex');
  }

  #drop(kind: RecordKind, id: string): void {
    this.#prepared.get(`DELETE FROM ${TABLES[kind]} WHERE id = ?`).run(id);
  }

  /** Sets unreadable rows aside, which would otherwise prevent the session or the program from starting. */
  #records<K extends RecordKind>(kind: K, rows: unknown[]): Records[K][] {
    return (rows as { id: string; data: string }[]).flatMap(({ id, data }) => {
      try {
        return [readRecord(kind, data)];
      } catch (error) {
        const reason = messageOf(error);
        this.#prepared.get(SET_ASIDE).run(kind, id, data, reason);
        this.#drop(kind, id);
        this.#onUnreadable({ kind, id, reason });
        return [];
      }
    });
  }
}

/** The values of the columns beside the record itself, in the order of the statement. */
function columnsOf({ kind, record }: Put): (string | number | null)[] {
  switch (kind) {
    case 'session':
      return [record.principal, record.owner.kind, record.lastActiveAt, resumes(record) ? 1 : 0];
    case 'server':
      return [];
    case 'task':
      return [record.sessionId, hasEnded(record) ? record.keepUntil : null];
    case 'question':
    case 'event':
    case 'subscription':
      return [record.sessionId];
  }
}
