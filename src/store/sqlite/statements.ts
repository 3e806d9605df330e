/** The SQL of the store, prepared once. */

import type Libsql from 'libsql';
import type { OwnedKind, RecordKind, Records } from '../../core/ports.ts';
import { type Change, sessionIdOf } from './queue.ts';

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

type Prepared = Record<RecordKind, Libsql.Statement>;

export class Statements {
  readonly #put: Prepared;
  readonly #drop: Prepared;
  readonly #all: Prepared;
  readonly #dropOwned: Libsql.Statement[];
  readonly #of: Record<OwnedKind, Libsql.Statement>;
  readonly #unfinished: Libsql.Statement;
  readonly #dropOverdue: Libsql.Statement;

  constructor(db: Libsql.Database) {
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
      kind === 'session' || kind === 'server'
        ? `INSERT INTO ${table} (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`
        : kind === 'task'
          ? `INSERT INTO tasks (id, data, session_id, keep_until) VALUES (?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET data = excluded.data, keep_until = excluded.keep_until`
          : `INSERT INTO ${table} (id, data, session_id) VALUES (?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET data = excluded.data, session_id = excluded.session_id`,
    );
    this.#drop = each((_kind, table) => `DELETE FROM ${table} WHERE id = ?`);
    this.#all = each(
      (_kind, table) => `SELECT data FROM ${table} WHERE octet_length(data) <= ${MAX_RECORD_BYTES} ORDER BY id`,
    );
    const of = (kind: OwnedKind): Libsql.Statement =>
      db.prepare(`SELECT data FROM ${TABLES[kind]} WHERE session_id = ? ORDER BY id`);
    this.#of = {
      task: of('task'),
      question: of('question'),
      event: of('event'),
      subscription: of('subscription'),
    };
    this.#unfinished = db.prepare('SELECT DISTINCT session_id FROM tasks WHERE keep_until IS NULL');
    this.#dropOverdue = db.prepare('DELETE FROM tasks WHERE keep_until <= ?');
    this.#dropOwned = OWNED_BY_A_SESSION.map((kind) => db.prepare(`DELETE FROM ${TABLES[kind]} WHERE session_id = ?`));
  }

  /** `data` is the JSON of the record of a put. */
  make(change: Change, data: string): void {
    switch (change.op) {
      case 'put': {
        const sessionId = sessionIdOf(change.record);
        const owner = sessionId === undefined ? [] : [sessionId];
        const end = change.kind === 'task' ? [endOf(change.record)] : [];
        this.#put[change.kind].run(change.record.id, data, ...owner, ...end);
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
    return records(this.#all[kind].all());
  }

  of<K extends OwnedKind>(kind: K, sessionId: string): Records[K][] {
    return records(this.#of[kind].all(sessionId));
  }

  sessionsAtWork(): Set<string> {
    return sessionIds(this.#unfinished.all());
  }

  dropOverdue(now: number): void {
    this.#dropOverdue.run(now);
  }
}

/** What is in a row was put there by `make` for this kind, so its type is known. */
function records<T>(rows: unknown[]): T[] {
  return (rows as { data: string }[]).map(({ data }) => JSON.parse(data) as T);
}

function sessionIds(rows: unknown[]): Set<string> {
  return new Set((rows as { session_id: string }[]).map(({ session_id: id }) => id));
}

function endOf(record: Records[RecordKind]): number | null {
  return 'keepUntil' in record ? (record.keepUntil ?? null) : null;
}
