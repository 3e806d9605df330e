/** What the commands for stores tell of them. */

import type { RecordKind } from './queue.ts';

export interface KindSummary {
  count: number;
  /** Moments; absent where there are none. */
  oldest?: number;
  newest?: number;
}

/** Subscriptions are a part of their sessions, and older stores have no table for them. */
export type ShownKind = Exclude<RecordKind, 'subscription'>;

interface Summary {
  /** On disk, with all that belongs to it. */
  bytes: number;
  schemaVersion: number;
  kinds: Record<ShownKind, KindSummary>;
  tasksByStatus: Record<string, number>;
}

export interface FileSummary extends Summary {
  file: string;
  /** The gateway that has it. */
  usedBy?: { pid?: number };
}

export interface UsingGateway {
  id: string;
  /** Where others reach it. */
  address?: string;
  renewedMsAgo: number;
}

export interface DatabaseSummary extends Summary {
  /** Without secrets. */
  database: string;
  /** Those whose leases hold. */
  gateways: UsingGateway[];
}

export type StoreSummary = FileSummary | DatabaseSummary;

export interface PruneRules {
  now: number;
  /** Sessions without an unfinished task that were last active before go, with all that is theirs. */
  idleBefore: number;
  /** Removes ended tasks whose time is over, and those that ended before this moment. */
  endedBefore?: number;
  /** `cluster.leaseMs` */
  leaseMs: number;
}

interface Pruned {
  removed: { sessions: number; tasks: number; questions: number; events: number };
  bytesBefore: number;
  bytesAfter: number;
}

export interface FilePruned extends Pruned {
  file: string;
  /** Why the file could not be made smaller. */
  notCompacted?: string;
}

export type PruneReport = FilePruned | (Pruned & { database: string });
