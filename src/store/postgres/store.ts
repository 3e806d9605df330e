/** The store on PostgreSQL, which several gateways may share. */

import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Observed } from '../../core/observer.ts';
import type { AuditLog } from '../../core/ports/audit-log.ts';
import type { ServerRecord, SessionRecord } from '../../core/ports/records.ts';
import type {
  ClaimedSession,
  DormantQuery,
  DormantSession,
  ServerWatcher,
  Store,
  StoredSession,
  StoreProblem,
  Trimmed,
} from '../../core/ports/store.ts';
import type { Task } from '../../core/task/task.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Records } from '../queue.ts';
import { StoreError } from '../store-error.ts';
import { TOO_LARGE } from '../trim.ts';
import { PostgresAccounts } from './accounts.ts';
import { CleanUp } from './clean-up.ts';
import { claimHoldsWithin, PostgresCluster, MAX_CLOCK_DIFFERENCE_MS } from './cluster.ts';
import type { Claim } from './commit.ts';
import { Database, PATIENCE_MS, RETRY_MS } from './database.ts';
import { DoubtfulClaims } from './doubtful-claims.ts';
import type { Row } from './driver.ts';
import { isDatabaseError, openFailure } from './failure.ts';
import { excessOf } from './fit.ts';
import { PostgresHistory } from './history.ts';
import { keyOf } from './key.ts';
import { PostgresOutbox } from './outbox.ts';
import { ChannelListener } from './channel-listener.ts';
import { RecordReader } from './records.ts';
import { migrate, SCHEMA } from './schema.ts';
import { SharedServers } from './servers.ts';
import { claimLost, RecordRefused, Writer } from './writer.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host/database` */
  url: string;
  log: Log;
  /** How long the lease of a gateway is valid without renewal. */
  leaseMs: number;
  observed?: Observed;
  /** Deadlines are times of this clock. */
  clock?: Pick<Clock, 'now'>;
}

export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const db = await Database.open(options.url);
  try {
    await migrate(db);
    await db.connectAll();
    const store = new PostgresStore(db, options);
    await store.join();
    return store;
  } catch (error) {
    await db.close();
    throw openFailure(db.name, error);
  }
}

/** A claim statement has no effect after this time. */
const CLAIM_VALID_MS = 10_000;

/**
 * A claim that this gateway does not know of was made on a connection that was lost before the answer arrived. An attempt that
 * arrives late does not undo a later one, and after `$4`, in the time of the database, it does nothing at all.
 */
export const CLAIM = `INSERT INTO ${SCHEMA}.claims (session_id, gateway, fence, attempt)
  SELECT $1, id, nextval('${SCHEMA}.fences'), $3 FROM ${SCHEMA}.gateways
    WHERE id = $2 AND extract(epoch FROM clock_timestamp()) * 1000 < $4::double precision FOR KEY SHARE
  ON CONFLICT (session_id) DO UPDATE SET gateway = excluded.gateway, fence = excluded.fence, attempt = excluded.attempt
    WHERE excluded.fence > claims.fence AND CASE WHEN claims.gateway = excluded.gateway
      THEN claims.attempt < excluded.attempt ELSE NOT ${claimHoldsWithin('$5')} END
  RETURNING fence, extract(epoch FROM clock_timestamp()) * 1000 AS now`;

const ADD_TO_COUNTER = `INSERT INTO ${SCHEMA}.counters (name, value, keep_until) VALUES ($1, $2, $3)
  ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value, keep_until = excluded.keep_until RETURNING value`;

const DROP_COUNTERS = `DELETE FROM ${SCHEMA}.counters WHERE keep_until <= $1`;

export class PostgresStore implements Store {
  readonly cluster: PostgresCluster;
  readonly cleanUp: CleanUp;
  readonly history: PostgresHistory;
  readonly outbox: PostgresOutbox;
  readonly accounts: PostgresAccounts;
  readonly #db: Database;
  readonly #log: Log;
  readonly #reader: RecordReader;
  readonly #writer: Writer;
  /** Keyed by the writer's promise for the commit. */
  readonly #committing = new WeakMap<Promise<void>, Promise<void>>();
  readonly #servers: SharedServers;
  /** `undefined` while it is being claimed. */
  readonly #claims = new Map<string, Claim | undefined>();
  readonly #doubtful = new DoubtfulClaims({
    giveBack: async (id) => (await this.#claim(id))?.release(),
    onFree: () => this.cluster.workLeft(),
  });
  /** The number of claim attempts. */
  #attempts = 0;
  #channels: ChannelListener | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: Database, { log, leaseMs, observed = {}, clock = systemClock }: PostgresStoreOptions) {
    this.#db = db;
    this.#log = log;
    this.cluster = new PostgresCluster({
      db,
      log,
      leaseMs,
      clock,
      held: () => [...this.#claims.values()].filter((claim) => claim !== undefined),
      forget: (claim) => this.#forget(claim),
      lastTurn: () => this.#writer.turn,
      sessionAt: async (key) => this.#reader.byKey('session', key),
    });
    this.#reader = new RecordReader(db, (record) => {
      const fix = `it was moved to the table ${SCHEMA}.set_aside of ${db.name}; everything else continues`;
      log.error('record_set_aside', { ...record, fix });
    });
    const { gatewayId: gateway } = this.cluster;
    this.history = new PostgresHistory({ db, gateway, log });
    this.outbox = new PostgresOutbox(db, gateway);
    this.accounts = new PostgresAccounts(db, gateway);
    this.#servers = new SharedServers(gateway, this.#reader);
    const onServer = (id: string, data: string | undefined): void => this.#servers.written(id, data);
    const onLost = (claim: Claim): void => {
      if (this.#claims.get(claim.sessionId) === claim) this.cluster.claimLost();
    };
    this.#writer = new Writer({ db, log, gateway, onServer, onLost, observed });
    const isHeld = (id: string): boolean => this.#claims.has(id) || this.#writer.isQueuedOf(id);
    this.cleanUp = new CleanUp({ db, reader: this.#reader, writer: this.#writer, gateway, isHeld });
  }

  async join(): Promise<void> {
    this.#channels = await ChannelListener.open({
      db: this.#db,
      log: this.#log,
      onServersChanged: (gateway) => this.#servers.changed(gateway, this.#writer),
      onWorkLeft: (gateway) => this.cluster.workLeft(gateway),
      onHistory: (gateway) => {
        // Its own entries are already reported.
        if (gateway !== this.cluster.gatewayId) this.history.changed();
      },
      onAccounts: (notice) => this.accounts.told(notice),
    });
    try {
      await this.cluster.join();
    } catch (error) {
      await this.#channels.close();
      throw error;
    }
  }

  get problem(): StoreProblem | undefined {
    return this.#channels?.isAway === true || this.cluster.isAway ? 'unreachable' : undefined;
  }

  async openAudit(): Promise<AuditLog> {
    const { PostgresAudit } = await import('./audit.ts');
    const { name } = this.#db;
    // Fails now rather than later if the server does not accept another connection.
    await this.#db.read('SELECT', [], 'audit');
    return new PostgresAudit({
      name,
      read: async (sql, values) => this.#db.read(sql, values, 'audit'),
      write: async (sql, values) => this.#db.read(sql, values, 'history'),
      log: this.#log,
    });
  }

  async claim(sessionId: string): Promise<ClaimedSession | undefined> {
    await this.#doubtful.over(sessionId);
    return this.#claim(sessionId);
  }

  async #claim(sessionId: string): Promise<ClaimedSession | undefined> {
    if (this.#claims.has(sessionId) && this.#claims.get(sessionId)?.lost !== true) return undefined;
    this.#claims.set(sessionId, undefined);
    let claim: Claim | undefined;
    try {
      await this.#writer.writtenOf(sessionId);
      const [row] = await this.#db.retry(async () => this.#tryToClaim(sessionId));
      if (row === undefined) {
        this.#claims.delete(sessionId);
        return undefined;
      }
      claim = { sessionId, fence: Number(row['fence']), lost: false };
      this.#claims.set(sessionId, claim);
      const after = Number(row['now']) + MAX_CLOCK_DIFFERENCE_MS;
      // After the claim, in a separate statement, which sees the last writes of the previous owner.
      const record = await this.#reader.session(sessionId);
      // Its client may know servers that this gateway has not read yet.
      if (record !== undefined) await this.#servers.catchUp(this.#writer);
      return this.#claimedSession(claim, record, after);
    } catch (error) {
      this.#claims.delete(sessionId);
      if (claim) this.#writer.release(claim);
      throw error;
    }
  }

  async #tryToClaim(sessionId: string): Promise<Row[]> {
    const { gatewayId, databaseTime, graceMs } = this.cluster;
    this.#attempts += 1;
    const values = [keyOf(sessionId), gatewayId, this.#attempts, databaseTime + CLAIM_VALID_MS, graceMs];
    try {
      return await this.#db.run(CLAIM, values);
    } catch (error) {
      if (!isDatabaseError(error)) this.#doubtful.add(sessionId);
      throw error;
    }
  }

  #claimedSession(claim: Claim, record: SessionRecord | undefined, after: number): ClaimedSession {
    const writer = this.#writer;
    return {
      fence: claim.fence,
      record,
      get isLost() {
        return claim.lost;
      },
      after,
      put: (kind, changed) => {
        // Each kind of a session's records is one of the store's.
        writer.put(claim, kind, changed as Records[typeof kind]);
      },
      drop: (kind, id) => writer.drop(claim, kind, id),
      settled: () => this.#settled(claim),
      recorded: () => this.#recorded(claim),
      trim: async (maxBytes, keepTasksUntil) => this.#trim(claim, maxBytes, keepTasksUntil),
      load: async () => this.#load(claim),
      erase: () => {
        writer.erase(claim);
        this.#forget(claim);
      },
      release: async () => {
        writer.release(claim);
        await writer.settled(claim).catch(() => {});
        this.#forget(claim);
      },
    };
  }

  /** Another claim of the same session may have followed. */
  #forget(claim: Claim): void {
    if (this.#claims.get(claim.sessionId) === claim) this.#claims.delete(claim.sessionId);
  }

  #settled(claim: Claim): Promise<void> {
    const isQueued = this.#writer.isQueued(claim);
    if (!isQueued && this.#isHeld(claim)) return this.#writer.settled(claim);
    const certain = isQueued ? this.#committed(claim) : this.#certain(claim);
    // An unobserved rejection must not crash the process.
    certain.catch(() => {});
    return certain;
  }

  #isHeld(claim: Claim): boolean {
    return !claim.lost && this.cluster.holdsLease;
  }

  /**
   * A commit shows that the session was claimed at that time. If this process was suspended before it got the answer, another
   * gateway may have continued from the stored state, and this one must not act on it as well.
   */
  #committed(claim: Claim): Promise<void> {
    const written = this.#writer.settled(claim);
    // Waiters of one commit share one promise.
    const known = this.#committing.get(written);
    if (known !== undefined) return known;
    const committed = written.then(() => (this.#isHeld(claim) ? undefined : this.#certain(claim)));
    this.#committing.set(written, committed);
    return committed;
  }

  /** While only this gateway cannot reach the database, another one may own the session. */
  async #certain(claim: Claim): Promise<void> {
    for (const begun = Date.now(); !claim.lost && !this.cluster.holdsLease; await delay(RETRY_MS)) {
      if (Date.now() - begun > PATIENCE_MS) throw leaseEnded(this.#db.name);
    }
    if (claim.lost) throw claimLost(claim);
    return this.#writer.settled(claim);
  }

  async #recorded(claim: Claim): Promise<void> {
    for (;;) {
      try {
        return await this.#settled(claim);
      } catch (error) {
        if (claim.lost || claim.ended !== undefined || error instanceof RecordRefused) throw error;
        await delay(RETRY_MS);
      }
    }
  }

  async #load(claim: Claim): Promise<StoredSession> {
    await this.#writer.written(claim);
    return this.#reader.contents(claim.sessionId);
  }

  /** Drops records only if the session is still claimed. */
  async #trim(claim: Claim, maxBytes: number, keepUntil: number): Promise<Trimmed> {
    const { sessionId } = claim;
    await this.#writer.written(claim);
    const { bytes, keys } = await excessOf(this.#db, sessionId, maxBytes);
    if (bytes <= maxBytes) return { bytes, events: 0, questions: 0, tasks: 0 };
    for (const kind of ['event', 'question'] as const) {
      for (const key of keys[kind]) {
        const id = await this.#reader.idOf(kind, key);
        if (id !== undefined) this.#writer.drop(claim, kind, id);
      }
    }
    for (const key of keys.task) {
      // One at a time: each may be large.
      const task = await this.#reader.byKey('task', key);
      if (task) this.#writer.put(claim, 'task', withoutContents(task, keepUntil));
      await this.#writer.settled(claim);
    }
    await this.#writer.settled(claim);
    const { bytes: left } = await excessOf(this.#db, sessionId, maxBytes);
    return { bytes: left, events: keys.event.length, questions: keys.question.length, tasks: keys.task.length };
  }

  async sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]> {
    await this.#writer.written(undefined);
    return this.#reader.sessionsToResume(this.cluster.gatewayId);
  }

  async dormantSessions(query: DormantQuery): Promise<DormantSession[]> {
    await this.#writer.written(undefined);
    return this.#reader.dormantSessions(query, this.cluster.gatewayId);
  }

  async states(principal: string): Promise<SessionRecord[]> {
    await this.#writer.written(undefined);
    return this.#reader.states(principal);
  }

  async dropIdle(before: number): Promise<void> {
    await this.cleanUp.dropIdle(before);
  }

  async dropOverdue(now: number): Promise<void> {
    await this.cleanUp.dropOverdue(now);
    await this.#db.read(DROP_COUNTERS, [now]);
  }

  /** If the connection is lost, the count may be too high, but never too low. */
  async addToCounter(name: string, amount: number, keepUntil: number): Promise<number> {
    const values = [keyOf(name), amount, keepUntil];
    const [row] = await (amount < 0 ? this.#db.run(ADD_TO_COUNTER, values) : this.#db.read(ADD_TO_COUNTER, values));
    return Number(row?.['value']);
  }

  /** Derived from the key that the gateways share. */
  async secret(name: string): Promise<Buffer> {
    return createHmac('sha256', this.cluster.key).update(name).digest();
  }

  async servers(): Promise<ServerRecord[]> {
    return this.#servers.all(this.#writer);
  }

  putServer(record: ServerRecord): void {
    this.#writer.changeServer({ put: record });
  }

  dropServer(id: string): void {
    this.#writer.changeServer({ drop: id });
  }

  watchServers(watcher: ServerWatcher): () => void {
    return this.#servers.watch(watcher, this.#writer);
  }

  settled(): Promise<void> {
    return this.#writer.settled();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#servers.close();
    this.history.close();
    this.#doubtful.close();
    const failure = await this.#writer.close();
    // Otherwise they expire.
    if (!failure) await this.cluster.leave().catch(() => {});
    await this.#channels?.close();
    await this.#db.close();
    if (failure) throw failure;
  }
}

/** Fields that a failed task does not have, and large ones. */
const GONE: ReadonlySet<string> = new Set(['result', 'checkpoint', 'deadline', 'remainingMs', 'unsent']);

/** Clients know the ids of tasks, so the task is kept as failed. */
function withoutContents(task: Task, keepUntil: number): Task {
  const facts = Object.fromEntries(Object.entries(task).filter(([field]) => !GONE.has(field))) as unknown as Task;
  return { ...facts, args: {}, status: 'failed', keepUntil, error: { code: -32_000, message: TOO_LARGE } };
}

function leaseEnded(store: string): StoreError {
  return new StoreError(
    'STORE_WRITE_FAILED',
    `${store}: the lease of this gateway could not be renewed; check the database`,
  );
}
