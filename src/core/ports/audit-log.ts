/** The stored audit record. Every store implements it. */
import type { AuditKind, AuditLine, StoredLine } from '../audit/line.ts';

export interface AuditFilter {
  kinds?: readonly AuditKind[];
  /** The owner of the lines; lines without an owner are omitted. */
  owner?: string;
  /** Lines of this principal, or answered by it. */
  principal?: string;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** Case-insensitive search in the line. */
  text?: string;
  /** At `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface AuditQuery extends AuditFilter {
  order: 'newest' | 'oldest';
  /** Starts after the line with this number, in the given order. */
  after?: number;
  limit: number;
  /**
   * Called between the steps of a long search with the number of the last line examined. If it returns false, the search ends with
   * the lines found so far; another search can continue after that number.
   */
  goOn?: (lookedAt: number) => boolean;
}

/**
 * The lines of all gateways on a store. Every line becomes visible before any line with a larger number. Lines never change.
 */
export interface AuditLog {
  /** Atomically writes the lines. Gateway and number identify a line: known ones are skipped. */
  append(lines: readonly AuditLine[]): Promise<void>;
  read(query: AuditQuery): Promise<StoredLine[]>;
  /** Deletes lines from before this time, then the oldest until the rest fits into `maxBytes`. */
  trim(before: number, maxBytes: number): Promise<void>;
}
