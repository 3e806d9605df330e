/** A store in memory that several gateways of one process share, with claims that expire and fences that are checked. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { ClusterStore, LimitUsage, Renewal } from '../../src/core/ports/cluster-store.ts';
import type { ServerRecord, SessionRecord, SessionRecordKind, SessionRecords } from '../../src/core/ports/records.ts';
import type {
  ClaimedSession,
  DormantQuery,
  DormantSession,
  ServerWatcher,
  Store,
  StoredSession,
  Trimmed,
} from '../../src/core/ports/store.ts';
import { resumes } from '../../src/core/session/kind.ts';
import { hasEnded, type Task } from '../../src/core/task/task.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { AccountRows, MemoryAccounts } from './memory-accounts.ts';
import { MemoryAudit } from './memory-audit.ts';
import { HistoryData, MemoryHistory } from './memory-history.ts';
import { MemoryOutbox } from './memory-outbox.ts';

type OwnedKind = Exclude<SessionRecordKind, 'session'>;
type Rows = { [K in OwnedKind]: Map<string, SessionRecords[K]> };

interface Claim {
  gateway: MemoryStore;
  fence: number;
  expired: boolean;
}

/** Changes the data when they are committed. */
type Change = () => void;

const newRows = (): Rows => ({ task: new Map(), question: new Map(), event: new Map(), subscription: new Map() });

const inOrder = <T extends { id: string }>(rows: Iterable<T>): T[] =>
  [...rows].toSorted((a, b) => (a.id < b.id ? -1 : 1));

export class MemoryDatabase {
  readonly sessions = new Map<string, SessionRecord>();
  readonly rows = new Map<string, Rows>();
  readonly servers = new Map<string, ServerRecord>();
  readonly secrets = new Map<string, Buffer>();
  readonly counters = new Map<string, { value: number; keepUntil: number }>();
  readonly claims = new Map<string, Claim>();
  /** What each gateway said when it last renewed its lease. */
  readonly usage = new Map<MemoryStore, LimitUsage>();
  readonly watchers = new Map<ServerWatcher, MemoryStore>();
  readonly history = new HistoryData();
  readonly outbox = new MemoryOutbox();
  readonly accounts = new AccountRows();
  /** Why nothing can be written now. */
  failing: Error | undefined;
  readonly audit = new MemoryAudit();
  /** The ids of the gateways that are there. */
  readonly present = new Set<string>();
  #lastFence = 0;

  /** For one gateway after the other, or for several at once. */
  open({ shared = false } = {}): Store {
    return new MemoryStore(this, shared);
  }

  expireClaims(): void {
    for (const claim of this.claims.values()) claim.expired = true;
    this.usage.clear();
    this.present.clear();
  }

  nextFence(): number {
    this.#lastFence += 1;
    return this.#lastFence;
  }

  rowsOf(sessionId: string): Rows {
    const rows = this.rows.get(sessionId) ?? newRows();
    this.rows.set(sessionId, rows);
    return rows;
  }

  erase(sessionId: string): void {
    this.sessions.delete(sessionId);
    this.rows.delete(sessionId);
  }
}

const NOTHING_QUEUED = Promise.resolve();

class MemoryStore implements Store {
  readonly problem = undefined;
  readonly cluster: ClusterStore | undefined;
  readonly history: MemoryHistory;
  readonly outbox: MemoryOutbox;
  readonly accounts: MemoryAccounts;
  readonly #id = randomUUID();
  readonly #database: MemoryDatabase;
  #queue: { change: Change; claim: Claim | undefined; sessionId: string }[] = [];
  #commit: Promise<void> | undefined;
  readonly #lostWatchers = new Set<() => void>();
  #closed = false;

  constructor(database: MemoryDatabase, shared: boolean) {
    this.#database = database;
    this.cluster = shared ? this.#newCluster() : undefined;
    database.present.add(this.#id);
    const isGone = (gateway: string): boolean => !database.present.has(gateway);
    this.outbox = database.outbox.of(this.#id, isGone);
    this.history = new MemoryHistory(database.history, this.#id, isGone);
    this.accounts = new MemoryAccounts(database.accounts);
  }

  #newCluster(): ClusterStore {
    const holdsLease = (): boolean => this.#database.present.has(this.#id);
    return {
      gatewayId: this.#id,
      key: Buffer.alloc(32, 1),
      leaseMs: 10_000,
      get holdsLease() {
        return holdsLease();
      },
      announce: async () => {},
      ownerOf: async (id) => {
        const claim = this.#database.claims.get(id);
        const owner = claim?.expired === false ? claim.gateway.cluster : undefined;
        return owner && { id: owner.gatewayId, address: 'memory:' };
      },
      others: async () => [],
      anyOther: async () => undefined,
      renew: async (usage) => this.#renew(usage),
      anyGone: async () => [...this.#database.claims.values()].some(({ expired }) => expired),
      tookOver: async () => {},
      notifyWorkLeft: async () => {},
      watchLost: (watcher) => {
        this.#lostWatchers.add(watcher);
        return () => this.#lostWatchers.delete(watcher);
      },
      gatewaysOf: async (principal) => {
        const claims = [...this.#database.claims].filter(
          ([id, claim]) => this.#database.sessions.get(id)?.principal === principal && !claim.expired,
        );
        const others = new Set(claims.map(([, { gateway }]) => gateway));
        others.delete(this);
        return [...others].flatMap(({ cluster }) => (cluster ? [{ id: cluster.gatewayId, address: 'memory:' }] : []));
      },
      leftOf: async (principal) => {
        await this.settled();
        const isLeft = ({ id }: SessionRecord): boolean => this.#database.claims.get(id)?.expired !== false;
        const hasAny = ({ id }: SessionRecord): boolean => {
          const { task, question } = this.#database.rowsOf(id);
          return task.size + question.size > 0;
        };
        return inOrder(this.#database.sessions.values())
          .filter((record) => record.principal === principal && isLeft(record) && hasAny(record))
          .map(({ id }) => id);
      },
      sessionWith: async (kind, id, principal) => {
        const has = (record: SessionRecord): boolean => this.#database.rowsOf(record.id)[kind].has(id);
        return [...this.#database.sessions.values()].find((each) => each.principal === principal && has(each));
      },
    };
  }

  async openAudit(): Promise<MemoryAudit> {
    return this.#database.audit;
  }

  async claim(sessionId: string): Promise<ClaimedSession | undefined> {
    const { claims, sessions } = this.#database;
    await this.settled();
    const held = claims.get(sessionId);
    if (held !== undefined && !held.expired) return undefined;
    const claim: Claim = { gateway: this, fence: this.#database.nextFence(), expired: false };
    claims.set(sessionId, claim);
    this.#mine.add(sessionId);
    return this.#claimed(sessionId, claim, sessions.get(sessionId));
  }

  #claimed(id: string, claim: Claim, record: SessionRecord | undefined): ClaimedSession {
    const database = this.#database;
    let erased = false;
    const queue = (change: Change): void => this.#enqueue(id, change, claim);
    return {
      fence: claim.fence,
      record,
      get isLost() {
        const current = database.claims.get(id);
        return current !== undefined && current !== claim;
      },
      put: (kind, changed) => {
        if (erased) return;
        let copy: typeof changed | Error;
        try {
          copy = JSON.parse(JSON.stringify(changed)) as typeof changed;
        } catch {
          copy = new StoreError('STORE_WRITE_FAILED', `${kind} ${changed.id} cannot be stored`);
        }
        queue(() => {
          if (copy instanceof Error) throw copy;
          if (kind === 'session') database.sessions.set(id, copy as SessionRecord);
          else (database.rowsOf(id)[kind as OwnedKind] as Map<string, typeof copy>).set(copy.id, copy);
        });
      },
      drop: (kind, recordId) => {
        if (!erased) queue(() => void database.rowsOf(id)[kind].delete(recordId));
      },
      settled: () => this.settled(),
      ...(this.cluster && { recorded: () => this.settled() }),
      trim: async (maxBytes, keepTasksUntil) => {
        await this.settled();
        return trim(database.rowsOf(id), maxBytes, keepTasksUntil);
      },
      load: async (): Promise<StoredSession> => {
        if (this.#closed) throw closed();
        await this.settled();
        const { task, question, event, subscription } = database.rowsOf(id);
        return {
          tasks: inOrder(task.values()),
          questions: inOrder(question.values()),
          events: inOrder(event.values()),
          subscriptions: inOrder(subscription.values()),
        };
      },
      erase: () => {
        erased = true;
        queue(() => {
          database.erase(id);
          database.claims.delete(id);
          this.#mine.delete(id);
        });
      },
      release: async () => {
        await this.settled().catch(() => {});
        if (database.claims.get(id) !== claim) return;
        database.claims.delete(id);
        this.#mine.delete(id);
      },
    };
  }

  #renew(usage: LimitUsage): Renewal {
    this.#database.usage.set(this, usage);
    this.#database.present.add(this.#id);
    const lost: string[] = [];
    for (const id of this.#mine) {
      const claim = this.#database.claims.get(id);
      if (claim?.gateway === this) claim.expired = false;
      else lost.push(id);
    }
    for (const id of lost) this.#mine.delete(id);
    const others = [...this.#database.usage].flatMap(([store, used]) => (store === this ? [] : [used]));
    return { lost, others };
  }

  readonly #mine = new Set<string>();

  async sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    await this.settled();
    const isAtWork = (task: Task): boolean => !hasEnded(task);
    const isElsewhere = ({ id }: SessionRecord): boolean => {
      const claim = this.#database.claims.get(id);
      return claim !== undefined && claim.gateway !== this && !claim.expired;
    };
    return inOrder(this.#database.sessions.values())
      .filter((record) => !isElsewhere(record))
      .filter(
        (record) =>
          (this.cluster ? record.preferences !== undefined : resumes(record)) ||
          [...this.#database.rowsOf(record.id).task.values()].some(isAtWork),
      )
      .map(({ id, principal }) => ({ id, principal }));
  }

  async dormantSessions({ principal, cursor, limit }: DormantQuery): Promise<DormantSession[]> {
    await this.settled();
    const { claims, sessions } = this.#database;
    const isAfter = ({ lastActiveAt: at, id }: SessionRecord): boolean =>
      cursor === undefined || at < cursor.at || (at === cursor.at && id < cursor.id);
    return [...sessions.values()]
      .filter((record) => claims.get(record.id)?.expired !== false)
      .filter((record) => (principal === undefined || record.principal === principal) && isAfter(record))
      .toSorted((a, b) => b.lastActiveAt - a.lastActiveAt || (a.id < b.id ? 1 : -1))
      .slice(0, limit)
      .map((record) => {
        const { task, question } = this.#database.rowsOf(record.id);
        const ended = [...task.values()].filter(hasEnded).length;
        return { record, tasks: { running: task.size - ended, ended }, questions: question.size };
      });
  }

  async states(principal: string): Promise<SessionRecord[]> {
    await this.settled();
    return inOrder(this.#database.sessions.values()).filter(
      (record) => record.principal === principal && record.owner.kind === 'state',
    );
  }

  async dropIdle(before: number): Promise<void> {
    await this.settled();
    for (const { id, lastActiveAt } of this.#database.sessions.values()) {
      if (lastActiveAt <= before && !this.#database.claims.has(id)) this.#database.erase(id);
    }
  }

  async dropOverdue(now: number): Promise<void> {
    await this.settled();
    for (const { task } of this.#database.rows.values()) {
      for (const each of task.values()) if (hasEnded(each) && each.keepUntil <= now) task.delete(each.id);
    }
    const { counters } = this.#database;
    for (const [name, { keepUntil }] of counters) if (keepUntil <= now) counters.delete(name);
  }

  async addToCounter(name: string, amount: number, keepUntil: number): Promise<number> {
    const { counters } = this.#database;
    const value = (counters.get(name)?.value ?? 0) + amount;
    counters.set(name, { value, keepUntil });
    return value;
  }

  async secret(name: string): Promise<Buffer> {
    const { secrets } = this.#database;
    const found = secrets.get(name) ?? randomBytes(32);
    secrets.set(name, found);
    return found;
  }

  async servers(): Promise<ServerRecord[]> {
    await this.settled();
    return inOrder(this.#database.servers.values());
  }

  putServer(record: ServerRecord): void {
    this.#enqueue('', () => {
      this.#database.servers.set(record.id, record);
      this.#report(record.id, record);
    });
  }

  dropServer(id: string): void {
    this.#enqueue('', () => {
      this.#database.servers.delete(id);
      this.#report(id, undefined);
    });
  }

  #report(id: string, record: ServerRecord | undefined): void {
    for (const [watcher, gateway] of this.#database.watchers) if (gateway !== this) watcher(id, record);
  }

  watchServers(watcher: ServerWatcher): () => void {
    this.#database.watchers.set(watcher, this);
    return () => this.#database.watchers.delete(watcher);
  }

  settled(): Promise<void> {
    return this.#commit ?? NOTHING_QUEUED;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.settled();
    this.#closed = true;
    this.#database.usage.delete(this);
    this.#database.present.delete(this.#id);
    for (const [id, { gateway }] of this.#database.claims) if (gateway === this) this.#database.claims.delete(id);
  }

  #enqueue(sessionId: string, change: Change, claim?: Claim): void {
    this.#queue.push({ change, claim, sessionId });
    if (this.#commit !== undefined) return;
    this.#commit = Promise.resolve().then(() => this.#write());
    // A caller that waits gets the error.
    this.#commit.catch(() => {});
  }

  #write(): void {
    const queue = this.#queue;
    this.#commit = undefined;
    // The next change tries again.
    if (this.#database.failing) throw this.#database.failing;
    this.#queue = [];
    if (this.#closed) throw closed();
    const failures: unknown[] = [];
    for (const { change, claim, sessionId } of queue) {
      if (claim !== undefined && this.#database.claims.get(sessionId) !== claim) {
        failures.push(new StoreError('STORE_CLAIM_LOST', `another gateway has claimed session ${sessionId}`));
        for (const watcher of this.#lostWatchers) watcher();
        continue;
      }
      try {
        change();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

const closed = (): StoreError => new StoreError('STORE_CLOSED', 'the store is closed');

const sizeOf = (record: object): number => JSON.stringify(record).length;

/** The same shares as on SQLite: a quarter each for events and questions, the rest for tasks; the newest stay. */
function trim(rows: Rows, maxBytes: number, keepUntil: number): Trimmed {
  const total = (): number =>
    [rows.event, rows.question, rows.task]
      .flatMap((kind) => [...kind.values()])
      .reduce((sum, row) => sum + sizeOf(row), 0);
  const none = { bytes: total(), events: 0, questions: 0, tasks: 0 };
  if (none.bytes <= maxBytes) return none;
  const tooMany = <T extends { id: string }>(kind: Map<string, T>, share: number): T[] => {
    let taken = 0;
    return inOrder(kind.values())
      .toReversed()
      .filter((row) => sizeOf(row) > share || (taken += sizeOf(row)) > share);
  };
  const [events, questions] = [tooMany(rows.event, maxBytes / 4), tooMany(rows.question, maxBytes / 4)];
  for (const { id } of events) rows.event.delete(id);
  for (const { id } of questions) rows.question.delete(id);
  const tasks = tooMany(rows.task, maxBytes / 2);
  const error = { code: -32000, message: 'the task was too large to be restored (limits.sessionBytes)' };
  for (const { id, sessionId, server, tool, createdAt, updatedAt, ttlMs } of tasks) {
    const facts = { id, sessionId, server, tool, args: {}, createdAt, updatedAt, ttlMs };
    rows.task.set(id, { ...facts, status: 'failed', keepUntil, error });
  }
  return { bytes: total(), events: events.length, questions: questions.length, tasks: tasks.length };
}
