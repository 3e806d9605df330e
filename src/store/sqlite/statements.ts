/** The SQL of the store, prepared once. */

import type Libsql from 'libsql';
import type { SessionRecord } from '../../core/ports.ts';
import { resumes } from '../../core/session/kind.ts';
import { hasEnded } from '../../core/task/task.ts';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import type { Change, OwnedKind, Put, RecordKind, Records } from './queue.ts';
import { parseExact } from '../../lib/exact-json.ts';

export const TABLES: Record<RecordKind, string> = {
  session: 'sessions',
  task: 'tasks',
  question: 'questions',
  event: 'events',
  subscription: 'subscriptions',
  server: 'servers',
};

export const OWNED_BY_A_SESSION: readonly OwnedKind[] = ['task', 'question', 'event', 'subscription'];

/** Larger records are not read when all of a kind are; those of a session are made to fit. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

const SET_ASIDE = 'INSERT OR REPLACE INTO set_aside (kind, id, data, reason) VALUES (?, ?, ?, ?)';

/** Not with OR, for which SQLite would read all sessions. */
export const SESSIONS_TO_RESUME = `SELECT id, principal FROM sessions WHERE id IN (
  SELECT id FROM sessions WHERE resumes UNION ALL SELECT session_id FROM tasks WHERE keep_until IS NULL) ORDER BY id`;

type Prepared = Record<RecordKind, Libsql.Statement>;

export class Statements {
  readonly #put: Prepared;
  readonly #drop: Prepared;
  readonly #all: Prepared;
  readonly #dropOwned: Libsql.Statement[];
  readonly #of: Record<OwnedKind, Libsql.Statement>;
  readonly #session: Libsql.Statement;
  readonly #toResume: Libsql.Statement;
  readonly #states: Libsql.Statement;
  readonly #idle: Libsql.Statement;
  readonly #dropOverdue: Libsql.Statement;
  readonly #db: Libsql.Database;
  readonly #onUnreadable: (record: UnreadableRecord) => void;

  constructor(db: Libsql.Database, onUnreadable: (record: UnreadableRecord) => void) {
    this.#onUnreadable = onUnreadable;
    this.#db = db;
    const each = (sql: (kind: RecordKind, table: string) => string): Prepared => {
      const prepare = (kind: RecordKind) => db.prepare(sql(kind, TABLES[kind]));
      return {
        session: prepare('session'),
        task: prepare('task'),
        question: prepare('question'),
        event: prepare('event'),
        subscription: prepare('subscription'),
        server: prepare('server'),
      };
    };
    this.#put = each((kind, table) =>
      kind === 'session'
        ? `INSERT INTO sessions (id, data, principal, owner_kind, last_active_at, resumes) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET data = excluded.data, owner_kind = excluded.owner_kind,
             last_active_at = excluded.last_active_at, resumes = excluded.resumes`
        : kind === 'server'
          ? `INSERT INTO ${table} (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`
          : kind === 'task'
            ? `INSERT INTO tasks (id, data, session_id, keep_until) VALUES (?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET data = excluded.data, keep_until = excluded.keep_until`
            : `INSERT INTO ${table} (id, data, session_id) VALUES (?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET data = excluded.data, session_id = excluded.session_id`,
    );
    this.#drop = each((_kind, table) => `DELETE FROM ${table} WHERE id = ?`);
    this.#all = each(
      (_kind, table) => `SELECT id, data FROM ${table} WHERE octet_length(data) <= ${MAX_RECORD_BYTES} ORDER BY id`,
    );
    const of = (kind: OwnedKind): Libsql.Statement =>
      db.prepare(`SELECT id, data FROM ${TABLES[kind]} WHERE session_id = ? ORDER BY id`);
    this.#of = {
      task: of('task'),
      question: of('question'),
      event: of('event'),
      subscription: of('subscription'),
    };
    this.#session = db.prepare('SELECT id, data FROM sessions WHERE id = ?');
    this.#toResume = db.prepare(SESSIONS_TO_RESUME);
    this.#states = db.prepare(`SELECT id, data FROM sessions WHERE principal = ? AND owner_kind = 'state' ORDER BY id`);
    this.#idle = db.prepare('SELECT id FROM sessions WHERE last_active_at <= ?');
    this.#dropOverdue = db.prepare('DELETE FROM tasks WHERE keep_until <= ?');
    this.#dropOwned = OWNED_BY_A_SESSION.map((kind) => db.prepare(`DELETE FROM ${TABLES[kind]} WHERE session_id = ?`));
  }

  /** `data` is the JSON of the record of a put. */
  make(change: Change, data: string): void {
    switch (change.op) {
      case 'put': {
        this.#put[change.kind].run(change.record.id, data, ...columnsOf(change));
        return;
      }
      case 'drop':
        this.#drop[change.kind].run(change.id);
        return;
      case 'drop_session':
        for (const statement of this.#dropOwned) statement.run(change.id);
        this.#drop.session.run(change.id);
        return;
    }
  }

  all<K extends RecordKind>(kind: K): Records[K][] {
    return this.#records(kind, this.#all[kind].all());
  }

  of<K extends OwnedKind>(kind: K, sessionId: string): Records[K][] {
    return this.#records(kind, this.#of[kind].all(sessionId));
  }

  session(id: string): SessionRecord | undefined {
    return this.#records('session', this.#session.all(id))[0];
  }

  sessionsToResume(): Pick<SessionRecord, 'id' | 'principal'>[] {
    return this.#toResume.all() as Pick<SessionRecord, 'id' | 'principal'>[];
  }

  states(principal: string): SessionRecord[] {
    return this.#records('session', this.#states.all(principal));
  }

  idleSessions(before: number): string[] {
    return (this.#idle.all(before) as { id: string }[]).map(({ id }) => id);
  }

  dropOverdue(now: number): void {
    this.#dropOverdue.run(now);
  }

  /** A row that cannot be read is set aside, since otherwise it would keep its session, or the program, from starting. */
  #records<K extends RecordKind>(kind: K, rows: unknown[]): Records[K][] {
    return (rows as { id: string; data: string }[]).flatMap(({ id, data }) => {
      try {
        return [readRecord(kind, data)];
      } catch (error) {
        const reason = messageOf(error);
        this.#db.prepare(SET_ASIDE).run(kind, id, data, reason);
        this.#drop[kind].run(id);
        this.#onUnreadable({ kind, id, reason });
        return [];
      }
    });
  }
}

export interface UnreadableRecord {
  kind: RecordKind;
  id: string;
  reason: string;
}

/** The fields without which a record of each kind means nothing, and their types. */
const REQUIRED: Record<RecordKind, Record<string, 'string' | 'number' | 'object'>> = {
  session: {
    id: 'string',
    principal: 'string',
    createdAt: 'number',
    lastActiveAt: 'number',
    view: 'object',
    owner: 'object',
  },
  task: { id: 'string', sessionId: 'string', server: 'string', tool: 'string', args: 'object', status: 'string' },
  question: { id: 'string', sessionId: 'string', server: 'string', kind: 'string', params: 'object', link: 'object' },
  event: { id: 'string', sessionId: 'string', type: 'string', data: 'object' },
  subscription: { id: 'string', sessionId: 'string', server: 'string', uri: 'string' },
  server: { id: 'string', owner: 'string', name: 'string', config: 'object' },
};

/** `make` put the record there for this kind; only another program, or a failing disk, can have changed it. */
function readRecord<K extends RecordKind>(kind: K, data: string): Records[K] {
  const record: unknown = parseExact(data);
  if (!isObject(record)) throw new Error('it is not an object');
  for (const [field, type] of Object.entries(REQUIRED[kind])) {
    const value = record[field];
    if (typeof value !== type || value === null) throw new Error(`'${field}' is not of type ${type}`);
  }
  return record as unknown as Records[K];
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
