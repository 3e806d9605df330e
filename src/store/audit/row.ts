/** Audit lines as rows, for every engine. Searchable fields are in columns. */

import { answererOf, ownerOf, type AuditLine, type StoredLine } from '../../core/audit/line.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import type { TextColumns } from '../history/row.ts';

/** The approximate index size of a line. */
const INDEX_BYTES = 100;

/** In the order of the columns. */
export interface AuditRow {
  gateway: string;
  n: number;
  kind: string;
  owner: string | null;
  answerer: string | null;
  server: string | null;
  tool: string | null;
  session_id: string | null;
  at: number;
  bytes: number;
  data: string;
}

export function rowOf(line: AuditLine, { key: keyOf }: Pick<TextColumns, 'key'>): AuditRow {
  const { server, tool, sessionId } = line as { server?: string; tool?: string; sessionId?: string };
  const key = (text: string | undefined): string | null => (text === undefined ? null : keyOf(text));
  const data = stringifyExact(line);
  return {
    gateway: keyOf(line.gateway),
    n: line.n,
    kind: line.kind,
    owner: key(ownerOf(line)),
    answerer: key(answererOf(line)),
    server: key(server),
    tool: key(tool),
    session_id: key(sessionId),
    at: line.at,
    bytes: INDEX_BYTES + data.length,
    data,
  };
}

/** `undefined` if it cannot be read, because another program or a failing disk changed it. */
export function lineOf(row: Record<string, unknown>): StoredLine | undefined {
  try {
    return { seq: Number(row['seq']), ...(parseExact(String(row['data'])) as AuditLine) };
  } catch {
    return undefined;
  }
}
