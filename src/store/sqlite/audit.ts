/**
 * The audit record in the store file, written in separate transactions. SQLite calls are synchronous, so long work is split into
 * pieces, with other work between them.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type Libsql from 'libsql';
import type { AuditLine, StoredLine } from '../../core/audit/line.ts';
import type { AuditLog, AuditQuery } from '../../core/ports/audit-log.ts';
import { stderrLog, type Log } from '../../lib/log.ts';
import { rowOf } from '../audit/row.ts';
import { readAuditStatement, type AuditDialect } from '../audit/sql.ts';
import { Sweeps } from '../audit/sweeps.ts';
import { FIRST_WINDOW, readInWindows } from '../audit/windows.ts';
import type { Statement } from '../history/sql.ts';
import type { AuditToRead } from '../audit/to-read.ts';
import { CheckedStatements, type Row } from './checked-statements.ts';
import { fileOf, openToLook } from './database.ts';
import { DIALECT as HISTORY_DIALECT } from './history.ts';
import { PreparedStatements } from './statements.ts';
import { transaction } from './transaction.ts';

const AUDIT_DIALECT: AuditDialect = { ...HISTORY_DIALECT, bytewise: '' };

/** The part of the file that the record may have at most. */
const FILE_SHARE = 1 / 4;
/** The size is checked each time this fraction of the allowed bytes was written. */
const SIZE_CHECKS = 16;
/** A record that is too large is trimmed to this fraction, so that trimming is rare. */
const TRIM_TO = 0.95;
/** How many lines are deleted in one go. */
const DELETED_AT_ONCE = 500;

const COLUMNS = [
  'gateway',
  'n',
  'kind',
  'owner',
  'answerer',
  'server',
  'tool',
  'session_id',
  'at',
  'bytes',
  'data',
] as const;

const PUT = `INSERT INTO audit (seq, ${COLUMNS.join(', ')}) VALUES (${Array(COLUMNS.length + 1)
  .fill('?')
  .join(', ')}) ON CONFLICT (gateway, n) DO NOTHING`;
const NUMBER = 'UPDATE audit_state SET newest = newest + ? RETURNING newest';
const SIZE = 'UPDATE audit_state SET bytes = bytes + ?';
const BYTES = 'SELECT bytes FROM audit_state';
const RANGE = 'SELECT min(seq) AS oldest, max(seq) AS newest FROM audit';
const OLDEST = `SELECT seq, at, bytes FROM audit ORDER BY seq LIMIT ${DELETED_AT_ONCE}`;
const DELETE = 'DELETE FROM audit WHERE seq <= ?';
const DELETE_OLD = `DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE seq > ? AND seq <= ? AND at < ?
  LIMIT ${DELETED_AT_ONCE}) RETURNING bytes`;

export interface SqliteAuditOptions {
  path: string;
  /** How large the file may become. */
  maxBytes: number;
  log: Log;
}

export class SqliteAudit implements AuditLog {
  readonly #db: Libsql.Database;
  readonly #prepared: PreparedStatements;
  readonly #statements: CheckedStatements;
  readonly #options: SqliteAuditOptions;
  readonly #mostBytes: number;
  /** The bytes written since the last size check. */
  #written = 0;
  readonly #sweeps = new Sweeps();

  constructor(db: Libsql.Database, prepared: PreparedStatements, options: SqliteAuditOptions) {
    this.#db = db;
    this.#prepared = prepared;
    this.#statements = new CheckedStatements(prepared, options.path);
    this.#options = options;
    this.#mostBytes = options.maxBytes * FILE_SHARE;
  }

  async append(lines: readonly AuditLine[]): Promise<void> {
    if (lines.length === 0) return;
    this.#statements.check(() => {
      const rows = lines.map((line) => rowOf(line, AUDIT_DIALECT));
      transaction(this.#db, () => {
        const { newest } = this.#prepared.get(NUMBER).get(rows.length) as { newest: number };
        let [seq, bytes] = [newest - rows.length, 0];
        for (const row of rows) {
          seq += 1;
          const { changes } = this.#prepared.get(PUT).run(seq, ...COLUMNS.map((column) => row[column]));
          if (changes > 0) bytes += row.bytes;
        }
        this.#prepared.get(SIZE).run(bytes);
        this.#written += bytes;
      });
    });
    if (this.#written > this.#mostBytes / SIZE_CHECKS) await this.trim(-Infinity, this.#mostBytes);
  }

  async read(query: AuditQuery): Promise<StoredLine[]> {
    return readInWindows(query, {
      range: async () => {
        const { oldest, newest } = this.#rows({ sql: RANGE, values: [] })[0] as {
          oldest: number | null;
          newest: number;
        };
        return oldest === null ? undefined : { oldest, newest };
      },
      rows: async (between, limit) => {
        const found = this.#rows(readAuditStatement({ ...query, limit }, between, AUDIT_DIALECT));
        await nextTurn();
        return found;
      },
      onUnreadable: (seq) => this.#options.log.error('audit_line_unreadable', { path: this.#options.path, seq }),
      // Nothing else runs meanwhile.
      next: (size) => size,
    });
  }

  async trim(before: number, maxBytes: number): Promise<void> {
    this.#written = 0;
    const { bytes } = this.#rows({ sql: BYTES, values: [] })[0] as { bytes: number };
    const limit = Math.min(maxBytes, this.#mostBytes);
    let excess = bytes > limit ? bytes - limit * TRIM_TO : 0;
    for (;;) {
      const { deleted, freed } = this.#deleteSome(before, excess);
      if (deleted === 0) break;
      excess -= freed;
      await nextTurn();
    }
    if (this.#sweeps.isDue(before)) await this.#sweep(before);
  }

  async #sweep(before: number): Promise<void> {
    const { oldest, newest } = this.#rows({ sql: RANGE, values: [] })[0] as { oldest: number | null; newest: number };
    for (let above = (oldest ?? newest) - 1; above < newest;) {
      const end = above + FIRST_WINDOW;
      if (this.#deleteOld(above, end, before) < DELETED_AT_ONCE) above = end;
      await nextTurn();
    }
  }

  /** How many lines were deleted. */
  #deleteOld(above: number, end: number, before: number): number {
    let rows: { bytes: number }[] = [];
    this.#statements.check(() =>
      transaction(this.#db, () => {
        rows = this.#prepared.get(DELETE_OLD).all(above, end, before) as { bytes: number }[];
        if (rows.length > 0) this.#prepared.get(SIZE).run(-rows.reduce((sum, { bytes }) => sum + bytes, 0));
      }),
    );
    return rows.length;
  }

  /** Deletes some of the oldest lines: those before this time, and more until enough bytes are free. */
  #deleteSome(before: number, bytes: number): { deleted: number; freed: number } {
    const rows = this.#rows({ sql: OLDEST, values: [] }) as { seq: number; at: number; bytes: number }[];
    let [deleted, freed, last] = [0, 0, 0];
    for (const row of rows) {
      if (row.at >= before && freed >= bytes) break;
      deleted += 1;
      freed += row.bytes;
      last = row.seq;
    }
    if (deleted === 0) return { deleted, freed };
    this.#statements.check(() =>
      transaction(this.#db, () => {
        this.#prepared.get(DELETE).run(last);
        this.#prepared.get(SIZE).run(-freed);
      }),
    );
    return { deleted, freed };
  }

  #rows({ sql, values }: Statement): Row[] {
    return this.#statements.rows(sql, ...values);
  }
}

/** A gateway may be using the store. A store of an earlier version has no lines. */
export async function openAuditToRead(given: string): Promise<AuditToRead> {
  const path = await fileOf(given);
  const db = await openToLook(path);
  const isThere = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'audit'`).get() !== undefined;
  const log = stderrLog({ logLevel: 'warn', logFormat: 'auto' });
  const audit = new SqliteAudit(db, new PreparedStatements(db), { path, maxBytes: Infinity, log });
  return {
    name: path,
    read: async (query) => (isThere ? audit.read(query) : []),
    close: async () => {
      db.close();
    },
  };
}
