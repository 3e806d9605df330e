/** History entries as rows, for every engine. Searchable fields are in columns. */

import {
  beganAt,
  endedAt,
  searchText,
  type EntryContent,
  type EntryWrite,
  type HistoryEntry,
  type NewEntry,
} from '../../core/history/entry.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';

/** The approximate index size of an entry. */
const INDEX_BYTES = 300;

/** In the order of the columns. `content` is in a separate table, because it seldom changes with the entry. */
export interface HistoryRow {
  id: string;
  kind: string;
  principal: string;
  server: string;
  tool: string | null;
  session_id: string | null;
  call_id: string | null;
  is_task: number;
  status: string | null;
  at: number;
  ended_at: number | null;
  calls: number;
  errors: number;
  bytes: number;
  content_bytes: number | null;
  search: string;
  data: string;
}

export interface PreparedEntry {
  row: HistoryRow;
  /** As JSON; absent if the stored content stays. */
  content?: string;
}

/** How an engine stores searchable texts. */
export interface TextColumns {
  key(text: string): string;
  search(text: string): string;
}

export function prepare({ entry, content }: EntryWrite, columns: TextColumns): PreparedEntry {
  const { status: _status, endedAt: _endedAt, ...facts } = entry as NewEntry & { status?: string; endedAt?: number };
  const contentJson = content && jsonOf(content);
  const isRefused = content !== undefined && contentJson === undefined;
  const data = stringifyExact(isRefused ? { ...facts, truncated: true } : facts);
  const key = (text: string | undefined): string | null => (text === undefined ? null : columns.key(text));
  const row: HistoryRow = {
    id: columns.key(entry.id),
    kind: entry.kind,
    principal: columns.key(entry.principal),
    server: columns.key(entry.server),
    tool: key(entry.tool),
    session_id: entry.kind === 'summary' ? null : columns.key(entry.sessionId),
    call_id: entry.kind === 'question' ? key(entry.callId) : null,
    is_task: Number(entry.kind === 'call' && entry.taskId !== undefined),
    status: entry.kind === 'summary' ? null : entry.status,
    at: beganAt(entry),
    ended_at: endedAt(entry) ?? null,
    ...countsOf(entry),
    bytes: INDEX_BYTES + data.length,
    content_bytes: contentJson?.length ?? null,
    search: columns.search(searchText(entry)),
    data,
  };
  return contentJson === undefined ? { row } : { row, content: contentJson };
}

/** `undefined` if it cannot be serialized, for example if nested too deeply: the rest is still written. */
function jsonOf(content: EntryContent): string | undefined {
  try {
    return stringifyExact(content);
  } catch {
    return undefined;
  }
}

function countsOf(entry: NewEntry): Pick<HistoryRow, 'calls' | 'errors'> {
  switch (entry.kind) {
    case 'call':
      return { calls: 1, errors: Number(entry.status === 'failed' || entry.isError === true) };
    case 'summary':
      return { calls: entry.count, errors: entry.errors };
    case 'question':
      return { calls: 0, errors: 0 };
  }
}

/** `undefined` if it cannot be read, because another program or a failing disk changed it. */
export function entryOf(row: Record<string, unknown>): HistoryEntry | undefined {
  try {
    const facts = parseExact(String(row['data'])) as NewEntry;
    const ended = row['ended_at'] ?? undefined;
    const { content } = row;
    return {
      ...facts,
      seq: Number(row['seq']),
      ...(facts.kind !== 'summary' && {
        status: row['status'],
        ...(ended !== undefined && { endedAt: Number(ended) }),
      }),
      ...(typeof content === 'string' && (parseExact(content) as EntryContent)),
    } as HistoryEntry;
  } catch {
    return undefined;
  }
}
