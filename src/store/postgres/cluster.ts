/** The gateways on one store: each has a lease, and its claims are valid as long as the lease. */

import { randomUUID } from 'node:crypto';
import type { ClusterStore, GatewayAddress, LimitUsage, Renewal } from '../../core/ports/cluster-store.ts';
import type { SessionRecord } from '../../core/ports/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { TABLES } from '../records.ts';
import { StoreError } from '../store-error.ts';
import { WORK_CHANNEL } from './channels.ts';
import type { Claim } from './commit.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

/** The clocks of two gateways may differ by twice as much, which task deadlines tolerate. */
export const MAX_CLOCK_DIFFERENCE_MS = 30_000;
/** How often to check in case a notice was missed. */
const LOOK_AGAIN_MS = 30_000;
/** When the data of a dead gateway is deleted. */
const FORGET_AFTER = `interval '1 hour'`;

const KEY_BYTES = 32;

/** The findings of `anyGone`. */
interface Look {
  at: number;
  /** The dead gateways. */
  gone: ReadonlySet<string>;
  /** The number of received work notices. */
  notices: number;
}

/** How many claims of a dead gateway are deleted at once. */
const FORGET_CHUNK = 10_000;

/** Only the clock of the database is used, never that of a gateway. */
const NOW = 'extract(epoch FROM clock_timestamp()) * 1000 AS now';
const LEASE_END = `clock_timestamp() + $2::double precision * interval '1 millisecond'`;
const OTHERS = `FROM ${SCHEMA}.leases WHERE gateway <> $1 AND until > clock_timestamp()`;

/**
 * Whether the lease was valid when the statement started, which is also when it was read: a statement that waits for a lock does not see
 * a renewal in the meantime.
 */
export const LEASE_HOLDS = 'leases.until > statement_timestamp()';

/** Whether the gateway of a claim is alive. */
export const CLAIM_HOLDS = claimHolds(LEASE_HOLDS);

/** The same with a grace period in milliseconds (a parameter of the statement). */
export const claimHoldsWithin = (graceMs: string): string => claimHolds(holdsWithin('leases.until', graceMs));

function claimHolds(leaseHolds: string): string {
  return `EXISTS (SELECT FROM ${SCHEMA}.leases WHERE leases.gateway = claims.gateway AND ${leaseHolds})`;
}

export function holdsWithin(until: string, graceMs: string): string {
  return `${until} + ${graceMs}::double precision * interval '1 millisecond' > statement_timestamp()`;
}

const JOIN = `WITH member AS (INSERT INTO ${SCHEMA}.gateways (id, commits) VALUES ($1, $3::bigint) ON CONFLICT (id) DO NOTHING)
  INSERT INTO ${SCHEMA}.leases (gateway, until, lease_ms, address) VALUES ($1, ${LEASE_END}, $2, $4)
  ON CONFLICT (gateway) DO UPDATE SET until = excluded.until, address = excluded.address
  RETURNING ${NOW}, (SELECT value FROM ${SCHEMA}.secrets WHERE name = 'gateways') AS key,
    (SELECT string_agg(DISTINCT lease_ms::text, ', ') ${OTHERS} AND lease_ms <> $2) AS other_leases`;

const RENEW = `WITH before AS (SELECT gateway, until > clock_timestamp() AS held FROM ${SCHEMA}.leases WHERE gateway = $1 FOR UPDATE)
  UPDATE ${SCHEMA}.leases SET until = ${LEASE_END}, usage = $3 FROM before WHERE leases.gateway = before.gateway
  RETURNING held, ${NOW}, (SELECT json_agg(usage::json)::text ${OTHERS} AND usage IS NOT NULL) AS usage`;

const ANNOUNCE = `WITH before AS (UPDATE ${SCHEMA}.leases SET until = clock_timestamp() WHERE address = $2 AND gateway <> $1
    AND until > clock_timestamp())
  UPDATE ${SCHEMA}.leases SET address = $2 WHERE gateway = $1`;

const SAME_ADDRESS = `SELECT gateway FROM ${SCHEMA}.leases WHERE gateway <> $1 AND address = $2 AND until > clock_timestamp()`;

const OWNER = `SELECT gateway, address FROM ${SCHEMA}.claims JOIN ${SCHEMA}.leases USING (gateway)
  WHERE session_id = $1 AND ${holdsWithin('until', '$2')}`;

const ANY_OTHER = `SELECT gateway, address FROM ${SCHEMA}.leases WHERE gateway <> $1 AND address IS NOT NULL
  AND until > clock_timestamp() ORDER BY random() LIMIT 1`;

const ALL_OTHERS = `SELECT gateway, address ${OTHERS}`;

/** How many sessions of a principal are searched, newest first. */
const SESSIONS_WINDOW = 10_000;
const NEWEST_OF = `newest AS MATERIALIZED (SELECT id, last_active_at FROM ${SCHEMA}.sessions
    WHERE principal = $1 ORDER BY last_active_at DESC LIMIT ${SESSIONS_WINDOW})`;

const GATEWAYS_OF = `WITH ${NEWEST_OF},
  owners AS MATERIALIZED (SELECT DISTINCT owner.gateway FROM newest
    CROSS JOIN LATERAL (SELECT gateway FROM ${SCHEMA}.claims WHERE session_id = id OFFSET 0) owner)
  SELECT gateway, address FROM owners JOIN ${SCHEMA}.leases USING (gateway) WHERE gateway <> $2 AND until > clock_timestamp()`;

/** The limit on found sessions of a principal. */
const MAX_LEFT = 100;

const LEFT_OF = `WITH ${NEWEST_OF}
  SELECT id FROM newest WHERE (EXISTS (SELECT FROM ${SCHEMA}.tasks WHERE session_id = newest.id OFFSET 0)
    OR EXISTS (SELECT FROM ${SCHEMA}.questions WHERE session_id = newest.id OFFSET 0))
  AND NOT EXISTS (SELECT FROM ${SCHEMA}.claims WHERE session_id = newest.id AND (gateway = $2 OR ${CLAIM_HOLDS}) OFFSET 0)
  ORDER BY last_active_at DESC LIMIT ${MAX_LEFT}`;

/** Deletes their claims first, in chunks, because there may be very many. */
const FORGET_CLAIMS = `WITH gone AS MATERIALIZED (SELECT gateway FROM ${SCHEMA}.leases
    WHERE until < clock_timestamp() - ${FORGET_AFTER} FOR UPDATE SKIP LOCKED),
  chunk AS (SELECT session_id, fence FROM gone CROSS JOIN LATERAL (SELECT session_id, fence FROM ${SCHEMA}.claims
    WHERE claims.gateway = gone.gateway LIMIT ${FORGET_CHUNK}) claimed LIMIT ${FORGET_CHUNK}),
  forgotten AS (DELETE FROM ${SCHEMA}.claims USING chunk
    WHERE claims.session_id = chunk.session_id AND claims.fence = chunk.fence RETURNING 1)
  SELECT count(*) AS count FROM forgotten`;

const FORGET = `WITH gone AS (DELETE FROM ${SCHEMA}.leases WHERE until < clock_timestamp() - ${FORGET_AFTER}
    AND NOT EXISTS (SELECT FROM ${SCHEMA}.claims WHERE claims.gateway = leases.gateway) RETURNING gateway)
  DELETE FROM ${SCHEMA}.gateways WHERE id IN (SELECT gateway FROM gone)`;

const LEAVE = `WITH member AS (DELETE FROM ${SCHEMA}.gateways WHERE id = $1),
  lease AS (DELETE FROM ${SCHEMA}.leases WHERE gateway = $1), claimed AS (DELETE FROM ${SCHEMA}.claims WHERE gateway = $1)
  SELECT pg_notify('${WORK_CHANNEL}', $1)`;

export interface ClusterOptions {
  db: Database;
  log: Log;
  leaseMs: number;
  clock: Pick<Clock, 'now'>;
  /** The claims that this gateway believes to hold. */
  held: () => Claim[];
  /** Forgets a claim that another gateway holds. */
  forget: (claim: Claim) => void;
  /** The number of its last commit. */
  lastTurn: () => number;
  sessionAt: (key: string) => Promise<SessionRecord | undefined>;
}

export class PostgresCluster implements ClusterStore {
  readonly gatewayId: string = randomUUID();
  readonly leaseMs: number;
  readonly #options: ClusterOptions;
  #key = Buffer.alloc(0);
  #address: string | null = null;
  /** Until when claims are compared with the database: a late statement may still claim one of them. */
  #compareUntil = 0;
  /** How often other gateways may have left work. */
  #notices = 1;
  #lastLook: Look = { at: 0, gone: new Set(), notices: 0 };
  /** The last look after which all left work was taken over. */
  #taken = this.#lastLook;
  readonly #lostWatchers = new Set<() => void>();
  #renewing: Promise<unknown> = Promise.resolve();
  #hasLeft = false;
  #isClockWrong = false;
  /** The usage of the others at the last renewal. */
  #others: LimitUsage[] = [];
  /** By this gateway's clock, from before the database was asked, so that it ends here first. */
  #leaseEnds = 0;
  /** The lease could not be renewed. */
  isAway = false;
  /** The time of the last failed renewal. */
  #awayAt = -Infinity;
  /** How far the database clock is approximately ahead of this gateway's. */
  #aheadMs = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.leaseMs = options.leaseMs;
  }

  get key(): Buffer {
    return this.#key;
  }

  async join(): Promise<void> {
    const { clock, db, log } = this.#options;
    const begun = clock.now();
    const row = await this.#join();
    this.#leaseEnds = begun + this.leaseMs;
    const difference = this.#clockDifference(begun, row);
    if (Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS) {
      await this.leave();
      throw new StoreError('STORE_UNUSABLE', `${db.name}: ${wrongClock(difference)}`);
    }
    const others = row?.['other_leases'];
    if (typeof others === 'string') {
      log.warn('lease_differs', {
        leaseMs: this.leaseMs,
        others,
        fix: 'other gateways on this store have a different cluster.leaseMs; use the same value for all of them',
      });
    }
  }

  async #join(): Promise<Row | undefined> {
    const { db, lastTurn } = this.#options;
    const [row] = await db.run(JOIN, [this.gatewayId, this.leaseMs, lastTurn(), this.#address], 'lease');
    this.#key = Buffer.from(String(row?.['key']), 'hex');
    // Without a full-length key, anyone could sign.
    if (this.#key.length !== KEY_BYTES) throw noKey(db.name);
    return row;
  }

  /** How far the database clock is ahead; it was read some time after `begun`. */
  #clockDifference(begun: number, row: Row | undefined): number {
    const [now, ended] = [Number(row?.['now']), this.#options.clock.now()];
    this.#aheadMs = now - (begun + ended) / 2;
    return now < begun ? now - begun : Math.max(0, now - ended);
  }

  /** The approximate time of the database. */
  get databaseTime(): number {
    return this.#options.clock.now() + this.#aheadMs;
  }

  /**
   * How late others may be with renewing their leases. While the database was unreachable from here, they may have
   * been unable to reach it as well: the first gateway to reconnect must not take their sessions.
   */
  get graceMs(): number {
    return this.#options.clock.now() - this.#awayAt < this.leaseMs ? this.leaseMs : 0;
  }

  /** While true, no other gateway can have taken over the claims of this one. */
  get holdsLease(): boolean {
    return this.#options.clock.now() < this.#leaseEnds;
  }

  /** Waits for a renewal in progress, which would join again. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#renewing;
    await this.#options.db.run(LEAVE, [this.gatewayId]);
  }

  async announce(address: string): Promise<void> {
    this.#address = address;
    await this.#options.db.read(ANNOUNCE, [this.gatewayId, address]);
    this.#notices += 1;
  }

  async ownerOf(id: string): Promise<GatewayAddress | undefined> {
    const [row] = await this.#options.db.read(OWNER, [keyOf(id), this.graceMs]);
    return row && addressIn(row);
  }

  async others(): Promise<GatewayAddress[]> {
    return (await this.#options.db.read(ALL_OTHERS, [this.gatewayId])).map(addressIn);
  }

  async anyOther(): Promise<GatewayAddress | undefined> {
    const [row] = await this.#options.db.read(ANY_OTHER, [this.gatewayId]);
    return row && addressIn(row);
  }

  async gatewaysOf(principal: string): Promise<GatewayAddress[]> {
    return (await this.#options.db.read(GATEWAYS_OF, [keyOf(principal), this.gatewayId])).map(addressIn);
  }

  async leftOf(principal: string): Promise<string[]> {
    const { db, sessionAt } = this.#options;
    const rows = await db.read(LEFT_OF, [keyOf(principal), this.gatewayId]);
    const sessions = await Promise.all(rows.map(async ({ id }) => sessionAt(String(id))));
    return sessions.flatMap((session) => (session ? [session.id] : []));
  }

  async sessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<SessionRecord | undefined> {
    const { db, sessionAt } = this.#options;
    const sql = `SELECT session_id FROM ${SCHEMA}.${TABLES[kind]} found JOIN ${SCHEMA}.sessions ON session_id = sessions.id
      WHERE found.id = $1 AND principal = $2`;
    const [row] = await db.read(sql, [keyOf(id), keyOf(principal)]);
    return row && sessionAt(String(row['session_id']));
  }

  renew(usage: LimitUsage): Promise<Renewal> {
    const renewal = this.#renewAndCompare(usage);
    this.#renewing = renewal.catch(() => {});
    return renewal;
  }

  async #renewAndCompare(usage: LimitUsage): Promise<Renewal> {
    if (this.#hasLeft) throw this.#options.db.closed();
    const { log, clock, held, forget } = this.#options;
    const begun = clock.now();
    const row = await this.#renew(usage);
    this.#watchClock(this.#clockDifference(begun, row ?? (await this.#join())));
    const claims = held();
    // Others may have claimed sessions before they could see the renewal, although it was in time.
    const isLate = clock.now() >= this.#leaseEnds;
    if (row?.['held'] !== true || isLate) {
      this.#awayAt = clock.now();
      log.warn('lease_lapsed', { gateway: this.gatewayId, claims: claims.length });
      this.#compareUntil = begun + this.leaseMs + LOOK_AGAIN_MS;
      await this.#checkAddress();
    }
    if (begun < this.#compareUntil) await this.#findLost(claims);
    // Only once the lost sessions are known: until then nothing may be sent in them.
    this.#leaseEnds = begun + this.leaseMs;
    const lost = claims.filter((claim) => claim.lost);
    for (const claim of lost) forget(claim);
    if (row) this.#others = typeof row['usage'] === 'string' ? (parseExact(row['usage']) as LimitUsage[]) : [];
    return { lost: lost.map(({ sessionId }) => sessionId), others: this.#others };
  }

  /** A gateway takes another one with its own address for its predecessor and ends that lease. */
  async #checkAddress(): Promise<void> {
    const { db, log } = this.#options;
    if (this.#address === null) return;
    const [other] = await db.read(SAME_ADDRESS, [this.gatewayId, this.#address]);
    if (other === undefined) return;
    log.error('address_shared', {
      address: this.#address,
      gateway: other['gateway'],
      fix: "another gateway advertises the same address and has ended this gateway's lease; give each gateway its own address with --advertise",
    });
  }

  async #renew(usage: LimitUsage): Promise<Row | undefined> {
    const used = Object.keys(usage).length === 0 ? null : stringifyExact(usage);
    try {
      const [row] = await this.#options.db.read(RENEW, [this.gatewayId, this.leaseMs, used], 'lease');
      this.isAway = false;
      return row;
    } catch (error) {
      this.isAway = true;
      this.#awayAt = this.#options.clock.now();
      throw error;
    }
  }

  /** Only warns: stopping would not help. */
  #watchClock(difference: number): void {
    const isWrong = Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS;
    if (isWrong && !this.#isClockWrong) this.#options.log.warn('clock_differs', { problem: wrongClock(difference) });
    this.#isClockWrong = isWrong;
  }

  /** On the connection of the renewal, independent of the load on the others: the next renewal waits for it. */
  async #findLost(claims: readonly Claim[]): Promise<void> {
    const sql = `SELECT fence FROM ${SCHEMA}.claims WHERE gateway = $1`;
    const rows = await this.#options.db.read(sql, [this.gatewayId], 'lease');
    const fences = new Set(rows.map(({ fence }) => Number(fence)));
    for (const claim of claims) if (!claim.ended && !fences.has(claim.fence)) claim.lost = true;
  }

  watchLost(watcher: () => void): () => void {
    this.#lostWatchers.add(watcher);
    return () => this.#lostWatchers.delete(watcher);
  }

  /** A commit found that another gateway owns a session. */
  claimLost(): void {
    for (const watcher of this.#lostWatchers) watcher();
  }

  /** A gateway has left work, or some gateway may have. */
  workLeft(by?: string): void {
    if (by !== this.gatewayId) this.#notices += 1;
  }

  async anyGone(): Promise<boolean> {
    const { db, clock } = this.#options;
    const look = { at: clock.now(), notices: this.#notices };
    const rows: Row[] = await db.read(`SELECT gateway FROM ${SCHEMA}.leases WHERE until <= clock_timestamp()`);
    const gone = new Set(rows.map(({ gateway }) => String(gateway)));
    gone.delete(this.gatewayId);
    this.#lastLook = { ...look, gone };
    // A gateway that came back may be dead again, with other work.
    const known = new Set([...this.#taken.gone].filter((gateway) => gone.has(gateway)));
    this.#taken = { ...this.#taken, gone: known };
    const { at, notices } = this.#taken;
    const isTime = Math.abs(look.at - at) >= LOOK_AGAIN_MS;
    return isTime || look.notices !== notices || [...gone].some((gateway) => !known.has(gateway));
  }

  async tookOver(): Promise<void> {
    const { db, log } = this.#options;
    this.#taken = this.#lastLook;
    if (this.#taken.gone.size === 0) return;
    try {
      for (let count = FORGET_CHUNK; count === FORGET_CHUNK;)
        count = Number((await db.read(FORGET_CLAIMS))[0]?.['count']);
      await db.read(FORGET);
    } catch (error) {
      log.warn('gateways_not_forgotten', { error: messageOf(error) });
    }
  }

  async notifyWorkLeft(): Promise<void> {
    await this.#options.db.read(`SELECT pg_notify('${WORK_CHANNEL}', $1)`, [this.gatewayId]);
  }
}

function noKey(store: string): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${store}: the signing key of the gateways is missing from ${SCHEMA}.secrets; stop all gateways and create a new key: ` +
      `INSERT INTO ${SCHEMA}.secrets VALUES ('gateways', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')) ` +
      'ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
}

function addressIn({ gateway, address }: Row): GatewayAddress {
  return { id: String(gateway), ...(typeof address === 'string' && { address }) };
}

/** Deadlines are clock times, and each owner of a session uses its own clock. */
function wrongClock(differenceMs: number): string {
  const seconds = Math.round(Math.abs(differenceMs) / 1000);
  const way = differenceMs > 0 ? 'behind' : 'ahead of';
  return `the clock of this machine is ${seconds} seconds ${way} that of the database; synchronize the clocks of both (NTP)`;
}
