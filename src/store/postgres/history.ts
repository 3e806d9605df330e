/**
 * The history in the database, which all gateways write to. Every change starts with a lock on the one row of
 * `history_state`: so entry numbers follow the order of the commits, and readers miss no entry.
 */

import type { EntryWrite, HistoryEntry } from '../../core/history/entry.ts';
import type { History, HistoryFilter, HistoryQuery, HistoryRange, ServerTally } from '../../core/ports/history.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
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
import { LEASE_HOLDS } from './cluster.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import { HISTORY_CHANNEL } from './channels.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

export const DIALECT: HistoryDialect = {
  schema: `${SCHEMA}.`,
  parameter: (place) => `$${place}`,
  position: 'strpos',
  listOf: (parameter) => `SELECT value FROM json_array_elements_text(${parameter}::text::json)`,
  key: keyOf,
  search: (text) => text.replaceAll(/\0|\p{Surrogate}/gu, '\u{FFFD}'),
};

/** For connections without notices, as behind some poolers. */
const POLL_MS = 1000;
/** A history that is too large is trimmed to this fraction, so that trimming is rare. */
const TRIM_TO = 0.9;
/** How many entries are deleted in one go. */
const DELETED_AT_ONCE = 1000;

const TYPES: Record<keyof HistoryRow, string> = {
  id: 'text',
  kind: 'text',
  principal: 'text',
  server: 'text',
  tool: 'text',
  session_id: 'text',
  call_id: 'text',
  is_task: 'integer',
  status: 'text',
  at: 'double precision',
  ended_at: 'double precision',
  calls: 'integer',
  errors: 'integer',
  bytes: 'integer',
  content_bytes: 'integer',
  search: 'text',
  data: 'text',
};
const COLUMNS = Object.keys(TYPES);
const CHANGED = ['seq', 'gateway', ...COLUMNS.filter((column) => column !== 'id' && column !== 'content_bytes')];
const TYPED = Object.entries({ place: 'integer', content: 'text', ...TYPES }).map(([name, type]) => `${name} ${type}`);

/** An ended entry is not reopened, unless it was lost, even if this statement arrives late. */
const APPEND = `WITH batch AS MATERIALIZED (SELECT each.* FROM json_to_recordset($1::text::json) AS each(${TYPED.join(', ')})),
  state AS (UPDATE ${SCHEMA}.history_state SET newest = newest + (SELECT count(*) FROM batch) RETURNING newest),
  put AS (INSERT INTO ${SCHEMA}.history AS history (seq, gateway, ${COLUMNS.join(', ')})
    SELECT newest - (SELECT count(*) FROM batch) + place, $2::text, ${COLUMNS.join(', ')} FROM batch CROSS JOIN state
    ON CONFLICT (id) DO UPDATE SET ${CHANGED.map((column) => `${column} = excluded.${column}`).join(', ')},
      content_bytes = coalesce(excluded.content_bytes, history.content_bytes)
    WHERE history.ended_at IS NULL OR history.status = 'lost' OR excluded.ended_at IS NOT NULL RETURNING id),
  contents AS (INSERT INTO ${SCHEMA}.history_content (id, data)
    SELECT id, content FROM batch JOIN put USING (id) WHERE content IS NOT NULL
    ON CONFLICT (id) DO UPDATE SET data = excluded.data)
  SELECT pg_notify('${HISTORY_CHANNEL}', $2)`;

const GONE = `SELECT DISTINCT gateway FROM ${SCHEMA}.history WHERE ended_at IS NULL AND gateway <> $1
  AND NOT EXISTS (SELECT FROM ${SCHEMA}.leases WHERE leases.gateway = history.gateway AND ${LEASE_HOLDS})`;

const END_LOST = `WITH gone AS (SELECT value AS gateway FROM json_array_elements_text($1::text::json)),
  state AS MATERIALIZED (SELECT newest FROM ${SCHEMA}.history_state FOR UPDATE),
  lost AS (SELECT id, row_number() OVER (ORDER BY seq) AS place FROM ${SCHEMA}.history JOIN gone USING (gateway)
    WHERE ended_at IS NULL),
  ended AS (UPDATE ${SCHEMA}.history SET status = 'lost', ended_at = $2, seq = state.newest + lost.place FROM lost, state
    WHERE history.id = lost.id AND history.ended_at IS NULL AND history.gateway IN (SELECT gateway FROM gone) RETURNING seq),
  told AS (SELECT pg_notify('${HISTORY_CHANNEL}', $3))
  UPDATE ${SCHEMA}.history_state SET newest = greatest(newest, (SELECT max(seq) FROM ended)) FROM told`;

const BYTES = `SELECT coalesce(sum(bytes + coalesce(content_bytes, 0)), 0) AS bytes FROM ${SCHEMA}.history`;

/** Deletes the oldest ended entries before this time, but only as many as needed for the bytes. */
const DELETE = `WITH state AS MATERIALIZED (SELECT newest FROM ${SCHEMA}.history_state FOR UPDATE),
  first AS (SELECT id, ended_at, seq, bytes + coalesce(content_bytes, 0) AS size FROM ${SCHEMA}.history, state
    WHERE ended_at < $1 ORDER BY ended_at, seq LIMIT ${DELETED_AT_ONCE}),
  summed AS (SELECT id, size, sum(size) OVER (ORDER BY ended_at, seq) - size AS before FROM first),
  chosen AS (SELECT id FROM summed WHERE before < $2::double precision),
  deleted AS (DELETE FROM ${SCHEMA}.history WHERE id IN (SELECT id FROM chosen)
    RETURNING seq, bytes + coalesce(content_bytes, 0) AS size)
  UPDATE ${SCHEMA}.history_state SET complete_from = greatest(complete_from, (SELECT max(seq) FROM deleted))
  RETURNING (SELECT coalesce(sum(size), 0) FROM deleted) AS freed`;

export interface PostgresHistoryOptions {
  db: Database;
  gateway: string;
  log: Log;
}

export class PostgresHistory implements History {
  readonly #options: PostgresHistoryOptions;
  readonly #watchers = new Set<() => void>();
  #polling: NodeJS.Timeout | undefined;
  /** The newest number reported to watchers. */
  #seen = 0;
  /** The dead gateways at the last check. */
  #gone: ReadonlySet<string> = new Set();

  constructor(options: PostgresHistoryOptions) {
    this.#options = options;
  }

  async append(writes: readonly EntryWrite[]): Promise<void> {
    if (writes.length === 0) return;
    const rows = writes.map((write, index) => {
      const { row, content = null } = prepare(write, DIALECT);
      return { place: index + 1, content, ...row };
    });
    await this.#run(APPEND, [stringifyExact(rows), this.#options.gateway]);
    this.changed();
  }

  async read(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#entries(readStatement(query, DIALECT));
  }

  async count(filter: HistoryFilter): Promise<number> {
    const [row] = await this.#rows(countStatement(filter, DIALECT));
    return Number(row?.['count']);
  }

  async find(ids: readonly string[]): Promise<HistoryEntry[]> {
    return ids.length === 0 ? [] : this.#entries(findStatement(ids, DIALECT));
  }

  async changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]> {
    return this.#entries(changesStatement(seq, limit, principal, DIALECT));
  }

  async range(): Promise<HistoryRange> {
    const [row] = await this.#run(`SELECT newest, complete_from FROM ${SCHEMA}.history_state`);
    return { newest: Number(row?.['newest']), completeFrom: Number(row?.['complete_from']) };
  }

  async tally(since: number, principal?: string): Promise<ServerTally[]> {
    return (await this.#rows(tallyStatement(since, principal, DIALECT))).map((row) => ({
      server: String(row['server']),
      calls: Number(row['calls']),
      errors: Number(row['errors']),
    }));
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    this.#polling ??= setInterval(() => void this.#poll(), POLL_MS).unref();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.close();
    };
  }

  /** There may be new entries. */
  changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** Ignores failures: the next poll follows soon. */
  async #poll(): Promise<void> {
    const range = await this.range().catch(() => undefined);
    if (range === undefined || range.newest === this.#seen) return;
    this.#seen = range.newest;
    this.changed();
  }

  /** Others may continue the sessions of a dead gateway and rewrite their entries, which takes a moment. */
  async endLost(now: number): Promise<void> {
    const { gateway } = this.#options;
    const rows = await this.#run(GONE, [gateway]);
    const gone = rows.map((row) => String(row['gateway']));
    const lost = gone.filter((each) => this.#gone.has(each));
    this.#gone = new Set(gone);
    if (lost.length === 0) return;
    await this.#run(END_LOST, [stringifyExact(lost), now, gateway]);
    this.changed();
  }

  async trim(endedBefore: number, maxBytes: number): Promise<void> {
    while ((await this.#delete(endedBefore, Infinity)) > 0);
    const [row] = await this.#run(BYTES);
    const bytes = Number(row?.['bytes']);
    if (bytes <= maxBytes) return;
    for (let excess = bytes - maxBytes * TRIM_TO; excess > 0;) {
      const freed = await this.#delete(Infinity, excess);
      if (freed === 0) return;
      excess -= freed;
    }
  }

  async #delete(endedBefore: number, bytes: number): Promise<number> {
    const [row] = await this.#run(DELETE, [endedBefore, bytes]);
    return Number(row?.['freed']);
  }

  close(): void {
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  async #entries(statement: Statement): Promise<HistoryEntry[]> {
    const { db, log } = this.#options;
    return (await this.#rows(statement)).flatMap((row) => {
      const entry = entryOf(row);
      if (entry === undefined) log.error('history_entry_unreadable', { path: db.name, seq: Number(row['seq']) });
      return entry ?? [];
    });
  }

  async #rows({ sql, values }: Statement): Promise<Row[]> {
    return this.#run(sql, values);
  }

  /** Every statement may run twice. */
  async #run(sql: string, values: Statement['values'] = []): Promise<Row[]> {
    return this.#options.db.read(sql, values, 'history');
  }
}
