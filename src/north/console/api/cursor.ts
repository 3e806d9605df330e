import type { HistoryCursor } from '../../../core/ports/history.ts';
import { beganAt, type HistoryEntry } from '../../../core/history/entry.ts';
import { ApiError } from '../api-error.ts';

/** The cursor after an entry. */
export function cursorAfter(entry: HistoryEntry): string {
  return cursorAt({ at: beganAt(entry), id: entry.id });
}

export function cursorAt({ at, id }: HistoryCursor): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

export function readCursor(cursor: string | undefined): { cursor?: HistoryCursor } {
  if (cursor === undefined) return {};
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const [at, id]: unknown[] = Array.isArray(read) ? read : [];
    if (typeof at === 'number' && typeof id === 'string') return { cursor: { at, id } };
  } catch {
    // Reported below.
  }
  throw new ApiError(400, 'invalid_parameter', "'cursor' is not a cursor of this API; start without a cursor");
}
