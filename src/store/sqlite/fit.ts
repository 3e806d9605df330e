/** Makes the records of one session small enough to be read, without reading them. */

import type Libsql from 'libsql';
import type { Trimmed } from '../../core/ports.ts';

/** So many bytes are kept of each kind, the newest first; a single record may take as much. */
const SHARE = { events: 1 / 4, questions: 1 / 4, tasks: 1 / 2 };

const TOO_LARGE = 'the task was too large to be restored (limits.sessionBytes)';

export class Fitting {
  readonly #size: Libsql.Statement;
  readonly #dropEvents: Libsql.Statement;
  readonly #dropQuestions: Libsql.Statement;
  readonly #cutTasks: Libsql.Statement;

  constructor(db: Libsql.Database) {
    const sum = (table: string): string =>
      `SELECT coalesce(sum(octet_length(data)), 0) AS bytes FROM ${table} WHERE session_id = ?1`;
    this.#size = db.prepare(
      `SELECT sum(bytes) AS bytes FROM (${['events', 'questions', 'tasks'].map(sum).join(' UNION ALL ')})`,
    );
    // What is too large by itself is left out of the sum: it must not cost those that are older.
    const fitting = (table: string): string =>
      `SELECT id FROM (
         SELECT id, sum(octet_length(data)) OVER (ORDER BY id DESC) AS bytes FROM ${table}
         WHERE session_id = ?1 AND octet_length(data) <= ?2
       ) WHERE bytes <= ?2`;
    const others = (table: string): string => `session_id = ?1 AND id NOT IN (${fitting(table)})`;
    this.#dropEvents = db.prepare(`DELETE FROM events WHERE ${others('events')}`);
    this.#dropQuestions = db.prepare(`DELETE FROM questions WHERE ${others('questions')}`);
    // Their clients know the ids of tasks: they learn what became of them.
    this.#cutTasks = db.prepare(
      `UPDATE tasks SET keep_until = ?3, data = json_set(
         json_remove(data, '$.result', '$.standing', '$.deadline', '$.remainingMs'),
         '$.args', json('{}'), '$.questions', json('[]'), '$.status', 'failed', '$.keepUntil', ?3,
         '$.error', json_object('code', -32000, 'message', '${TOO_LARGE}')
       ) WHERE ${others('tasks')}`,
    );
  }

  fit(sessionId: string, maxBytes: number, keepUntil: number): Trimmed {
    const { bytes } = this.#size.get(sessionId) as { bytes: number };
    if (bytes <= maxBytes) return { bytes, events: 0, questions: 0, tasks: 0 };
    const events = this.#dropEvents.run(sessionId, maxBytes * SHARE.events).changes;
    const questions = this.#dropQuestions.run(sessionId, maxBytes * SHARE.questions).changes;
    const tasks = this.#cutTasks.run(sessionId, maxBytes * SHARE.tasks, keepUntil).changes;
    return { bytes: (this.#size.get(sessionId) as { bytes: number }).bytes, events, questions, tasks };
  }
}
