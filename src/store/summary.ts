/** The output of the store commands. */

import type { RecordKind } from './queue.ts';

export interface KindSummary {
  count: number;
  /** Times; absent without records. */
  oldest?: number;
  newest?: number;
}

/** Subscriptions belong to their sessions, and older stores have no table for them. */
export type ShownKind = Exclude<RecordKind, 'subscription'>;

interface Summary {
  /** The size on disk, including auxiliary files. */
  bytes: number;
  schemaVersion: number;
  kinds: Record<ShownKind, KindSummary>;
  tasksByStatus: Record<string, number>;
}

export interface FileSummary extends Summary {
  file: string;
  /** The gateway that uses the store. */
  usedBy?: { pid?: number };
}

export interface UsingGateway {
  id: string;
  /** Its address for other gateways. */
  address?: string;
  renewedMsAgo: number;
}

export interface DatabaseSummary extends Summary {
  /** Without secrets. */
  database: string;
  /** The gateways with valid leases. */
  gateways: UsingGateway[];
}

export type StoreSummary = FileSummary | DatabaseSummary;

export interface PruneRules {
  now: number;
  /** Removes sessions without unfinished tasks that were last active before this time, with all their data. */
  idleBefore: number;
  /** Removes expired tasks, and tasks that ended before this time. */
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
