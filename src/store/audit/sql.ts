/** The statement that reads the audit record, the same on every engine but for the names of tables and parameters. */

import { lowerCase } from '../../core/audit/line.ts';
import type { AuditFilter, AuditQuery } from '../../core/ports/audit-log.ts';
import { Parameters, type HistoryDialect, type Statement } from '../history/sql.ts';

/** `bytewise`: the collation suffix with which only ASCII letters have cases. */
export type AuditDialect = HistoryDialect & { bytewise: '' | ` COLLATE "C"` };

/** The range of numbers to search, exclusive at both ends. */
export interface Between {
  above?: number | undefined;
  below?: number | undefined;
}

const NAMES = [
  ['owner', 'owner'],
  ['server', 'server'],
  ['tool', 'tool'],
  ['sessionId', 'session_id'],
] as const;

export function readAuditStatement(query: AuditQuery, { above, below }: Between, dialect: AuditDialect): Statement {
  const parameters = new Parameters(dialect);
  const conditions = conditionsOf(query, dialect, parameters);
  if (above !== undefined) conditions.push(`seq > ${parameters.add(above)}`);
  if (below !== undefined) conditions.push(`seq < ${parameters.add(below)}`);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const sql = `SELECT seq, data FROM ${dialect.schema}audit ${where}
    ORDER BY seq ${direction} LIMIT ${parameters.add(query.limit)}`;
  return { sql, values: parameters.values };
}

function conditionsOf(filter: AuditFilter, dialect: AuditDialect, parameters: Parameters): string[] {
  const { kinds, principal, text, from, to } = filter;
  const conditions: string[] = [];
  if (kinds !== undefined) conditions.push(`kind IN (${parameters.list(kinds)})`);
  for (const [field, column] of NAMES) {
    const name = filter[field];
    if (name !== undefined) conditions.push(`${column} = ${parameters.add(dialect.key(name))}`);
  }
  if (principal !== undefined) {
    const key = dialect.key(principal);
    conditions.push(`(owner = ${parameters.add(key)} OR answerer = ${parameters.add(key)})`);
  }
  if (text !== undefined) {
    // As it appears in JSON.
    const part = lowerCase(JSON.stringify(text).slice(1, -1));
    conditions.push(`${dialect.position}(lower(data${dialect.bytewise}), ${parameters.add(part)}) > 0`);
  }
  if (from !== undefined) conditions.push(`at >= ${parameters.add(from)}`);
  if (to !== undefined) conditions.push(`at < ${parameters.add(to)}`);
  return conditions;
}
