/**
 * The history in the store file, written in separate transactions between those of the sessions. SQLite calls are
 * synchronous, so long work is split into pieces, with other work between them.
 */

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type Libsql from 'libsql';
import type { EntryWrite, HistoryEntry } from '../../core/history/entry.ts';
import type { History, HistoryFilter, HistoryQuery, HistoryRange, ServerTally } from '../../core/ports/history.ts';
import type { Log } from '../../lib/log.ts';
import { entryOf, prepare, type HistoryRow } from '../history/row.ts';
import {
  changesStatement,
  countStatement,
  findStatement,
  readStatement,
  tallyStatement,
  type HistoryDialect,
  type Statement,
} from '../history/sql.ts';
import { CheckedStatements, type Row } from './checked-statements.ts';
import { failedWith } from './database.ts';
import type { PreparedStatements } from './statements.ts';
import { transaction } from './transaction.ts';

export const DIALECT: HistoryDialect = {
  schema: '',
  parameter: () => '?',
  position: 'instr',
  listOf: (parameter) => `SELECT value FROM json_each(${parameter})`,
  key: (text) => text,
  search: (text) => text,
};

/** The part of the file that the history may have at most: the rest is for tasks and questions. */
const FILE_SHARE = 1 / 4;
/** The size is checked each time this fraction of the allowed bytes was written. */
const SIZE_CHECKS = 16;
/** A history that is too large is trimmed to this fraction, so that trimming is rare. */
const TRIM_TO = 0.9;
/** How many entries are deleted in one go. */
const DELETED_AT_ONCE = 500;

const COLUMNS: readonly (keyof HistoryRow)[] = [
  'id',
  'kind',
  'principal',
  'server',
  'tool',
  'session_id',
  'call_id',
  'is_task',
  'status',
  'at',
  'ended_at',
  'calls',
  'errors',
  'bytes',
  'content_bytes',
  'search',
  'data',
];
const CHANGED = ['seq', 'gateway', ...COLUMNS.filter((column) => column !== 'id' && column !== 'content_bytes')];

/** An ended entry is not reopened, unless it was lost. */
const PUT = `INSERT INTO history (seq, gateway, ${COLUMNS.join(', ')}) VALUES (${Array(COLUMNS.length + 2)
  .fill('?')
  .join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${CHANGED.map((column) => `${column} = excluded.${column}`).join(', ')},
    content_bytes = coalesce(excluded.content_bytes, history.content_bytes)
  WHERE history.ended_at IS NULL OR history.status = 'lost' OR excluded.ended_at IS NOT NULL`;
const PUT_CONTENT = `INSERT INTO history_content (id, data) VALUES (?, ?)
  ON CONFLICT (id) DO UPDATE SET data = excluded.data`;
const NUMBER = 'UPDATE history_state SET newest = newest + ? RETURNING newest';
const END_LOST = `UPDATE history SET status = 'lost', ended_at = ?1, seq = (SELECT newest FROM history_state) + lost.place
  FROM (SELECT id, row_number() OVER (ORDER BY seq) AS place FROM history WHERE ended_at IS NULL AND gateway <> ?2) AS lost
  WHERE history.id = lost.id`;
const BYTES = 'SELECT total(bytes) + total(content_bytes) AS bytes FROM history';
const FIRST_ENDED = `SELECT id, seq, bytes + coalesce(content_bytes, 0) AS bytes FROM history
  WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at, seq LIMIT ${DELETED_AT_ONCE}`;
const DELETE = 'DELETE FROM history WHERE id = ?';
const NOTE_DELETED = 'UPDATE history_state SET complete_from = max(complete_from, ?)';

export interface SqliteHistoryOptions {
  path: string;
  /** How large the file may become. */
  maxBytes: number;
  log: Log;
}

export class SqliteHistory implements History {
  readonly #db: Libsql.Database;
  readonly #prepared: PreparedStatements;
  readonly #statements: CheckedStatements;
  readonly #options: SqliteHistoryOptions;
  readonly #mostBytes: number;
  /** Identifies the entries of this process. */
  readonly #run = randomUUID();
  readonly #watchers = new Set<() => void>();
  /** The bytes written since the last size check. */
  #written = 0;

  constructor(db: Libsql.Database, prepared: PreparedStatements, options: SqliteHistoryOptions) {
    this.#db = db;
    this.#prepared = prepared;
    this.#statements = new CheckedStatements(prepared, options.path);
    this.#options = options;
    this.#mostBytes = options.maxBytes * FILE_SHARE;
  }

  async append(writes: readonly EntryWrite[]): Promise<void> {
    if (writes.length === 0) return;
    try {
      this.#put(writes);
    } catch (error) {
      if (!failedWith(error, 'SQLITE_FULL')) throw this.#statements.failure(error);
      // New entries matter more than old ones, and other records matter more than both.
      this.#deleteHalf();
      this.#statements.check(() => this.#put(writes));
    }
    if (this.#written > this.#mostBytes / SIZE_CHECKS) await this.trim(-Infinity, this.#mostBytes);
    this.#told();
  }

  #put(writes: readonly EntryWrite[]): void {
    const entries = writes.map((write) => prepare(write, DIALECT));
    transaction(this.#db, () => {
      let seq = this.#nextNumbers(entries.length);
      for (const { row, content } of entries) {
        seq += 1;
        const values = COLUMNS.map((column) => row[column]);
        const { changes } = this.#prepared.get(PUT).run(seq, this.#run, ...values);
        if (changes > 0 && content !== undefined) this.#prepared.get(PUT_CONTENT).run(row.id, content);
        this.#written += row.bytes + (row.content_bytes ?? 0);
      }
    });
  }

  /** The number before the first of `count` new ones. */
  #nextNumbers(count: number): number {
    const row = this.#prepared.get(NUMBER).get(count) as { newest: number };
    return row.newest - count;
  }

  async read(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#entries(readStatement(query, DIALECT));
  }

  async count(filter: HistoryFilter): Promise<number> {
    return Number(this.#rows(countStatement(filter, DIALECT))[0]?.['count']);
  }

  async find(ids: readonly string[]): Promise<HistoryEntry[]> {
    return ids.length === 0 ? [] : this.#entries(findStatement(ids, DIALECT));
  }

  async changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]> {
    return this.#entries(changesStatement(seq, limit, principal, DIALECT));
  }

  async range(): Promise<HistoryRange> {
    const [row] = this.#rows({ sql: 'SELECT newest, complete_from FROM history_state', values: [] });
    return { newest: Number(row?.['newest']), completeFrom: Number(row?.['complete_from']) };
  }

  async tally(since: number, principal?: string): Promise<ServerTally[]> {
    return this.#rows(tallyStatement(since, principal, DIALECT)).map((row) => ({
      server: String(row['server']),
      calls: Number(row['calls']),
      errors: Number(row['errors']),
    }));
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** No other gateway uses the file, so entries of earlier processes are lost. */
  async endLost(now: number): Promise<void> {
    this.#statements.check(() =>
      transaction(this.#db, () => {
        const { changes } = this.#prepared.get(END_LOST).run(now, this.#run);
        if (changes > 0) this.#nextNumbers(changes);
      }),
    );
    this.#told();
  }

  async trim(endedBefore: number, maxBytes: number): Promise<void> {
    this.#written = 0;
    while (this.#deleteSome(endedBefore, Infinity).deleted > 0) await nextTurn();
    const bytes = this.#bytes;
    const limit = Math.min(maxBytes, this.#mostBytes);
    if (bytes <= limit) return;
    for (let excess = bytes - limit * TRIM_TO; excess > 0; await nextTurn()) {
      const { deleted, freed } = this.#deleteSome(Infinity, excess);
      if (deleted === 0) return;
      excess -= freed;
    }
  }

  get #bytes(): number {
    return Number(this.#rows({ sql: BYTES, values: [] })[0]?.['bytes']);
  }

  #deleteHalf(): void {
    for (let excess = this.#bytes / 2; excess > 0;) {
      const { deleted, freed } = this.#deleteSome(Infinity, excess);
      if (deleted === 0) return;
      excess -= freed;
    }
  }

  /** Deletes some of the oldest ended entries, until enough bytes are free. */
  #deleteSome(endedBefore: number, bytes: number): { deleted: number; freed: number } {
    const rows = this.#rows({ sql: FIRST_ENDED, values: [endedBefore] }) as {
      id: string;
      seq: number;
      bytes: number;
    }[];
    let [deleted, freed, last] = [0, 0, 0];
    if (rows.length === 0) return { deleted, freed };
    this.#statements.check(() =>
      transaction(this.#db, () => {
        for (const row of rows) {
          if (freed >= bytes) break;
          this.#prepared.get(DELETE).run(row.id);
          deleted += 1;
          freed += row.bytes;
          last = Math.max(last, row.seq);
        }
        this.#prepared.get(NOTE_DELETED).run(last);
      }),
    );
    return { deleted, freed };
  }

  #entries(statement: Statement): HistoryEntry[] {
    return this.#rows(statement).flatMap((row) => {
      const entry = entryOf(row);
      if (entry === undefined) {
        this.#options.log.error('history_entry_unreadable', { path: this.#options.path, seq: Number(row['seq']) });
      }
      return entry ?? [];
    });
  }

  #rows({ sql, values }: Statement): Row[] {
    return this.#statements.rows(sql, ...values);
  }

  #told(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
