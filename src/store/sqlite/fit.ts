/** Makes the records of one session small enough to be read. */

import type { Trimmed } from '../../core/ports/store.ts';
import { BYTES_PER_UNIT, SHARE, TOO_LARGE } from '../trim.ts';
import type { PreparedStatements } from './statements.ts';

/** The size of a record in the file. Cheap: the record is not read. */
const STORED = 'octet_length(data)';
/** The approximate size in memory, in UTF-16 units: one for three bytes of Chinese, two for an emoji. */
const IN_MEMORY = 'max(length(data), octet_length(data) / 2)';

/** Makes a session fit, by one way of measuring. */
class Trimming {
  readonly #prepared: PreparedStatements;
  readonly #size: string;
  readonly #dropEvents: string;
  readonly #dropQuestions: string;
  readonly #cutTasks: string;

  constructor(prepared: PreparedStatements, measure: string) {
    this.#prepared = prepared;
    const sum = (table: string): string =>
      `SELECT coalesce(sum(${measure}), 0) AS bytes FROM ${table} WHERE session_id = ?1`;
    const sums = ['events', 'questions', 'tasks'].map(sum).join(' UNION ALL ');
    this.#size = `SELECT sum(bytes) AS bytes FROM (${sums})`;
    // A record that is too large by itself does not count: it must not push out older ones.
    const fitting = (table: string): string =>
      `SELECT id FROM (
         SELECT id, sum(${measure}) OVER (ORDER BY id DESC) AS bytes FROM ${table}
         WHERE session_id = ?1 AND ${measure} <= ?2
       ) WHERE bytes <= ?2`;
    const others = (table: string): string => `session_id = ?1 AND id NOT IN (${fitting(table)})`;
    this.#dropEvents = `DELETE FROM events WHERE ${others('events')}`;
    this.#dropQuestions = `DELETE FROM questions WHERE ${others('questions')}`;
    // Clients know the ids of tasks: they are told that the task failed.
    this.#cutTasks = `UPDATE tasks SET keep_until = ?3, data = json_set(
         json_remove(data, '$.result', '$.checkpoint', '$.deadline', '$.remainingMs'),
         '$.args', json('{}'), '$.status', 'failed', '$.keepUntil', ?3,
         '$.error', json_object('code', -32000, 'message', '${TOO_LARGE}')
       ) WHERE ${others('tasks')}`;
  }

  trim(sessionId: string, maxBytes: number, keepUntil: number): Trimmed {
    const bytes = this.#bytesOf(sessionId);
    if (bytes <= maxBytes) return { bytes, events: 0, questions: 0, tasks: 0 };
    const events = this.#prepared.get(this.#dropEvents).run(sessionId, maxBytes * SHARE.events).changes;
    const questions = this.#prepared.get(this.#dropQuestions).run(sessionId, maxBytes * SHARE.questions).changes;
    const tasks = this.#prepared.get(this.#cutTasks).run(sessionId, maxBytes * SHARE.tasks, keepUntil).changes;
    return { bytes: this.#bytesOf(sessionId), events, questions, tasks };
  }

  #bytesOf(sessionId: string): number {
    return (this.#prepared.get(this.#size).get(sessionId) as { bytes: number }).bytes;
  }
}

export class Fitting {
  readonly #stored: Trimming;
  readonly #inMemory: Trimming;

  constructor(prepared: PreparedStatements) {
    this.#stored = new Trimming(prepared, STORED);
    this.#inMemory = new Trimming(prepared, IN_MEMORY);
  }

  /** First drops records that are too large in any case, unread; then reads and measures the rest. */
  fit(sessionId: string, maxBytes: number, keepUntil: number): Trimmed {
    const before = this.#stored.trim(sessionId, BYTES_PER_UNIT * maxBytes, keepUntil);
    const after = this.#inMemory.trim(sessionId, maxBytes, keepUntil);
    return {
      bytes: after.bytes,
      events: before.events + after.events,
      questions: before.questions + after.questions,
      tasks: before.tasks + after.tasks,
    };
  }
}
