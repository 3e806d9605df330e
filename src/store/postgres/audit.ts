/**
 * The audit record in the database, which all gateways write to. Every change starts with a lock on the one row of
 * `audit_state`: so line numbers follow the order of the commits, and readers miss no line.
 */

import type { AuditLine, StoredLine } from '../../core/audit/line.ts';
import type { AuditLog, AuditQuery } from '../../core/ports/audit-log.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { stderrLog, type Log } from '../../lib/log.ts';
import { rowOf, type AuditRow } from '../audit/row.ts';
import { readAuditStatement, type AuditDialect } from '../audit/sql.ts';
import { Sweeps } from '../audit/sweeps.ts';
import type { AuditToRead } from '../audit/to-read.ts';
import { FIRST_WINDOW, readInWindows } from '../audit/windows.ts';
import type { Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { DIALECT as HISTORY_DIALECT } from './history.ts';
import { openToLook } from './look.ts';
import { SCHEMA } from './schema.ts';

export const AUDIT_DIALECT: AuditDialect = { ...HISTORY_DIALECT, bytewise: ' COLLATE "C"' };

/** A record that is too large is trimmed to this fraction, so that trimming is rare. */
const TRIM_TO = 0.95;
/** How many lines are deleted in one go. */
const DELETED_AT_ONCE = 1000;
/** A window that took less is followed by a larger one, and one that took more by a smaller one. */
const FAST_MS = 50;
const SLOW_MS = 500;
const GROWTH = 4;

const TYPES: Record<keyof AuditRow, string> = {
  gateway: 'text',
  n: 'bigint',
  kind: 'text',
  owner: 'text',
  answerer: 'text',
  server: 'text',
  tool: 'text',
  session_id: 'text',
  at: 'double precision',
  bytes: 'integer',
  data: 'text',
};
const COLUMNS = Object.keys(TYPES).join(', ');
const TYPED = Object.entries({ place: 'integer', ...TYPES }).map(([name, type]) => `${name} ${type}`);

/** An existing line was written by a statement whose answer was lost. Its bytes are counted twice until `EXACT`. */
const APPEND = `WITH batch AS MATERIALIZED (SELECT each.* FROM json_to_recordset($1::text::json) AS each(${TYPED.join(', ')})),
  state AS (UPDATE ${SCHEMA}.audit_state SET newest = newest + (SELECT count(*) FROM batch),
    bytes = bytes + (SELECT sum(bytes) FROM batch) RETURNING newest)
  INSERT INTO ${SCHEMA}.audit (seq, ${COLUMNS})
    SELECT newest - (SELECT count(*) FROM batch) + place, ${COLUMNS} FROM batch CROSS JOIN state
    ON CONFLICT (gateway, n) DO NOTHING`;

const BYTES = `SELECT bytes FROM ${SCHEMA}.audit_state`;
const EXACT = `UPDATE ${SCHEMA}.audit_state SET bytes = (SELECT coalesce(sum(bytes), 0) FROM ${SCHEMA}.audit) RETURNING bytes`;

/** Deletes some of the oldest lines: those before this time, and more until enough bytes are free. */
const DELETE = `WITH state AS MATERIALIZED (SELECT newest FROM ${SCHEMA}.audit_state FOR UPDATE),
  first AS (SELECT seq, at, audit.bytes FROM ${SCHEMA}.audit, state ORDER BY seq LIMIT ${DELETED_AT_ONCE}),
  summed AS (SELECT seq, at, sum(bytes) OVER (ORDER BY seq) - bytes AS before FROM first),
  deleted AS (DELETE FROM ${SCHEMA}.audit WHERE seq IN (SELECT seq FROM summed WHERE at < $1 OR before < $2::double precision)
    RETURNING bytes)
  UPDATE ${SCHEMA}.audit_state SET bytes = greatest(0, bytes - (SELECT coalesce(sum(bytes), 0) FROM deleted))
  RETURNING (SELECT coalesce(sum(bytes), 0) FROM deleted) AS freed`;

const RANGE = `SELECT min(seq) AS oldest, max(seq) AS newest FROM ${SCHEMA}.audit`;
const DELETE_OLD = `WITH state AS MATERIALIZED (SELECT newest FROM ${SCHEMA}.audit_state FOR UPDATE),
  deleted AS (DELETE FROM ${SCHEMA}.audit WHERE seq IN (SELECT seq FROM ${SCHEMA}.audit, state
      WHERE seq > $1 AND seq <= $2 AND at < $3 LIMIT ${DELETED_AT_ONCE})
    RETURNING bytes)
  UPDATE ${SCHEMA}.audit_state SET bytes = greatest(0, bytes - (SELECT coalesce(sum(bytes), 0) FROM deleted))
  RETURNING (SELECT count(*) FROM deleted) AS deleted`;

export interface PostgresAuditOptions {
  /** Of the database. */
  name: string;
  /** Every statement may run twice. `read` is for slow statements, `write` for those that lines wait for. */
  read: (sql: string, values: SqlValue[]) => Promise<Row[]>;
  write: (sql: string, values: SqlValue[]) => Promise<Row[]>;
  log: Log;
}

export class PostgresAudit implements AuditLog {
  readonly #options: PostgresAuditOptions;
  readonly #sweeps = new Sweeps();

  constructor(options: PostgresAuditOptions) {
    this.#options = options;
  }

  async append(lines: readonly AuditLine[]): Promise<void> {
    if (lines.length === 0) return;
    const rows = lines.map((line, index) => ({ place: index + 1, ...rowOf(line, AUDIT_DIALECT) }));
    await this.#options.write(APPEND, [stringifyExact(rows)]);
  }

  async read(query: AuditQuery): Promise<StoredLine[]> {
    return readInWindows(query, {
      range: async () => this.#range(),
      rows: async (between, limit) => {
        const { sql, values } = readAuditStatement({ ...query, limit }, between, AUDIT_DIALECT);
        return this.#options.read(sql, values);
      },
      onUnreadable: (seq) => this.#options.log.error('audit_line_unreadable', { path: this.#options.name, seq }),
      next: (size, tookMs) => (tookMs < FAST_MS ? GROWTH * size : tookMs > SLOW_MS ? Math.ceil(size / GROWTH) : size),
    });
  }

  async trim(before: number, maxBytes: number): Promise<void> {
    let excess = await this.#excess(maxBytes);
    for (;;) {
      const [row] = await this.#options.read(DELETE, [before, excess]);
      const freed = Number(row?.['freed']);
      if (freed === 0) break;
      excess -= freed;
    }
    if (this.#sweeps.isDue(before)) await this.#sweep(before);
  }

  async #range(): Promise<{ oldest: number; newest: number } | undefined> {
    const [range] = await this.#options.read(RANGE, []);
    const { oldest, newest } = range ?? {};
    // Both are null without lines.
    return oldest == null ? undefined : { oldest: Number(oldest), newest: Number(newest) };
  }

  async #sweep(before: number): Promise<void> {
    const { oldest, newest } = (await this.#range()) ?? { oldest: 0, newest: 0 };
    for (let above = oldest - 1; above < newest;) {
      const end = above + FIRST_WINDOW;
      const [row] = await this.#options.read(DELETE_OLD, [above, end, before]);
      if (Number(row?.['deleted']) < DELETED_AT_ONCE) above = end;
    }
  }

  async #excess(maxBytes: number): Promise<number> {
    for (const statement of [BYTES, EXACT]) {
      const [row] = await this.#options.read(statement, []);
      const bytes = Number(row?.['bytes']);
      if (bytes <= maxBytes) return 0;
      if (statement === EXACT) return bytes - maxBytes * TRIM_TO;
    }
    return 0;
  }
}

/** Gateways may be using the store. A store of an earlier version has no lines. */
export async function openAuditToRead(url: string): Promise<AuditToRead> {
  const { name, read, close } = await openToLook(url);
  const [row] = await read(`SELECT to_regclass('${SCHEMA}.audit') IS NOT NULL AS is_there`);
  const audit = new PostgresAudit({ name, read, write: read, log: stderrLog({ logLevel: 'warn', logFormat: 'auto' }) });
  return { name, read: async (query) => (row?.['is_there'] === true ? audit.read(query) : []), close };
}
