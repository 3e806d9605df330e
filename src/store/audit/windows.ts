/**
 * Reads the audit record in windows of line numbers, so that no statement reads too many lines, however few of them match. A window
 * that is read fast is followed by a larger one: where an index leads to the lines, a few windows are enough for all of them.
 */

import type { StoredLine } from '../../core/audit/line.ts';
import type { AuditQuery } from '../../core/ports/audit-log.ts';
import { lineOf } from './row.ts';
import type { Between } from './sql.ts';

/** The size of the first window. */
export const FIRST_WINDOW = 10_000;

export interface WindowReader {
  /** The numbers of the oldest and the newest line; `undefined` without lines. */
  range: () => Promise<{ oldest: number; newest: number } | undefined>;
  /** The matching rows in a range, up to a limit. */
  rows: (between: Between, limit: number) => Promise<readonly Record<string, unknown>[]>;
  onUnreadable: (seq: number) => void;
  /** The size of the next window, given the size and duration of the last one. */
  next: (size: number, tookMs: number) => number;
}

export async function readInWindows(
  { order, after, limit, goOn }: Pick<AuditQuery, 'order' | 'after' | 'limit' | 'goOn'>,
  { range, rows, onUnreadable, next }: WindowReader,
): Promise<StoredLine[]> {
  const all = await range();
  if (all === undefined) return [];
  const { oldest, newest } = all;
  const found: StoredLine[] = [];
  const isDown = order === 'newest';
  const edge = isDown ? newest + 1 : oldest - 1;
  // The number of the last examined line.
  let at = isDown ? Math.min(after ?? edge, edge) : Math.max(after ?? edge, edge);
  for (let size = FIRST_WINDOW; ;) {
    const begun = performance.now();
    const end = isDown ? at - size : at + size;
    const between = isDown ? { above: end - 1, below: at } : { above: at, below: end + 1 };
    const wanted = limit - found.length;
    const read = await rows(between, wanted);
    for (const row of read) {
      const line = lineOf(row);
      if (line === undefined) onUnreadable(Number(row['seq']));
      else found.push(line);
    }
    // The window may contain more lines, to replace unreadable ones.
    at = read.length < wanted ? end : Number(read.at(-1)?.['seq']);
    if (found.length >= limit || (isDown ? at <= oldest : at >= newest)) return found;
    if (goOn?.(at) === false) return found;
    size = next(size, performance.now() - begun);
  }
}
