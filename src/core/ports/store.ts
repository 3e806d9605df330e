/** The durable state of the gateway. `store/sqlite` and `store/postgres` implement `Store`. */
import type { SessionEvent } from '../event/event.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { Task } from '../task/task.ts';
import type { AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import type { ClusterStore } from './cluster-store.ts';
import type { History } from './history.ts';
import type { Outbox } from './outbox.ts';
import type { ServerRecord, SessionRecord, SessionRecordKind, SessionRecords, SubscriptionRecord } from './records.ts';

/** The contents of a session, as its records of each kind. */
export interface StoredSession {
  tasks: Task[];
  questions: Interaction[];
  events: SessionEvent[];
  subscriptions: SubscriptionRecord[];
}

/** A position in the list of dormant sessions: after the session with this id and activity time. */
export interface DormantCursor {
  at: number;
  id: string;
}

export interface DormantQuery {
  /** The owner of the sessions; all principals if absent. */
  principal?: string;
  cursor?: DormantCursor;
  limit: number;
}

/** A stored session that no gateway has in memory, with its record counts. */
export interface DormantSession {
  record: SessionRecord;
  tasks: { running: number; ended: number };
  questions: number;
}

/** What had to be dropped to restore a session. */
export interface Trimmed {
  /** The size of the remaining records. */
  bytes: number;
  /** The numbers of dropped events and questions, and of failed tasks. */
  events: number;
  questions: number;
  tasks: number;
}

/**
 * Writes the records of one session. Changes are collected and committed in one transaction. A reply or notification that
 * reports them leaves only after `settled` has resolved. Only undelivered events and open questions are kept.
 */
export interface SessionStore {
  put<K extends SessionRecordKind>(kind: K, record: SessionRecords[K]): void;
  drop(kind: Exclude<SessionRecordKind, 'session'>, id: string): void;
  /**
   * Resolves when all changes of the session so far are durable, at once if there are none. Rejects when they could not be
   * written, or when another gateway has claimed the session since.
   */
  settled(): Promise<void>;
  /**
   * For changes that must be durable before a server is contacted: waits until they are, and rejects only if they never can be, or if
   * this gateway no longer owns the session. Absent if no other gateway can use the store.
   */
  recorded?(): Promise<void>;
  /** Whether another gateway has claimed the session since, as far as is known. */
  readonly isLost?: boolean;
}

/** A session that this gateway has claimed. */
export interface ClaimedSession extends SessionStore {
  /** Increases with each claim of the session; changes with an older fence are not written. */
  readonly fence: number;
  /** As it was stored when it was claimed; absent if it is new. */
  readonly record: SessionRecord | undefined;
  /** Whether another gateway has claimed it since, as far as is known. */
  readonly isLost: boolean;
  /** A time that no gateway's clock had reached when it was claimed; absent if no other gateway can use the store. */
  readonly after?: number;
  /** Shrinks its records to this size: drops the oldest events first; tasks that are too large fail. */
  trim(maxBytes: number, keepTasksUntil: number): Promise<Trimmed>;
  load(): Promise<StoredSession>;
  /** Deletes the session and all of its records, and ends the claim. Later changes are ignored. */
  erase(): void;
  /** Ends the claim once all changes are durable or have failed; the session can then be claimed again. */
  release(): Promise<void>;
}

/** A problem found at runtime: the store is damaged, its file was deleted or replaced, or the database cannot be reached. */
export type StoreProblem = 'damaged' | 'gone' | 'unreachable';

/** A change of a server by another gateway: its new record, or `undefined` if it was removed. */
export type ServerWatcher = (id: string, record: ServerRecord | undefined) => void;

/** The durable state of all sessions, which several gateways may share. The gateway that claims a session owns it. */
export interface Store {
  /** If set, new work should be refused, while existing work continues. */
  readonly problem: StoreProblem | undefined;
  /** Absent if no other gateway can use the store. */
  readonly cluster: ClusterStore | undefined;
  /** Recent calls and questions. Nothing waits for it or depends on it. */
  readonly history: History;
  /** The audit record, which is loaded on use. */
  openAudit(): Promise<AuditLog>;
  /** Queued and recently sent notifications. Empty unless `notify` is configured. */
  readonly outbox: Outbox;
  /** Registrations, tokens and sign-ins for servers that require authorization. */
  readonly accounts: AccountStore;
  /** Claims a stored or new session; `undefined` while it is claimed, here or by another gateway. */
  claim(sessionId: string): Promise<ClaimedSession | undefined>;
  /**
   * The sessions that continue without their clients: `resumes` holds for them, or they have an unfinished task. Excludes sessions
   * that another gateway has claimed; may return only some of very many.
   */
  sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]>;
  /** The unclaimed sessions, most recently used first. Reads only the session records. */
  dormantSessions(query: DormantQuery): Promise<DormantSession[]>;
  /** The sessions of a principal that belong to a state. */
  states(principal: string): Promise<SessionRecord[]>;
  /** Deletes unclaimed sessions that were last active at this time or earlier. */
  dropIdle(before: number): Promise<void>;
  /** Deletes expired tasks and counters. */
  dropOverdue(now: number): Promise<void>;
  /** Adds to a counter that starts at 0 and is kept until `keepUntil`. Resolves with its value once durable. */
  addToCounter(name: string, amount: number, keepUntil: number): Promise<number>;
  /** A random key of this name, created on first use and shared by all gateways on the store. */
  secret(name: string): Promise<Buffer>;
  servers(): Promise<ServerRecord[]>;
  putServer(record: ServerRecord): void;
  dropServer(id: string): void;
  /** Reports changes by other gateways until the returned function is called. */
  watchServers(watcher: ServerWatcher): () => void;
  /** Resolves when all changes so far are durable, of all sessions and servers. */
  settled(): Promise<void>;
  close(): Promise<void>;
}
