/** The one statement that writes the changes of a turn, if the sessions are still claimed. */

import { hasEnded } from '../../core/task/task.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { Change, Put, RecordKind } from '../queue.ts';
import { OWNED_BY_A_SESSION, TABLES } from '../records.ts';
import { SERVERS_CHANNEL } from './channels.ts';
import type { SqlValue } from '../sql-value.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

export interface Claim {
  readonly sessionId: string;
  readonly fence: number;
  /** Another gateway has claimed the session since. */
  lost: boolean;
  /** No more changes are made under this claim. */
  ended?: 'released' | 'erased';
}

/** A change with the JSON of its record. */
export interface Write {
  change: Change;
  data: string;
}

/** Changes that are made together or not at all: of one session, or of servers. */
export interface Piece {
  /** Absent for servers, which belong to all gateways. */
  claim?: Claim;
  writes: Write[];
  /** The claim ends with these changes. */
  ends: boolean;
  /** It gets a separate statement, because it could not be written together with others. */
  alone?: boolean;
}

type Rows = Record<string, Record<string, unknown>[]>;

/** The columns of each table, besides `id`, `data` and `session_id`. */
const COLUMNS: Record<RecordKind, Record<string, string>> = {
  session: { principal: 'text', owner_kind: 'text', last_active_at: 'double precision', resumes: 'boolean' },
  task: { keep_until: 'double precision' },
  question: {},
  event: {},
  subscription: {},
  server: {},
};

export interface CommitStatement {
  sql: string;
  values: SqlValue[];
}

/**
 * Statements must be in order: an abandoned statement on a hung connection may still arrive there,
 * after later ones.
 */
const TURN = `UPDATE ${SCHEMA}.gateways SET commits = $3::bigint WHERE id = $2 AND commits < $3::bigint RETURNING id`;
const IN_TURN = 'WHERE EXISTS (SELECT FROM turn)';

/**
 * Returns the fences of the valid claims, and an empty one if servers were changed: nothing else is written.
 * `turn` grows with each statement of the gateway.
 */
export function commitStatement(pieces: readonly Piece[], gateway: string, turn: number): CommitStatement {
  const rows: Rows = {};
  const add = (name: string, row: Record<string, unknown>): void => {
    (rows[name] ??= []).push(row);
  };
  for (const { claim, writes, ends } of pieces) {
    const fence = claim?.fence;
    if (claim) add('claimed', { session_id: keyOf(claim.sessionId), fence });
    if (ends) add('ended', { fence });
    for (const { change, data } of writes) addWrite(add, change, data, fence);
  }
  // Sorted, so that the same changes are the same prepared statement; `claimed`, which others need, is the first.
  const names = Object.keys(rows).toSorted();
  const parts = names.map((name) => `${name} AS (${partOf(name)})`);
  const serversChanged = 'put_server' in rows || 'drop_server' in rows;
  const results = [
    ...('claimed' in rows ? ['SELECT fence::text FROM held'] : []),
    ...(serversChanged ? [`SELECT pg_notify('${SERVERS_CHANNEL}', $2)::text ${IN_TURN}`] : []),
  ];
  const inputs = `batch AS (SELECT $1::text::json AS rows), turn AS (${TURN})`;
  const sql = `WITH ${inputs}, ${parts.join(', ')} ${results.join(' UNION ALL ')}`;
  return { sql, values: [stringifyExact(rows), gateway, turn] };
}

function addWrite(
  add: (name: string, row: Record<string, unknown>) => void,
  change: Change,
  data: string,
  fence: number | undefined,
): void {
  switch (change.op) {
    case 'put':
      add(`put_${change.kind}`, { id: keyOf(change.record.id), data, ...columnsOf(change), fence });
      return;
    case 'drop':
      add(`drop_${change.kind}`, { id: keyOf(change.id), fence });
      return;
    case 'drop_session':
      add('erased', { fence });
      for (const kind of OWNED_BY_A_SESSION) add(`erase_${kind}`, {});
      return;
  }
}

/** The subquery for a name in the rows. */
function partOf(name: string): string {
  if (name === 'claimed') {
    // The lock keeps another gateway from claiming the session before this is committed. A weaker one would not.
    return `${rowsOf(name, { session_id: 'text', fence: 'bigint' })}), held AS MATERIALIZED (
      SELECT session_id, fence FROM ${SCHEMA}.claims JOIN claimed USING (session_id, fence) ${IN_TURN} FOR SHARE OF claims`;
  }
  if (name === 'ended') return `DELETE FROM ${SCHEMA}.claims WHERE session_id IN (${heldOf(name)})`;
  if (name === 'erased') return `DELETE FROM ${SCHEMA}.sessions WHERE id IN (${heldOf(name)})`;
  const [op, kind] = name.split('_') as [string, RecordKind];
  const table = `${SCHEMA}.${TABLES[kind]}`;
  if (op === 'erase') return `DELETE FROM ${table} WHERE session_id IN (${heldOf('erased')})`;
  const allowed = kind === 'server' ? IN_TURN : 'JOIN held USING (fence)';
  if (op === 'drop') {
    return `DELETE FROM ${table} WHERE id IN (SELECT id FROM (${rowsOf(name, { id: 'text', fence: 'bigint' })}) r ${allowed})`;
  }
  const columns = COLUMNS[kind];
  const owner = kind === 'session' || kind === 'server' ? [] : ['session_id'];
  const names = ['id', 'data', ...owner, ...Object.keys(columns)];
  const typed = rowsOf(name, { id: 'text', data: 'text', fence: 'bigint', ...columns });
  const changed = names.slice(1).map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.join(', ')} FROM (${typed}) r ${allowed}
    ON CONFLICT (id) DO UPDATE SET ${changed.join(', ')}`;
}

function rowsOf(name: string, columns: Record<string, string>): string {
  const typed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  return `SELECT each.* FROM batch CROSS JOIN LATERAL json_to_recordset(rows->'${name}') AS each(${typed.join(', ')})`;
}

const heldOf = (name: string): string =>
  `SELECT session_id FROM (${rowsOf(name, { fence: 'bigint' })}) r JOIN held USING (fence)`;

function columnsOf({ kind, record }: Put): Record<string, unknown> {
  switch (kind) {
    case 'session':
      return {
        principal: keyOf(record.principal),
        owner_kind: record.owner.kind,
        last_active_at: record.lastActiveAt,
        // The hub finds tasks and questions of native clients in the store.
        resumes: record.preferences !== undefined,
      };
    case 'task':
      return { keep_until: hasEnded(record) ? record.keepUntil : null };
    case 'question':
    case 'event':
    case 'subscription':
    case 'server':
      return {};
  }
}
