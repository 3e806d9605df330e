/** The stored history of calls and questions. Every store implements it. */
import type { EntryKind, EntryStatus, EntryWrite, HistoryEntry } from '../history/entry.ts';

/** A position in a list: after the entry with this start time and id. */
export interface HistoryCursor {
  at: number;
  id: string;
}

export interface HistoryFilter {
  kinds: readonly EntryKind[];
  /** The owner of the entries; all principals if absent. */
  principal?: string;
  /** Whether they are unfinished or have ended. */
  active?: boolean;
  statuses?: readonly EntryStatus[];
  /** Whether a call became a task. */
  task?: boolean;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** The call that asked. */
  callId?: string;
  /** Case-insensitive search in the names, ids and messages of an entry. */
  text?: string;
  /** Started at `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface HistoryQuery extends HistoryFilter {
  order: 'newest' | 'oldest';
  cursor?: HistoryCursor;
  limit: number;
  /** Whether to include arguments, results and params. */
  content?: boolean;
  /** Larger contents are omitted. */
  contentBytes?: number;
}

export interface HistoryRange {
  /** The number of the last written entry. */
  newest: number;
  /** A reader that stopped at a smaller number may have missed entries that were deleted since. */
  completeFrom: number;
}

export interface ServerTally {
  server: string;
  calls: number;
  errors: number;
}

/**
 * The unfinished and recently ended calls and questions of all gateways on a store. Every entry becomes visible before any entry
 * with a larger number.
 */
export interface History {
  /**
   * Atomically writes the entries, each replacing its earlier version. An ended entry is not overwritten by an unfinished one,
   * unless it was lost.
   */
  append(writes: readonly EntryWrite[]): Promise<void>;
  read(query: HistoryQuery): Promise<HistoryEntry[]>;
  count(filter: HistoryFilter): Promise<number>;
  /** The entries with these ids and their contents; unknown ids are skipped. */
  find(ids: readonly string[]): Promise<HistoryEntry[]>;
  /** The entries with numbers above `seq` in ascending order, without contents. */
  changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]>;
  range(): Promise<HistoryRange>;
  /** The number of calls per server since then, including summarized ones. */
  tally(since: number, principal?: string): Promise<ServerTally[]>;
  /** Calls the watcher when there may be new entries, from any gateway, until the returned function is called. */
  watch(watcher: () => void): () => void;
  /** Marks unfinished entries of dead gateways as lost; never those of this gateway. */
  endLost(now: number): Promise<void>;
  /** Deletes entries that ended before this time, then the oldest ended ones until the rest fits into `maxBytes`. */
  trim(endedBefore: number, maxBytes: number): Promise<void>;
}
