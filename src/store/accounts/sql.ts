/** The SQL for accounts on servers, in both dialects. */

import type { AccountRecord, AccountRecordKind, StoredAccountRecord } from '../../core/ports/account-store.ts';

export interface AccountsDialect {
  /** The prefix of table names. */
  schema: string;
  parameter: (place: number) => string;
  /** An expression for the current time, if the database's clock must be used. */
  now?: string;
  /** The clause before `OFFSET` that selects all rows. */
  noLimit: string;
}

export interface AccountsStatements {
  any: string;
  get: string;
  list: string;
  insert: string;
  update: string;
  replace: string;
  drop: string;
  claim: string;
  release: string;
  trimOld: string;
  trimPerPrincipal: string;
  trimTotal: string;
}

const COLUMNS = 'kind, id, principal, server, version, created_at, keep_until, data';

/**
 * Every statement may run twice: a writer recognizes its own version, so it does not conflict with itself if the response to the first
 * attempt was lost.
 */
export function accountsStatements({ schema, parameter: p, now, noLimit }: AccountsDialect): AccountsStatements {
  const table = `${schema}accounts`;
  const isThere = (now: string): string => `(keep_until IS NULL OR keep_until > ${now})`;
  const values = Array.from({ length: 8 }, (_, index) => p(index + 1)).join(', ');
  const changed = ['principal', 'server', 'version', 'created_at', 'keep_until', 'data'];
  const overwrite = `${changed.map((column) => `${column} = excluded.${column}`).join(', ')}, claim = NULL, claim_until = NULL`;
  const put = `INSERT INTO ${table} AS old (${COLUMNS}) VALUES (${values}) ON CONFLICT (kind, id) DO UPDATE SET ${overwrite}`;
  const claimNow = now ?? p(6);
  return {
    any: `SELECT 1 AS found FROM ${table} LIMIT 1`,
    get: `SELECT ${COLUMNS} FROM ${table} WHERE kind = ${p(1)} AND id = ${p(2)} AND ${isThere(p(3))}`,
    list: `SELECT ${COLUMNS} FROM ${table} WHERE kind = ${p(1)} AND ${isThere(p(2))}
      AND (${p(3)} = '' OR principal = ${p(3)}) AND (${p(4)} = '' OR server = ${p(4)}) ORDER BY created_at, id`,
    insert: `${put} WHERE old.keep_until <= ${p(9)} OR old.version = excluded.version RETURNING version`,
    update: `UPDATE ${table} SET ${changed.map((column, index) => `${column} = ${p(index + 3)}`).join(', ')},
        claim = NULL, claim_until = NULL
      WHERE kind = ${p(1)} AND id = ${p(2)} AND version IN (${p(5)}, ${p(9)}) RETURNING version`,
    replace: `${put} RETURNING version`,
    drop: `DELETE FROM ${table} WHERE kind = ${p(1)} AND id = ${p(2)} AND version = ${p(3)}
      AND (${p(4)} = '' OR claim = ${p(4)}) RETURNING version`,
    claim: `UPDATE ${table} SET claim = ${p(4)}, claim_until = ${claimNow} + ${p(5)}
      WHERE kind = ${p(1)} AND id = ${p(2)} AND version = ${p(3)}
        AND (claim IS NULL OR claim = ${p(4)} OR claim_until <= ${claimNow}) RETURNING version`,
    release: `UPDATE ${table} SET claim = NULL, claim_until = NULL WHERE kind = ${p(1)} AND id = ${p(2)} AND claim = ${p(3)}`,
    trimOld: `DELETE FROM ${table} WHERE keep_until <= ${p(1)}`,
    trimPerPrincipal: `DELETE FROM ${table} WHERE kind = 'sign_in' AND id IN (SELECT id FROM (SELECT id,
        row_number() OVER (PARTITION BY principal ORDER BY created_at DESC, id) AS place FROM ${table} WHERE kind = 'sign_in') placed
      WHERE place > ${p(1)})`,
    trimTotal: `DELETE FROM ${table} WHERE kind = 'sign_in' AND id IN (SELECT id FROM ${table} WHERE kind = 'sign_in'
      ORDER BY created_at DESC, id ${noLimit} OFFSET ${p(1)})`,
  };
}

type Value = string | number | null;

/** The values of a row, in the order of `insert` and `replace`, and of `update` except for the expected version. */
export function accountValues(record: AccountRecord, version: string): Value[] {
  const { kind, id, principal, server, createdAt, keepUntil = null, data } = record;
  return [kind, id, principal, server, version, createdAt, keepUntil, data];
}

type Row = Record<string, unknown>;

export function accountRecord(row: Row): StoredAccountRecord {
  const { keep_until: keepUntil } = row;
  return {
    kind: String(row['kind']) as AccountRecordKind,
    id: String(row['id']),
    principal: String(row['principal']),
    server: String(row['server']),
    version: String(row['version']),
    createdAt: Number(row['created_at']),
    ...(keepUntil !== null && { keepUntil: Number(keepUntil) }),
    data: String(row['data']),
  };
}
