/** The statements that read the history, which are the same on every engine but for the names of tables and parameters. */

import type { HistoryFilter, HistoryQuery } from '../../core/ports/history.ts';
import type { SqlValue } from '../sql-value.ts';
import type { TextColumns } from './row.ts';

export interface HistoryDialect extends TextColumns {
  /** The prefix of table names. */
  schema: '' | `${string}.`;
  /** The name of the parameter at this place, from 1. */
  parameter(place: number): string;
  /** The position of one text in another. */
  position: 'instr' | 'strpos';
  /** The values of a JSON list parameter, which may have any length while the statement stays the same. */
  listOf(parameter: string): string;
}

export interface Statement {
  sql: string;
  values: SqlValue[];
}

const COLUMNS = 'history.seq, history.status, history.ended_at, history.data';

/** Collects parameters. */
export class Parameters {
  readonly values: SqlValue[] = [];
  readonly #dialect: HistoryDialect;

  constructor(dialect: HistoryDialect) {
    this.#dialect = dialect;
  }

  add(value: SqlValue): string {
    this.values.push(value);
    return this.#dialect.parameter(this.values.length);
  }

  list(values: readonly SqlValue[]): string {
    return values.map((value) => this.add(value)).join(', ');
  }
}

export function readStatement(query: HistoryQuery, dialect: HistoryDialect): Statement {
  const { order, cursor, limit, content = false, contentBytes = Infinity } = query;
  const parameters = new Parameters(dialect);
  const data =
    !content || contentBytes === Infinity
      ? 'content.data'
      : `CASE WHEN history.content_bytes <= ${parameters.add(contentBytes)} THEN content.data END`;
  const conditions = conditionsOf(query, dialect, parameters);
  const [comparison, direction] = order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC'];
  if (cursor) {
    const place = `${parameters.add(cursor.at)}, ${parameters.add(dialect.key(cursor.id))}`;
    conditions.push(`(history.at, history.id) ${comparison} (${place})`);
  }
  const sql = `SELECT ${COLUMNS}${content ? `, ${data} AS content` : ''} FROM ${dialect.schema}history
    ${content ? joinContent(dialect) : ''} WHERE ${conditions.join(' AND ')}
    ORDER BY history.at ${direction}, history.id ${direction} LIMIT ${parameters.add(limit)}`;
  return { sql, values: parameters.values };
}

export function countStatement(filter: HistoryFilter, dialect: HistoryDialect): Statement {
  const parameters = new Parameters(dialect);
  const conditions = conditionsOf(filter, dialect, parameters);
  const sql = `SELECT count(*) AS count FROM ${dialect.schema}history WHERE ${conditions.join(' AND ')}`;
  return { sql, values: parameters.values };
}

export function findStatement(ids: readonly string[], dialect: HistoryDialect): Statement {
  const parameters = new Parameters(dialect);
  const keys = dialect.listOf(parameters.add(JSON.stringify(ids.map((id) => dialect.key(id)))));
  const sql = `SELECT ${COLUMNS}, content.data AS content FROM ${dialect.schema}history ${joinContent(dialect)}
    WHERE history.id IN (${keys})`;
  return { sql, values: parameters.values };
}

export function changesStatement(
  seq: number,
  limit: number,
  principal: string | undefined,
  dialect: HistoryDialect,
): Statement {
  const parameters = new Parameters(dialect);
  const conditions = [`history.seq > ${parameters.add(seq)}`, ...ofPrincipal(principal, dialect, parameters)];
  const sql = `SELECT ${COLUMNS} FROM ${dialect.schema}history WHERE ${conditions.join(' AND ')}
    ORDER BY history.seq LIMIT ${parameters.add(limit)}`;
  return { sql, values: parameters.values };
}

export function tallyStatement(since: number, principal: string | undefined, dialect: HistoryDialect): Statement {
  const parameters = new Parameters(dialect);
  const conditions = [
    `history.at >= ${parameters.add(since)}`,
    'history.calls > 0',
    ...ofPrincipal(principal, dialect, parameters),
  ];
  const sql = `SELECT server, sum(calls) AS calls, sum(errors) AS errors FROM ${dialect.schema}history
    WHERE ${conditions.join(' AND ')} GROUP BY server ORDER BY server`;
  return { sql, values: parameters.values };
}

const joinContent = ({ schema }: HistoryDialect): string =>
  `LEFT JOIN ${schema}history_content AS content ON content.id = history.id`;

function ofPrincipal(principal: string | undefined, dialect: HistoryDialect, parameters: Parameters): string[] {
  return principal === undefined ? [] : [`history.principal = ${parameters.add(dialect.key(principal))}`];
}

const NAMES = [
  ['server', 'server'],
  ['tool', 'tool'],
  ['sessionId', 'session_id'],
  ['callId', 'call_id'],
] as const;

function conditionsOf(filter: HistoryFilter, dialect: HistoryDialect, parameters: Parameters): string[] {
  const { kinds, principal, active, statuses, task, text, from, to } = filter;
  const conditions = [`history.kind IN (${parameters.list(kinds)})`, ...ofPrincipal(principal, dialect, parameters)];
  for (const [field, column] of NAMES) {
    const name = filter[field];
    if (name !== undefined) conditions.push(`history.${column} = ${parameters.add(dialect.key(name))}`);
  }
  if (active !== undefined) conditions.push(`history.ended_at IS ${active ? '' : 'NOT '}NULL`);
  if (statuses !== undefined) conditions.push(`history.status IN (${parameters.list(statuses)})`);
  if (task !== undefined) conditions.push(`history.kind = 'call' AND history.is_task = ${Number(task)}`);
  if (text !== undefined) {
    const part = parameters.add(dialect.search(text.toLowerCase()));
    conditions.push(`${dialect.position}(history.search, ${part}) > 0`);
  }
  if (from !== undefined) conditions.push(`history.at >= ${parameters.add(from)}`);
  if (to !== undefined) conditions.push(`history.at < ${parameters.add(to)}`);
  return conditions;
}
