/** The gateways on one store: each has a lease, and its claims hold as long as that. */

import { randomUUID } from 'node:crypto';
import type { ClusterStore, GatewayAddress, SessionRecord } from '../../core/ports.ts';
import type { Log } from '../../lib/log.ts';
import { TABLES } from '../records.ts';
import { StoreError } from '../store-error.ts';
import type { Claim } from './commit.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

/** Told on it that work may be left, with the id of the gateway that left it. */
export const WORK_CHANNEL = 'meanwhile_work';

/** The clocks of two gateways may differ by twice as much, which deadlines of tasks can bear. */
export const MAX_CLOCK_DIFFERENCE_MS = 30_000;
/** In case that nothing was told of what was left. */
const LOOK_AGAIN_MS = 30_000;
/** After that, nothing is remembered of a gateway that is gone. */
const FORGET_AFTER = `interval '1 hour'`;

/** The time of the database decides, never that of a gateway. */
const LEASE_END = `clock_timestamp() + $2 * interval '1 millisecond'`;

/** Whether the gateway of a claim is there. */
export const CLAIM_HOLDS = `EXISTS (SELECT FROM ${SCHEMA}.leases WHERE leases.gateway = claims.gateway
  AND leases.until > clock_timestamp())`;

const JOIN = `WITH member AS (INSERT INTO ${SCHEMA}.gateways (id, commits) VALUES ($1, $3::bigint) ON CONFLICT (id) DO NOTHING)
  INSERT INTO ${SCHEMA}.leases (gateway, until, address) VALUES ($1, ${LEASE_END}, $4)
  ON CONFLICT (gateway) DO UPDATE SET until = excluded.until, address = excluded.address
  RETURNING extract(epoch FROM clock_timestamp()) * 1000 AS now,
    (SELECT value FROM ${SCHEMA}.secrets WHERE name = 'gateways') AS key`;

const RENEW = `WITH before AS (SELECT until > clock_timestamp() AS held FROM ${SCHEMA}.leases WHERE gateway = $1 FOR UPDATE),
  renewed AS (UPDATE ${SCHEMA}.leases SET until = ${LEASE_END} WHERE gateway = $1 RETURNING gateway)
  SELECT held FROM before, renewed`;

const ANNOUNCE = `WITH before AS (DELETE FROM ${SCHEMA}.leases WHERE address = $2 AND gateway <> $1)
  UPDATE ${SCHEMA}.leases SET address = $2 WHERE gateway = $1`;

const OWNER = `SELECT gateway, address FROM ${SCHEMA}.claims JOIN ${SCHEMA}.leases USING (gateway)
  WHERE session_id = $1 AND until > clock_timestamp()`;

const ANY_OTHER = `SELECT gateway, address FROM ${SCHEMA}.leases WHERE gateway <> $1 AND address IS NOT NULL
  AND until > clock_timestamp() ORDER BY random() LIMIT 1`;

const GATEWAYS_OF = `SELECT DISTINCT gateway, address FROM ${SCHEMA}.sessions JOIN ${SCHEMA}.claims ON session_id = id
  JOIN ${SCHEMA}.leases USING (gateway) WHERE principal = $1 AND gateway <> $2 AND until > clock_timestamp()`;

/** How many sessions of a principal are looked at. */
const MAX_LEFT = 100;

const LEFT_OF = `SELECT id FROM ${SCHEMA}.sessions WHERE principal = $1 AND (
    EXISTS (SELECT FROM ${SCHEMA}.tasks WHERE session_id = sessions.id)
    OR EXISTS (SELECT FROM ${SCHEMA}.questions WHERE session_id = sessions.id))
  AND NOT EXISTS (SELECT FROM ${SCHEMA}.claims WHERE session_id = sessions.id AND (gateway = $2 OR ${CLAIM_HOLDS}))
  ORDER BY last_active_at DESC LIMIT ${MAX_LEFT}`;

const FORGET = `WITH gone AS (DELETE FROM ${SCHEMA}.leases WHERE until < clock_timestamp() - ${FORGET_AFTER} RETURNING gateway),
  members AS (DELETE FROM ${SCHEMA}.gateways WHERE id IN (SELECT gateway FROM gone))
  DELETE FROM ${SCHEMA}.claims WHERE gateway IN (SELECT gateway FROM gone)`;

const LEAVE = `WITH member AS (DELETE FROM ${SCHEMA}.gateways WHERE id = $1),
  lease AS (DELETE FROM ${SCHEMA}.leases WHERE gateway = $1), claimed AS (DELETE FROM ${SCHEMA}.claims WHERE gateway = $1)
  SELECT pg_notify('${WORK_CHANNEL}', $1)`;

export interface ClusterOptions {
  db: Database;
  log: Log;
  leaseMs: number;
  /** What this gateway takes for claimed. */
  held: () => Claim[];
  /** These are claimed by others. */
  forget: (claim: Claim) => void;
  /** The number of its last commit. */
  lastTurn: () => number;
  sessionAt: (key: string) => Promise<SessionRecord | undefined>;
}

export class Cluster implements ClusterStore {
  readonly gatewayId: string = randomUUID();
  readonly leaseMs: number;
  readonly #options: ClusterOptions;
  #key = Buffer.alloc(0);
  #address: string | null = null;
  /** Until when claims are compared with the database: a statement that claims one of them may still be on its way. */
  #compareUntil = 0;
  /** Gateways that are known to be gone. */
  #gone: ReadonlySet<string> = new Set();
  #isWorkLeft = true;
  #lookedAt = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.leaseMs = options.leaseMs;
  }

  get key(): Buffer {
    return this.#key;
  }

  async join(): Promise<void> {
    const begun = Date.now();
    const now = await this.#join();
    // The database looked at its clock some time in between.
    const difference = now < begun ? now - begun : Math.max(0, now - Date.now());
    if (Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS) {
      await this.leave();
      throw wrongClock(this.#options.db.name, difference);
    }
  }

  async #join(): Promise<number> {
    const { db, lastTurn } = this.#options;
    const [row] = await db.run(JOIN, [this.gatewayId, this.leaseMs, lastTurn(), this.#address]);
    this.#key = Buffer.from(String(row?.['key']), 'hex');
    return Number(row?.['now']);
  }

  async leave(): Promise<void> {
    await this.#options.db.run(LEAVE, [this.gatewayId]);
  }

  async announce(address: string): Promise<void> {
    this.#address = address;
    await this.#options.db.read(ANNOUNCE, [this.gatewayId, address]);
    this.#isWorkLeft = true;
  }

  async ownerOf(id: string): Promise<GatewayAddress | undefined> {
    const [row] = await this.#options.db.read(OWNER, [keyOf(id)]);
    return row && addressIn(row);
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

  async renew(): Promise<string[]> {
    const { db, log, held, forget } = this.#options;
    const begun = Date.now();
    const claims = held();
    const [row] = await db.read(RENEW, [this.gatewayId, this.leaseMs]);
    if (row === undefined) await this.#join();
    if (row?.['held'] !== true) {
      log.warn('lease_lapsed', { gateway: this.gatewayId, claims: claims.length });
      this.#compareUntil = begun + this.leaseMs + LOOK_AGAIN_MS;
    }
    if (begun < this.#compareUntil) await this.#findLost(claims);
    const lost = claims.filter((claim) => claim.lost);
    for (const claim of lost) forget(claim);
    return lost.map(({ sessionId }) => sessionId);
  }

  async #findLost(claims: readonly Claim[]): Promise<void> {
    const sql = `SELECT fence FROM ${SCHEMA}.claims WHERE gateway = $1`;
    const rows = await this.#options.db.read(sql, [this.gatewayId]);
    const fences = new Set(rows.map(({ fence }) => Number(fence)));
    for (const claim of claims) if (!claim.ended && !fences.has(claim.fence)) claim.lost = true;
  }

  /** Some gateway has left work. */
  workLeft(by: string): void {
    if (by !== this.gatewayId) this.#isWorkLeft = true;
  }

  async anyGone(): Promise<boolean> {
    const { db } = this.#options;
    const rows: Row[] = await db.read(`SELECT gateway FROM ${SCHEMA}.leases WHERE until <= clock_timestamp()`);
    const gone = new Set(rows.map(({ gateway }) => String(gateway)));
    gone.delete(this.gatewayId);
    const isNew = [...gone].some((gateway) => !this.#gone.has(gateway));
    this.#gone = gone;
    const now = Date.now();
    const isTime = Math.abs(now - this.#lookedAt) >= LOOK_AGAIN_MS;
    if (!isNew && !this.#isWorkLeft && !isTime) return false;
    this.#isWorkLeft = false;
    this.#lookedAt = now;
    if (gone.size > 0) await db.read(FORGET);
    return true;
  }

  async handOver(): Promise<void> {
    await this.#options.db.read(`SELECT pg_notify('${WORK_CHANNEL}', $1)`, [this.gatewayId]);
  }
}

function addressIn({ gateway, address }: Row): GatewayAddress {
  return { id: String(gateway), ...(typeof address === 'string' && { address }) };
}

/** Deadlines are times of the clock, and whichever gateway has a session decides by its own. */
function wrongClock(store: string, differenceMs: number): StoreError {
  const seconds = Math.round(Math.abs(differenceMs) / 1000);
  const way = differenceMs > 0 ? 'behind' : 'ahead of';
  return new StoreError(
    'STORE_UNUSABLE',
    `${store}: the clock of this machine is ${seconds} seconds ${way} that of the database; synchronize the clocks of both (NTP)`,
  );
}
