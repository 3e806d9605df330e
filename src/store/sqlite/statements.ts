/** The SQL of the store, prepared once. */

import type Libsql from 'libsql';
import type { RecordKind, Records } from '../../core/ports.ts';
import { type Change, sessionIdOf } from './queue.ts';

const TABLES: Record<RecordKind, string> = {
  session: 'sessions',
  task: 'tasks',
  question: 'questions',
  event: 'events',
  server: 'servers',
};

const OWNED_BY_A_SESSION = ['task', 'question', 'event'] as const;

type Prepared = Record<RecordKind, Libsql.Statement>;

export class Statements {
  readonly #put: Prepared;
  readonly #drop: Prepared;
  readonly #all: Prepared;
  readonly #dropOwned: Libsql.Statement[];

  constructor(db: Libsql.Database) {
    const each = (sql: (kind: RecordKind, table: string) => string): Prepared => {
      const prepare = (kind: RecordKind) => db.prepare(sql(kind, TABLES[kind]));
      return {
        session: prepare('session'),
        task: prepare('task'),
        question: prepare('question'),
        event: prepare('event'),
        server: prepare('server'),
      };
    };
    this.#put = each((kind, table) =>
      kind === 'session' || kind === 'server'
        ? `INSERT INTO ${table} (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`
        : `INSERT INTO ${table} (id, data, session_id) VALUES (?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET data = excluded.data, session_id = excluded.session_id`,
    );
    this.#drop = each((_kind, table) => `DELETE FROM ${table} WHERE id = ?`);
    this.#all = each((_kind, table) => `SELECT data FROM ${table} ORDER BY id`);
    this.#dropOwned = OWNED_BY_A_SESSION.map((kind) => db.prepare(`DELETE FROM ${TABLES[kind]} WHERE session_id = ?`));
  }

  /** `data` is the JSON of the record of a put. */
  make(change: Change, data: string): void {
    switch (change.op) {
      case 'put': {
        const sessionId = sessionIdOf(change.record);
        const owner = sessionId === undefined ? [] : [sessionId];
        this.#put[change.kind].run(change.record.id, data, ...owner);
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
    // What is in a row was put there by `make` for this kind, so its type is known.
    return (this.#all[kind].all() as { data: string }[]).map(({ data }) => JSON.parse(data) as Records[K]);
  }
}
