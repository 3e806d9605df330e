import { tmpdir } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedSession } from '../../src/core/ports.ts';
import { parseExact, stringifyExact } from '../../src/lib/exact-json.ts';
import { createLog } from '../../src/lib/log.ts';
import { loadConfig, startHttp, type HttpGateway } from '../../src/main.ts';
import { commitStatement, type Piece } from '../../src/store/postgres/commit.ts';
import { Connections } from '../../src/store/postgres/connections.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { loadDriver } from '../../src/store/postgres/driver.ts';
import { migrate, MIGRATIONS } from '../../src/store/postgres/schema.ts';
import {
  CLAIM,
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from '../../src/store/postgres/store.ts';
import { auditContract } from '../contract/audit.contract.ts';
import { historyContract } from '../contract/history.contract.ts';
import { outboxContract } from '../contract/outbox.contract.ts';
import { storeContract } from '../contract/store.contract.ts';
import { event, server as serverRecord, session, task } from '../support/records.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { PostgresServer } from './server.ts';

/** All that is logged by the stores and gateways of this file. */
const logged: string[] = [];
const log = createLog('debug', (line) => logged.push(line));
let server: PostgresServer;
let admin: Database;

/** What was started, also if something failed then. */
const started: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await PostgresServer.start();
  started.push(async () => server.remove());
  // By its name its connections are told from those of stores.
  admin = await Database.open(`${server.url()}?application_name=admin`);
  started.push(async () => admin.close());
}, 120_000);
afterAll(async () => {
  for (const stop of started.toReversed()) await stop();
  // Also while connections failed, the database was down, and records were refused.
  expect(logged.join('\n')).toContain('store_unreachable');
  expect(logged.join('\n')).not.toContain('hunter2');
});

/** A trigger that keeps a statement waiting. */
const SLEEP = `CREATE FUNCTION meanwhile.sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN new; END';`;

const empty = async (): Promise<void> => admin.script('DROP SCHEMA IF EXISTS meanwhile CASCADE');
const open = async () => openPostgresStore({ url: server.url(), log, leaseMs: 10_000 });
const expireClaims = async (): Promise<void> => {
  await admin.run('UPDATE meanwhile.leases SET until = now()');
};

storeContract(
  'postgres',
  async () => {
    await empty();
    return { store: await open(), openAnother: open, expireClaims };
  },
  { shared: true },
);

historyContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open, shared: true, firstGone: expireClaims };
});

auditContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open };
});

outboxContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open };
});

describe('a store on PostgreSQL', () => {
  let store: PostgresStore;
  let another: PostgresStore;
  beforeEach(async () => {
    await empty();
    [store, another] = await Promise.all([open(), open()]);
  });
  afterEach(async () => {
    await store.close();
    await another.close();
  });

  async function claim(id: string, from = store): Promise<ClaimedSession> {
    const claimed = await from.claim(id);
    if (claimed === undefined) throw new Error(`session ${id} is claimed already`);
    return claimed;
  }

  const ids = (records: { id: string }[]): string[] => records.map(({ id }) => id);

  it('K-2: of gateways that claim a session at the same moment, one gets it', async () => {
    const sessions = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const claims = await Promise.all(
      sessions.flatMap((id) => [store, another, store].map(async (each) => each.claim(id))),
    );
    const got = sessions.map((_, index) => claims.slice(3 * index, 3 * index + 3).filter(Boolean).length);
    expect(got).toEqual(sessions.map(() => 1));
    const fences = claims.flatMap((each) => (each ? [each.fence] : []));
    expect(new Set(fences).size).toBe(20);
  });

  it('K-2: what a holder says is stored is there after a take-over, and nothing else', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = `s${round}`;
      const holder = await claim(id);
      await expireClaims();
      holder.put('event', event(`e${round}`, id));
      const [written, taken] = await Promise.all([
        holder.settled().then(
          () => true,
          (error: unknown) => expect(error).toMatchObject({ code: 'STORE_CLAIM_LOST' }),
        ),
        claim(id, another),
      ]);
      expect((await taken.load()).events).toHaveLength(written === true ? 1 : 0);
    }
  });

  it('K-2: a gateway whose lease may have ended reports nothing, unless a commit shows that it has the session', async () => {
    let ahead = 0;
    const clock = { now: () => Date.now() + ahead };
    const alone = await openPostgresStore({ url: server.url(), log, leaseMs: 10_000, clock });
    try {
      const holder = await claim('s', alone);
      await holder.settled();
      ahead = 10_000;
      await expect(holder.settled()).rejects.toMatchObject({ message: expect.stringContaining('lease') });
      holder.put('event', event('e', 's'));
      await holder.settled();
      const waiting = holder.settled();
      await alone.cluster.renew({});
      await waiting;
    } finally {
      await alone.close();
    }
  });

  it('K-2: a take-over waits for what its holder is just writing', async () => {
    await admin.script(`CREATE FUNCTION meanwhile.slowly() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN PERFORM pg_sleep(0.5); RETURN new; END';
      CREATE TRIGGER slowly BEFORE INSERT ON meanwhile.events FOR EACH ROW EXECUTE FUNCTION meanwhile.slowly()`);
    const holder = await claim('s');
    await expireClaims();
    holder.put('event', event('e', 's'));
    const written = holder.settled();
    const sleeping = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
    await expect.poll(async () => admin.run(sleeping), { interval: 10 }).toHaveLength(1);
    const taken = await claim('s', another);
    expect((await taken.load()).events).toHaveLength(1);
    await written;
  });

  it('K-2: a claim that waits for a lock does not take a session whose gateway renews its lease meanwhile', async () => {
    await claim('s', another);
    const lock = admin.connect({ max: 1 });
    try {
      await lock.unsafe('BEGIN; SELECT FROM meanwhile.claims FOR UPDATE');
      await admin.run(`UPDATE meanwhile.leases SET until = clock_timestamp() + interval '1 second'`);
      const claiming = store.claim('s');
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      await expect.poll(async () => admin.run(waiting), { interval: 10 }).toHaveLength(1);
      const [before] = await admin.run('SELECT max(until)::text AS until FROM meanwhile.leases');
      await another.cluster.renew({});
      const isOver = `SELECT clock_timestamp() > $1::text::timestamptz AS over`;
      await expect
        .poll(async () => admin.run(isOver, [String(before?.['until'])]), { timeout: 5000 })
        .toEqual([{ over: true }]);
      await lock.unsafe('ROLLBACK');
      expect(await claiming).toBeUndefined();
    } finally {
      await lock.end({ timeout: 0 });
    }
  });

  it('K-5: a busy gateway finds what it has to go on with, and reads what was written by then', async () => {
    const [busy, left] = [await claim('busy'), await claim('left', another)];
    left.put('session', session('left'));
    left.put('task', task('t', 'left'));
    await left.release();
    let isOver = false;
    let written = 0;
    const write = (): void => {
      if (isOver) return;
      busy.put('event', event(`e${(written += 1)}`, 'busy'));
      void store.settled().then(write);
      setImmediate(() => busy.put('event', event('again', 'busy')));
    };
    write();
    try {
      expect(ids(await store.sessionsToResume())).toEqual(['left']);
      expect(await store.states('ada')).toEqual([]);
      await store.dropOverdue(10);
      store.putServer(serverRecord('a'));
      expect(ids(await store.servers())).toEqual(['a']);
    } finally {
      isOver = true;
    }
  });

  it('K-2, K-7: a statement that arrives late, after others of its gateway, writes nothing', async () => {
    const claimed = await claim('s');
    const put = async (type: string): Promise<void> => {
      claimed.put('event', { ...event('e', 's'), data: { type } });
      await claimed.settled();
    };
    await put('first');
    await put('second');
    const [row] = await admin.run('SELECT id FROM meanwhile.gateways WHERE commits > 0');
    const late: Piece[] = [
      {
        claim: { sessionId: 's', fence: claimed.fence, lost: false },
        writes: [{ change: { op: 'drop', kind: 'event', id: 'e', sessionId: 's' }, data: '' }],
        ends: true,
      },
      { writes: [{ change: { op: 'put', kind: 'server', record: serverRecord('a') }, data: '{}' }], ends: false },
    ];
    const { sql, values } = commitStatement(late, String(row?.['id']), 1);
    expect(await admin.run(sql, values)).toEqual([]);
    expect((await claimed.load()).events).toMatchObject([{ data: { type: 'second' } }]);
    expect(await store.servers()).toEqual([]);
    expect(await another.claim('s')).toBeUndefined();
  });

  it('K-2: a claim that is over changes nothing under the next claim of the same gateway', async () => {
    const old = await claim('s');
    old.put('session', session('s'));
    old.put('event', event('a', 's'));
    await old.settled();
    await expireClaims();
    await (await claim('s', another)).release();
    old.put('event', event('late', 's'));
    await expect(old.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    const released = await claim('s');
    await released.release();
    const next = await claim('s');
    for (const over of [old, released]) {
      over.drop('event', 'a');
      over.erase();
      await expect(over.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    }
    next.put('event', event('b', 's'));
    await next.settled();
    expect(ids((await next.load()).events)).toEqual(['a', 'b']);
    expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
  });

  it('K-2: of two claims of a session in one statement only the newer one writes', async () => {
    const claimed = await claim('s');
    claimed.put('session', session('s'));
    await claimed.settled();
    const [row] = await admin.run('SELECT id FROM meanwhile.gateways WHERE commits > 0');
    const at = (fence: number) => ({ sessionId: 's', fence, lost: false });
    const put = { op: 'put', kind: 'event', record: event('e', 's') } as const;
    const pieces: Piece[] = [
      { claim: at(claimed.fence - 1), writes: [{ change: { op: 'drop_session', id: 's' }, data: '' }], ends: true },
      { claim: at(claimed.fence), writes: [{ change: put, data: stringifyExact(put.record) }], ends: false },
    ];
    const { sql, values } = commitStatement(pieces, String(row?.['id']), 1000);
    expect((await admin.run(sql, values)).map(({ fence }) => fence)).toEqual([String(claimed.fence)]);
    expect(commitStatement(pieces.toReversed(), 'g', 1).sql).toBe(sql);
    expect(ids((await claimed.load()).events)).toEqual(['e']);
    expect(await admin.run('SELECT id FROM meanwhile.sessions')).toHaveLength(1);
    expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
    await admin.run('UPDATE meanwhile.gateways SET commits = 0');
  });

  it('K-2: a claim that was taken over fails alone, whatever is written with it', async () => {
    const [lost, kept] = [await claim('lost'), await claim('kept')];
    await expireClaims();
    const taken = await claim('lost', another);
    lost.put('event', event('a', 'lost'));
    kept.put('event', event('b', 'kept'));
    store.putServer(serverRecord('c'));
    await Promise.all([
      expect(lost.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' }),
      kept.settled(),
      expect(store.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' }),
    ]);
    await expect(lost.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    expect((await taken.load()).events).toEqual([]);
    expect(ids((await kept.load()).events)).toEqual(['b']);
    expect(ids(await another.servers())).toEqual(['c']);
    lost.erase();
    await expect(lost.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    expect(await another.cluster.renew({})).toMatchObject({ lost: [] });
  });

  it('K-2: a claim that nobody took can be renewed although it expired, and lasts by the clock of the database', async () => {
    await claim('s');
    await expireClaims();
    expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
    expect(await another.claim('s')).toBeUndefined();
    const left = `SELECT extract(epoch FROM max(until) - clock_timestamp()) * 1000 AS ms FROM meanwhile.leases`;
    const [row] = await admin.run(left);
    expect(Number(row?.['ms'])).toBeGreaterThan(store.cluster.leaseMs / 2);
    expect(Number(row?.['ms'])).toBeLessThanOrEqual(store.cluster.leaseMs);
  });

  it('K-2: a claim that its gateway does not know of is one that it can make', async () => {
    const claimed = await claim('s');
    await admin.run(`INSERT INTO meanwhile.claims SELECT 'unknown', gateway, nextval('meanwhile.fences')
      FROM meanwhile.claims`);
    expect(await another.claim('unknown')).toBeUndefined();
    expect((await claim('unknown')).fence).toBeGreaterThan(claimed.fence);
  });

  it('K-5: a claim without an answer keeps nobody from going on with the session', async () => {
    const left = await claim('s', another);
    left.put('session', session('s'));
    left.put('task', task('t', 's'));
    await left.release();
    const proxy = await TcpProxy.start(server.port);
    const url = server.url(undefined, undefined, proxy.port);
    const cutOff = await openPostgresStore({ url, log, leaseMs: 10_000 });
    try {
      await admin.script(`${SLEEP} CREATE TRIGGER slow BEFORE INSERT ON meanwhile.claims
        FOR EACH ROW EXECUTE FUNCTION meanwhile.sleep()`);
      const claiming = cutOff.claim('s');
      const refused = expect(claiming).rejects.toMatchObject({ name: 'StoreError' });
      await expect
        .poll(async () => admin.run(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`))
        .toHaveLength(1);
      // The claim is made although its gateway never hears of it.
      proxy.hold();
      proxy.cut();
      await refused;
      expect(await another.claim('s')).toBeUndefined();
      await admin.script('DROP TRIGGER slow ON meanwhile.claims');
      proxy.release();
      await expect.poll(async () => another.claim('s'), { timeout: 15_000 }).toBeDefined();
    } finally {
      proxy.release();
      await cutOff.close();
      await proxy.close();
    }
  });

  it('K-2: a claim that arrives late does not undo a later one, and is not made after its time', async () => {
    const later = Date.now() + 60_000;
    const late = async (id: string, until: number) => admin.run(CLAIM, [id, store.cluster.gatewayId, 0, until, 0]);
    const claimed = await claim('s');
    expect(await late('s', later)).toEqual([]);
    claimed.put('session', session('s'));
    await claimed.settled();
    expect(await late('free', Date.now() - 1000)).toEqual([]);
    expect(await another.claim('free')).toBeDefined();
    expect(await late('unknown', later)).toHaveLength(1);
  });

  it('K-2: a session that is idle can be deleted although an earlier attempt claimed it without an answer', async () => {
    const claimed = await claim('s');
    claimed.put('session', { ...session('s'), lastActiveAt: 1 });
    await claimed.release();
    const held = await claim('held');
    held.put('session', { ...session('held'), lastActiveAt: 1 });
    await held.settled();
    await admin.run(CLAIM, ['s', store.cluster.gatewayId, 0, Date.now() + 60_000, 0]);
    for (let times = 0; times < 2; times += 1) {
      await store.dropIdle(2);
      await store.settled();
    }
    expect(await admin.run('SELECT id FROM meanwhile.sessions')).toMatchObject([{ id: 'held' }]);
    expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
  });

  it('K-2: a lease that others see to be renewed only after its end is not taken for held', async () => {
    const late = await openPostgresStore({ url: server.url(), log, leaseMs: 500 });
    try {
      const claimed = await claim('s', late);
      // Like a disk or a replica that takes long to commit.
      await admin.script(`${SLEEP} CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON meanwhile.leases DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (new.lease_ms = 500) EXECUTE FUNCTION meanwhile.sleep()`);
      const renewing = late.cluster.renew({});
      await expect.poll(async () => another.claim('s'), { interval: 20 }).toBeDefined();
      expect(await renewing).toMatchObject({ lost: ['s'] });
      expect(claimed.isLost).toBe(true);
      await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    } finally {
      await admin.script('DROP TRIGGER slow ON meanwhile.leases');
      await late.close();
    }
  });

  it('K-7: after an outage of the database a gateway leaves others the time to renew their leases', async () => {
    let now = Date.now();
    const clock = { now: () => now };
    const back = await openPostgresStore({ url: server.url(), log, leaseMs: 10_000, clock });
    try {
      await claim('s');
      // Nobody could renew a lease for longer than that.
      await expireClaims();
      await back.cluster.renew({});
      expect(await back.claim('s')).toBeUndefined();
      expect(await back.cluster.ownerOf('s')).toEqual({ id: store.cluster.gatewayId });
      // The other one did not.
      now += 10_000;
      expect(await back.cluster.ownerOf('s')).toBeUndefined();
      expect(await back.claim('s')).toBeDefined();
    } finally {
      await back.close();
    }
  });

  it('K-3: gateways know which of them has claimed a session, and where it is, as long as its lease holds', async () => {
    await claim('s');
    const { gatewayId: id } = store.cluster;
    expect(await another.cluster.ownerOf('s')).toEqual({ id });
    await store.cluster.announce('http://gateway-1:8080');
    expect(await another.cluster.ownerOf('s')).toEqual({ id, address: 'http://gateway-1:8080' });
    expect(await another.cluster.ownerOf('other')).toBeUndefined();
    await expireClaims();
    expect(await another.cluster.ownerOf('s')).toBeUndefined();
    expect(store.cluster.key).toHaveLength(32);
    expect(store.cluster.key).toEqual(another.cluster.key);
  });

  it('K-2: a gateway learns that another one advertises the same address', async () => {
    const address = 'http://127.0.0.1:8080';
    const problem = (): string | undefined => logged.find((line) => line.includes('"address_shared"'));
    await store.cluster.announce(address);
    await another.cluster.announce('http://127.0.0.1:8081');
    await expireClaims();
    await another.cluster.renew({});
    await store.cluster.renew({});
    expect(problem()).toBeUndefined();
    await another.cluster.announce(address);
    await store.cluster.renew({});
    expect(parseExact(problem() ?? '{}')).toMatchObject({
      level: 'error',
      data: { address, gateway: another.cluster.gatewayId, fix: expect.stringContaining('--advertise') },
    });
  });

  it('K-5: a gateway that comes back at the same address takes over at once what it had claimed before', async () => {
    await claim('s');
    await store.cluster.announce('http://gateway-1:8080');
    expect(await another.claim('s')).toBeUndefined();
    await another.cluster.announce('http://gateway-1:8080');
    expect(await another.claim('s')).toBeDefined();
    expect(await store.cluster.renew({})).toMatchObject({ lost: ['s'] });
  });

  it('K-5: a gateway learns that another one is gone, or has left work, until it has taken over', async () => {
    const { cluster } = store;
    const takeOver = async (): Promise<void> => {
      expect(await cluster.anyGone()).toBe(true);
      await cluster.tookOver();
      expect(await cluster.anyGone()).toBe(false);
    };
    await takeOver();
    await admin.run('UPDATE meanwhile.leases SET until = now() WHERE gateway = $1', [another.cluster.gatewayId]);
    expect(await cluster.anyGone()).toBe(true);
    await takeOver();
    // It comes back, and is gone again.
    await another.cluster.renew({});
    expect(await cluster.anyGone()).toBe(false);
    await admin.run('UPDATE meanwhile.leases SET until = now() WHERE gateway = $1', [another.cluster.gatewayId]);
    await takeOver();
    await another.cluster.tellWorkLeft();
    await expect.poll(async () => cluster.anyGone()).toBe(true);
    await another.close();
    await expect.poll(async () => admin.run('SELECT FROM meanwhile.leases')).toHaveLength(1);
    // What it told comes a moment before or after that.
    const isLeft = async (): Promise<boolean> => {
      await cluster.tookOver();
      return cluster.anyGone();
    };
    expect(await cluster.anyGone()).toBe(true);
    await expect.poll(isLeft).toBe(false);
  });

  it('K-5: a gateway looks for work after it could not hear of any', async () => {
    await store.cluster.anyGone();
    await store.cluster.tookOver();
    await admin.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`);
    await expect.poll(async () => store.cluster.anyGone()).toBe(true);
  });

  it('K-5: what cannot be forgotten of gateways that are gone does not keep others from taking over', async () => {
    const { cluster } = another;
    await admin.run(`UPDATE meanwhile.leases SET until = now() - interval '2 hours' WHERE gateway = $1`, [
      store.cluster.gatewayId,
    ]);
    await admin.script('ALTER TABLE meanwhile.claims RENAME TO away');
    expect(await cluster.anyGone()).toBe(true);
    await cluster.tookOver();
    expect(await cluster.anyGone()).toBe(false);
    await admin.script('ALTER TABLE meanwhile.away RENAME TO claims');
  });

  it('K-2: a gateway is told at once that a commit found a claim lost', async () => {
    let told = 0;
    const stop = store.cluster.watchLost(() => (told += 1));
    const claimed = await claim('s');
    await expireClaims();
    await claim('s', another);
    claimed.put('event', event('e', 's'));
    await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    expect(told).toBe(1);
    stop();
    expect(await store.cluster.renew({})).toMatchObject({ lost: ['s'] });
  });

  it('K-5: a renewal that is on its way when a gateway leaves does not bring its lease back', async () => {
    const lock = admin.connect({ max: 1 });
    try {
      await lock.unsafe('BEGIN');
      await lock.unsafe('SELECT FROM meanwhile.leases WHERE gateway = $1 FOR UPDATE', [store.cluster.gatewayId]);
      await lock.unsafe('DELETE FROM meanwhile.leases WHERE gateway = $1', [store.cluster.gatewayId]);
      const renewing = store.cluster.renew({});
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      await expect.poll(async () => admin.run(waiting), { interval: 10 }).toHaveLength(1);
      const closing = store.close();
      await lock.unsafe('COMMIT');
      await Promise.all([renewing, closing]);
      await expect(store.cluster.renew({})).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      expect(await admin.run('SELECT gateway FROM meanwhile.leases')).toEqual([{ gateway: another.cluster.gatewayId }]);
    } finally {
      await lock.end({ timeout: 0 });
    }
  });

  it('K-2: nothing is left of a gateway that has been gone for long, and it joins again if it comes back', async () => {
    await claim('s');
    await admin.run(`UPDATE meanwhile.leases SET until = now() - interval '2 hours' WHERE gateway = $1`, [
      store.cluster.gatewayId,
    ]);
    await another.cluster.anyGone();
    await another.cluster.tookOver();
    expect(await admin.run('SELECT session_id FROM meanwhile.claims')).toEqual([]);
    expect(await admin.run('SELECT id FROM meanwhile.gateways')).toEqual([{ id: another.cluster.gatewayId }]);
    expect(await store.cluster.renew({})).toMatchObject({ lost: ['s'] });
    const claimed = await claim('s');
    claimed.put('event', event('e', 's'));
    await claimed.settled();
    expect(await another.claim('s')).toBeUndefined();
  });

  it('K-7: changes are written and the lease is renewed however busy the connections are, and the gateway is not ready while it cannot be', async () => {
    const other = admin.connect({ max: 1 });
    const claimed = await claim('s');
    try {
      await other.unsafe('BEGIN; LOCK TABLE meanwhile.sessions');
      const reading = Array.from({ length: 8 }, async () => store.states('ada'));
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      await expect.poll(async () => admin.run(waiting)).toHaveLength(3);
      claimed.put('event', event('e', 's'));
      await claimed.settled();
      expect(await store.cluster.renew({})).toEqual({ lost: [], others: [] });
      // Compares its claims, too.
      await expireClaims();
      expect(await store.cluster.renew({})).toEqual({ lost: [], others: [] });
      await other.unsafe('ROLLBACK');
      await Promise.all(reading);
      await other.unsafe('BEGIN; LOCK TABLE meanwhile.leases');
      await expect(store.cluster.renew({})).rejects.toMatchObject({ name: 'StoreError' });
      expect(store.problem).toBe('unreachable');
      await other.unsafe('ROLLBACK');
      await store.cluster.renew({});
      expect(store.problem).toBeUndefined();
    } finally {
      await other.end({ timeout: 0 });
    }
  });

  it('K-7, W-4: nothing waits for the history, however long its statements take', async () => {
    const other = admin.connect({ max: 1 });
    try {
      await other.unsafe('BEGIN; LOCK TABLE meanwhile.history');
      const reading = Array.from({ length: 8 }, async () => store.history.count({ kinds: ['call'] }));
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      await expect.poll(async () => admin.run(waiting)).toHaveLength(1);
      await (await claim('s')).settled();
      expect(await store.states('ada')).toEqual([]);
      await other.unsafe('ROLLBACK');
      expect(await Promise.all(reading)).toEqual(Array(8).fill(0));
    } finally {
      await other.end({ timeout: 0 });
    }
  });

  it('K-6: gateways know what the others use of the limits, as long as their leases hold', async () => {
    const usage = { sessions: { ada: 2 }, tasks: { ben: 1 } };
    expect(await store.cluster.renew(usage)).toEqual({ lost: [], others: [] });
    expect(await another.cluster.renew({})).toEqual({ lost: [], others: [usage] });
    expect(await store.cluster.renew({})).toMatchObject({ others: [] });
    expect(await another.cluster.renew({ tasks: { ada: 1 } })).toMatchObject({ others: [] });
    // A gateway that others have removed does not know better than before.
    await another.cluster.renew(usage);
    expect(await store.cluster.renew({})).toMatchObject({ others: [usage] });
    await admin.run('DELETE FROM meanwhile.leases WHERE gateway = $1', [store.cluster.gatewayId]);
    expect(await store.cluster.renew({})).toMatchObject({ others: [usage] });
    await admin.run('UPDATE meanwhile.leases SET until = now() WHERE gateway = $1', [another.cluster.gatewayId]);
    expect(await store.cluster.renew({})).toMatchObject({ others: [] });
  });

  it('K-9: very many records are looked through and deleted some at a time', async () => {
    const { gatewayId } = another.cluster;
    await admin.script(`
      INSERT INTO meanwhile.sessions SELECT 's' || n, '{"id":"s' || n || '"}', 'ada', 'client', n, true FROM generate_series(1, 4500) n;
      INSERT INTO meanwhile.claims SELECT id, '${gatewayId}', nextval('meanwhile.fences') FROM meanwhile.sessions WHERE id <> 's999';
      INSERT INTO meanwhile.tasks SELECT 't' || n, 's' || n, '{}', n FROM generate_series(1, 2500) n`);
    expect(await store.sessionsToResume()).toEqual([{ id: 's999', principal: 'ada' }]);
    expect(await store.cleanUp.dropOverdue(2200)).toBe(1);
    expect(await another.cleanUp.dropOverdue(2200)).toBe(2199);
    await admin.run('DELETE FROM meanwhile.claims');
    await store.dropIdle(3500);
    await store.settled();
    expect(await admin.run('SELECT count(*)::int AS count FROM meanwhile.sessions')).toEqual([{ count: 1000 }]);
    expect(await admin.run('SELECT FROM meanwhile.tasks UNION ALL SELECT FROM meanwhile.claims')).toEqual([]);
  });

  it('K-9: of a principal with very many sessions the newest are looked at', async () => {
    const { gatewayId } = another.cluster;
    await admin.script(`
      INSERT INTO meanwhile.sessions SELECT 's' || n, '{"id":"s' || n || '"}', 'ada', 'client', n, false
        FROM generate_series(1, 10010) n;
      INSERT INTO meanwhile.tasks SELECT 't' || n, 's' || n, '{}' FROM generate_series(1, 10001, 5000) n;
      INSERT INTO meanwhile.claims VALUES ('s5001', '${gatewayId}', nextval('meanwhile.fences'))`);
    for (const id of ['s1', 's10001'])
      await admin.run('UPDATE meanwhile.sessions SET data = $2 WHERE id = $1', [id, stringifyExact(session(id))]);
    expect(await store.cluster.leftOf('ada')).toEqual(['s10001']);
    expect(ids(await store.cluster.gatewaysOf('ada'))).toEqual([gatewayId]);
    expect(await store.cluster.gatewaysOf('ben')).toEqual([]);
  });

  it('K-5: sessions that cannot be restored do not hide others behind them', async () => {
    await admin.script(`
      INSERT INTO meanwhile.sessions SELECT 's' || n, '{}', 'ada', 'client', n, true FROM generate_series(10001, 14500) n;
      INSERT INTO meanwhile.claims SELECT id, '${another.cluster.gatewayId}', nextval('meanwhile.fences')
        FROM meanwhile.sessions WHERE id NOT IN ('s10500', 's12500', 's14500')`);
    const found: string[] = [];
    for (let times = 0; times < 4; times += 1) found.push(...ids(await store.sessionsToResume()));
    expect(found).toEqual(['s10500', 's12500', 's14500', 's10500']);
  });

  it('P-4: nothing is left claimed of an idle session that cannot be read', async () => {
    const id = 'x'.repeat(9000);
    const claimed = await claim(id);
    claimed.put('session', session(id));
    await claimed.release();
    await admin.run(`UPDATE meanwhile.sessions SET data = '{'`);
    await store.dropIdle(10);
    expect(await admin.run('SELECT FROM meanwhile.claims')).toEqual([]);
  });

  it('K-5: sessions to resume are those that no other gateway has', async () => {
    for (const id of ['a', 'b']) {
      const claimed = await claim(id, another);
      claimed.put('session', session(id));
      claimed.put('task', task(`t-${id}`, id));
      await (id === 'a' ? claimed.settled() : claimed.release());
    }
    expect(ids(await store.sessionsToResume())).toEqual(['b']);
    await expireClaims();
    expect(ids(await store.sessionsToResume()).toSorted()).toEqual(['a', 'b']);
  });

  it('K-2, T-2: overdue tasks stay while another gateway has their session', async () => {
    const holder = await claim('s', another);
    holder.put('task', { ...task('t', 's'), status: 'completed', result: { content: [] }, keepUntil: 10 });
    await holder.settled();
    await store.dropOverdue(10);
    expect((await holder.load()).tasks).toHaveLength(1);
    await another.dropOverdue(10);
    expect((await holder.load()).tasks).toEqual([]);
  });

  it('K-2: idle sessions are not deleted while another gateway has them, and are when its claim has expired', async () => {
    const holder = await claim('s', another);
    holder.put('session', session('s'));
    await holder.settled();
    await store.dropIdle(10);
    await expireClaims();
    await store.dropIdle(10);
    holder.put('event', event('late', 's'));
    await expect(holder.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    const next = await claim('s');
    expect(next.record).toBeUndefined();
    expect((await next.load()).events).toEqual([]);
  });

  describe('connections', () => {
    const cut = async (): Promise<void> => {
      await admin.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'meanwhile%'`,
      );
    };

    it('K-7: that are cut cost nothing: what is written and read meanwhile succeeds', async () => {
      const claimed = await claim('s');
      for (let round = 0; round < 10; round += 1) {
        claimed.put('event', event(`e${round}`, 's'));
        const settled = claimed.settled();
        await Promise.all([settled, cut(), claimed.load()]);
      }
      expect((await claimed.load()).events).toHaveLength(10);
      expect(await store.claim('s')).toBeUndefined();
      await claimed.release();
      expect(await another.claim('s')).toBeDefined();
    });

    it('K-7: that are cut while a statement begins are replaced, whatever the driver was about to write', async () => {
      const proxy = await TcpProxy.start(server.port);
      const db = await Database.open(server.url(undefined, undefined, proxy.port));
      const one = new Connections({ max: 1, answerMs: 10_000, connect: () => db.connect({ max: 1 }) });
      const select = async (value: number) => one.run('SELECT $1::int AS value', [value]);
      try {
        // The loss is noticed some turns after it happened.
        for (let turns = 0; turns < 8; turns += 1) {
          await select(turns);
          proxy.cut();
          for (let count = 0; count < turns; count += 1) await nextTurn();
          await select(turns).catch((error: unknown) => expect(error).toMatchObject({ code: 'CONNECTION_CLOSED' }));
          expect(await select(turns)).toMatchObject([{ value: turns }]);
        }
      } finally {
        await one.close();
        await db.close();
        await proxy.close();
      }
    });

    it('K-7: that can only read after a failover are replaced', async () => {
      const db = await Database.open(server.url());
      try {
        const readOnly = `SELECT set_config('default_transaction_read_only', 'on', false), pg_sleep(0.1)`;
        await Promise.all(Array.from({ length: 4 }, async () => db.run(readOnly)));
        const put = `INSERT INTO meanwhile.servers VALUES ('a', '{}')`;
        await expect(db.run(put)).rejects.toMatchObject({ code: '25006' });
        await db.read(put);
      } finally {
        await db.close();
      }
    });

    it('K-7: are limited in number and time, and more statements than connections wait', async () => {
      const shown = await Promise.all(Array.from({ length: 20 }, async () => admin.run('SHOW statement_timeout')));
      expect(shown.flat()).toEqual(shown.map(() => ({ statement_timeout: '8s' })));
    });

    it('K-7: a statement does not wait for ever for one of them', async () => {
      const one = new Connections({ max: 1, answerMs: 1000, connect: () => admin.connect({ max: 1 }) });
      const slow = async () => one.run('SELECT pg_sleep(0.7)', []);
      const made = await Promise.allSettled([slow(), slow(), slow()]);
      expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      expect(made[2]).toMatchObject({ reason: { message: 'all connections were busy for 1 seconds' } });
      expect(await one.run('SELECT 1 AS one', [])).toMatchObject([{ one: 1 }]);
      await one.close();
    });

    it('K-2: a gateway that others have removed writes nothing until it has joined again', async () => {
      const claimed = await claim('s');
      await admin.script('DELETE FROM meanwhile.gateways; DELETE FROM meanwhile.claims; DELETE FROM meanwhile.leases');
      claimed.put('event', event('e', 's'));
      await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
      store.putServer(serverRecord('a'));
      await expect(store.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
      expect(await admin.read('SELECT id FROM meanwhile.servers')).toEqual([]);
      await store.cluster.renew({});
      store.putServer(serverRecord('a'));
      await store.settled();
      expect(await admin.read('SELECT id FROM meanwhile.servers')).toHaveLength(1);
    });

    it('K-7, S-3: changes of servers are still reported after they were cut', async () => {
      const seen: string[] = [];
      store.watchServers((id) => seen.push(id));
      await cut();
      another.putServer(serverRecord('a'));
      // A connection that was cut while it began is given up after 5 seconds.
      await expect.poll(() => seen, { timeout: 15_000 }).toEqual(['a']);
    });

    it('K-3, S-3: who takes a session over knows of all changes that its client was told of', async () => {
      const before = await claim('s', another);
      before.put('session', session('s'));
      await before.settled();
      const seen: unknown[] = [];
      store.watchServers((id, record) => seen.push([id, record?.name]));
      another.putServer(serverRecord('a'));
      await another.settled();
      await expect.poll(() => seen).toEqual([['a', 'a']]);
      // As if the notification had been lost with a connection.
      await admin.script('DELETE FROM meanwhile.servers');
      await before.release();
      await claim('s');
      expect(seen.at(-1)).toEqual(['a', undefined]);
    });

    describe('through a balancer', () => {
      let proxy: TcpProxy;
      let behind: PostgresStore;
      beforeEach(async () => {
        proxy = await TcpProxy.start(server.port);
        behind = await openPostgresStore({
          url: server.url(undefined, undefined, proxy.port),
          log,
          leaseMs: 10_000,
        });
      });
      afterEach(async () => {
        proxy.turnsAway = false;
        proxy.release();
        await behind.close();
        await proxy.close();
      });

      it('K-7: that are accepted and closed at once are not opened again and again, and fail what needs them', async () => {
        const claimed = await claim('s', behind);
        proxy.turnsAway = true;
        proxy.cut();
        proxy.opened = 0;
        claimed.put('event', event('e', 's'));
        await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
        await expect(behind.cluster.renew({})).rejects.toMatchObject({ name: 'StoreError' });
        await expect.poll(() => behind.problem).toBe('unreachable');
        // Each of them is tried again 20 times a second for 2 seconds, and then once a second.
        expect(proxy.opened).toBeGreaterThan(1);
        expect(proxy.opened).toBeLessThan(150);
        proxy.turnsAway = false;
        await expect.poll(async () => behind.cluster.renew({}).then(() => behind.problem, String)).toBeUndefined();
        await expect.poll(async () => claimed.settled().then(() => true, String)).toBe(true);
        expect(ids((await claimed.load()).events)).toEqual(['e']);
      });

      it('K-7: that are accepted and stay silent are given up, also the one that waits for what others tell', async () => {
        proxy.hold();
        proxy.cut();
        await expect.poll(() => behind.problem, { timeout: 20_000 }).toBe('unreachable');
        proxy.release();
        await expect.poll(() => behind.problem, { timeout: 20_000 }).toBeUndefined();
        await behind.cluster.anyGone();
        await behind.cluster.tookOver();
        await another.cluster.tellWorkLeft();
        await expect.poll(async () => behind.cluster.anyGone()).toBe(true);
      });
    });

    it('K-7: nothing is said to be stored while the database is down, and all is stored when it is back', async () => {
      const claimed = await claim('s');
      await server.down();
      try {
        claimed.put('task', task('t', 's'));
        await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
        await expect(claimed.load()).rejects.toMatchObject({ name: 'StoreError' });
        await expect(store.states('ada')).rejects.toMatchObject({ name: 'StoreError' });
        // Also of a store that has nothing to write.
        await expect.poll(() => another.problem).toBe('unreachable');
      } finally {
        await server.up();
      }
      await expect.poll(() => another.problem).toBeUndefined();
      // It may have ended by now: a database that crashed takes its time to start.
      await store.cluster.renew({});
      await expect.poll(async () => claimed.settled().then(() => true, String)).toBe(true);
      expect(ids((await claimed.load()).tasks)).toEqual(['t']);
    });
  });

  it('P-1: numbers come back as they were, however long', async () => {
    const claimed = await claim('s');
    const data = parseExact('{"n":12345678901234567890,"m":-9007199254740993}') as Record<string, unknown>;
    claimed.put('event', { ...event('e', 's'), data });
    const [read] = (await claimed.load()).events;
    expect(stringifyExact(read?.data)).toBe('{"n":12345678901234567890,"m":-9007199254740993}');
  });

  it('X-4: ids that PostgreSQL could not keep are those of sessions, tasks and subscriptions like others', async () => {
    const odd = ['nul \0', 'half \ud83d', '"quoted', 'x'.repeat(9000)];
    for (const id of odd) {
      const claimed = await claim(id);
      claimed.put('session', { ...session(id), principal: id, preferences: { demo: { logLevel: 'info' } } });
      claimed.put('subscription', { id: `${id}/uri`, sessionId: id, server: 'demo', uri: id });
      expect(await another.claim(id)).toBeUndefined();
      expect(ids((await claimed.load()).subscriptions)).toEqual([`${id}/uri`]);
      claimed.drop('subscription', `${id}/uri`);
      expect((await claimed.load()).subscriptions).toEqual([]);
      expect(ids(await store.states(id))).toEqual([]);
      await claimed.release();
    }
    const known = odd.map((id) => ({ id, principal: id }));
    expect(await store.sessionsToResume()).toEqual(expect.arrayContaining(known));
    await store.dropIdle(10);
    expect(await store.sessionsToResume()).toEqual([]);
  });

  it('P-4: a record that cannot be read is set aside, and the rest goes on', async () => {
    const claimed = await claim('s');
    claimed.put('event', event('a', 's'));
    claimed.put('event', event('b', 's'));
    await claimed.settled();
    await admin.run(`UPDATE meanwhile.events SET data = '{' WHERE id = 'a'`);
    expect(ids((await claimed.load()).events)).toEqual(['b']);
    expect(await admin.run('SELECT kind, id, data FROM meanwhile.set_aside')).toMatchObject([
      { kind: 'event', id: 'a', data: '{' },
    ]);
  });

  it('X-3: a session that has more than fits in one statement is written by several', async () => {
    const claimed = await claim('s');
    const text = 'x'.repeat(7 * 1024 * 1024);
    for (const id of ['a', 'b', 'c']) claimed.put('event', { ...event(id, 's'), data: { text } });
    await claimed.release();
    expect(ids((await (await claim('s', another)).load()).events)).toEqual(['a', 'b', 'c']);
  });

  it('X-3: records are made to fit into any number of bytes', async () => {
    const claimed = await claim('s');
    claimed.put('event', { ...event('e', 's'), data: { text: 'x'.repeat(1000) } });
    expect(await claimed.trim(101.7, 0)).toMatchObject({ events: 1 });
  });

  it.each([
    ['by a rule', `ALTER TABLE meanwhile.events ADD CHECK (id <> 'refused')`],
    [
      'for want of memory',
      `CREATE FUNCTION meanwhile.refuse() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN RAISE EXCEPTION ''invalid memory alloc request size'' USING ERRCODE = ''XX000''; END';
       CREATE TRIGGER refuse BEFORE INSERT ON meanwhile.events FOR EACH ROW WHEN (new.id = 'refused')
         EXECUTE FUNCTION meanwhile.refuse()`,
    ],
  ])('X-4: a record that the database refuses %s fails its own session, and no other', async (_, refusal) => {
    const [a, b] = [await claim('a'), await claim('b')];
    await admin.script(refusal);
    for (const id of ['a1', 'refused', 'a2']) a.put('event', event(id, 'a'));
    b.put('event', event('b1', 'b'));
    await Promise.all([expect(a.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' }), b.settled()]);
    expect(ids((await a.load()).events)).toEqual(['a1', 'a2']);
    expect(ids((await b.load()).events)).toEqual(['b1']);
  });

  it('X-4: a record that is refused while others are put is not taken for stored', async () => {
    const claimed = await claim('s');
    await admin.script(`ALTER TABLE meanwhile.events ADD CHECK (id <> 'refused')`);
    claimed.put('event', event('refused', 's'));
    // It is being written now.
    await new Promise(setImmediate);
    claimed.put('event', event('a', 's'));
    await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
    expect(ids((await claimed.load()).events)).toEqual(['a']);
    claimed.put('event', event('refused', 's'));
    await expect(claimed.recorded?.()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
  });
});

describe('a gateway', () => {
  beforeEach(empty);

  const start = async (): Promise<HttpGateway> =>
    startHttp(await loadConfig({ flags: { store: server.url(), port: '0' }, env: {}, cwd: tmpdir() }), log);

  async function send({ url }: HttpGateway, message: object, session?: string): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) });
  }

  it('K-1, K-7, P-1: keeps its sessions on PostgreSQL, and is ready while that is', async () => {
    const first = await start();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const hello = await send(first, { method: 'initialize', params });
    const id = hello.headers.get('mcp-session-id') ?? '';
    await hello.text();
    await first.close();
    const second = await start();
    const isReady = async (): Promise<number> => (await fetch(new URL('/readyz', second.url))).status;
    try {
      expect(await isReady()).toBe(200);
      const listed = await send(second, { method: 'tools/list' }, id);
      expect(await listed.text()).toContain('execute_tool');
      await server.down();
      await expect.poll(isReady).toBe(503);
      await server.up();
      await expect.poll(isReady).toBe(200);
    } finally {
      await second.close();
    }
  });
});

describe('opening', () => {
  beforeEach(empty);

  const failure = async (
    url: string,
    options: Partial<PostgresStoreOptions> = {},
  ): Promise<{ code: string; message: string }> => {
    const opened = openPostgresStore({ url, log, leaseMs: 10_000, ...options });
    const error = await opened.then(
      async (store) => store.close().then(() => undefined),
      (error: unknown) => error as { code: string; message: string },
    );
    if (error === undefined) throw new Error('the store was opened');
    expect(error).toMatchObject({ name: 'StoreError' });
    const said = [error, error.message, String((error as { cause?: unknown }).cause)];
    expect(JSON.stringify(said)).not.toContain('hunter2');
    return error;
  };

  it('K-1: names what is wrong with the URL, and never the password', async () => {
    expect(await failure(server.url('postgres', 'ann:hunter22'))).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('check user and password'),
    });
    expect(await failure(server.url('nothing'))).toMatchObject({
      code: 'STORE_MISSING',
      message: expect.stringMatching(/"nothing" does not exist; create the database/),
    });
    expect(await failure('postgres://ann:hunter2@127.0.0.1:1/x')).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:1\/x: .*ECONNREFUSED.*; check host and port/),
    });
    expect(await failure('postgres://ann:hunter2@host:port/x')).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('expected postgres://user:password@host:5432/database'),
    });
    for (const password of ['q7@w9/x8#y6', 'q7/w9', 'q7#w9']) {
      const { message } = await failure(`postgres://ann:${password}@host/x`);
      expect(message).toContain('percent-encoded');
      expect(message).not.toMatch(/[qwxy]\d/);
    }
  });

  it('K-1: names the command that installs the driver', async () => {
    await expect(loadDriver('postgres://host/x', 'a-driver-that-is-not-there')).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/^postgres:\/\/host\/x: .*npm install postgres@3/),
    });
  });

  it('K-1: names the privilege that is missing, and does without it where the schema is there', async () => {
    await admin.script(`DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN PASSWORD 'hunter2'`);
    const url = server.url('postgres', 'bob:hunter2');
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/permission denied.*GRANT CREATE ON DATABASE/),
    });
    await admin.script('CREATE SCHEMA meanwhile AUTHORIZATION bob');
    const store = await openPostgresStore({ url, log, leaseMs: 10_000 });
    expect(await store.servers()).toEqual([]);
    await store.close();
    await admin.script('DROP SCHEMA meanwhile CASCADE');
    await (await open()).close();
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/permission denied.*owner of the schema "meanwhile".*GRANT <owner> TO <user>/),
    });
    await admin.script('GRANT ann TO bob');
    await (await openPostgresStore({ url, log, leaseMs: 10_000 })).close();
    await admin.script('DROP SCHEMA meanwhile CASCADE; DROP ROLE bob');
  });

  it('K-1: says how many connections a gateway needs if there are not enough, and leaves nothing behind', async () => {
    await admin.script(`CREATE ROLE eve LOGIN PASSWORD 'hunter2' CONNECTION LIMIT 6; GRANT ann TO eve`);
    const url = server.url('postgres', 'eve:hunter2');
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/too many connections.*needs 7 connections: raise max_connections/),
    });
    await admin.script('ALTER ROLE eve CONNECTION LIMIT 7');
    await expect.poll(async () => admin.run(`SELECT FROM pg_stat_activity WHERE usename = 'eve'`)).toEqual([]);
    await (await openPostgresStore({ url, log, leaseMs: 10_000 })).close();
    await expect.poll(async () => admin.run(`SELECT FROM pg_stat_activity WHERE usename = 'eve'`)).toEqual([]);
    await admin.script('DROP SCHEMA meanwhile CASCADE; DROP OWNED BY eve; DROP ROLE eve');
  });

  it('K-1: refuses a server that is too old, and names the version that it needs', async () => {
    // It says that it is one.
    await admin.script(
      `CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS 'SELECT ''120022'''`,
    );
    expect(await failure(`${server.url()}?search_path=old,pg_catalog`)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/PostgreSQL 12; update it to 13 or newer/),
    });
    await admin.script('DROP SCHEMA old CASCADE');
  });

  it.each([
    [-60_000, '60 seconds behind'],
    [60_000, '60 seconds ahead of'],
  ])('K-1: refuses to start with a clock that is %i ms off, and leaves no lease', async (off, words) => {
    expect(await failure(server.url(), { clock: { now: () => Date.now() + off } })).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(new RegExp(`clock of this machine is ${words} that of the database; synchronize`)),
    });
    expect(await admin.run('SELECT FROM meanwhile.leases')).toEqual([]);
  });

  it('K-1: warns once when the clocks begin to differ, and when gateways have different leases', async () => {
    const warned: Record<string, unknown>[] = [];
    const told = createLog('warn', (line) => warned.push(JSON.parse(line) as Record<string, unknown>));
    let off = 20_000;
    const clock = { now: () => Date.now() + off };
    const [one, two] = [
      await open(),
      await openPostgresStore({ url: server.url(), log: told, leaseMs: 60_000, clock }),
    ];
    try {
      expect(warned).toMatchObject([{ event: 'lease_differs', data: { leaseMs: 60_000, others: '10000' } }]);
      await two.cluster.renew({});
      expect(warned).toHaveLength(1);
      off = 45_000;
      for (let times = 0; times < 2; times += 1) await two.cluster.renew({});
      expect(warned.slice(1)).toMatchObject([
        { event: 'clock_differs', data: { problem: expect.stringContaining('45 seconds ahead of') } },
      ]);
    } finally {
      await one.close();
      await two.close();
    }
  });

  it('K-1: refuses a database that cannot keep every text, and names the fix', async () => {
    await admin.script(`CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
    expect(await failure(server.url('ascii'))).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/SQL_ASCII; .*CREATE DATABASE … ENCODING 'UTF8'/),
    });
  });

  it('K-3: refuses a database without the key that gateways sign with, and names the fix', async () => {
    await (await open()).close();
    await admin.run(`DELETE FROM meanwhile.secrets WHERE name = 'gateways'`);
    const refused = await failure(server.url());
    expect(refused).toMatchObject({ code: 'STORE_UNUSABLE', message: expect.stringContaining('meanwhile.secrets') });
    const [, fix = ''] = /(INSERT .*)$/.exec(refused.message) ?? [];
    await admin.run(fix);
    await (await open()).close();
  });

  it('P-4, K-1: refuses what is not ours, or newer, untouched', async () => {
    await admin.script('CREATE SCHEMA meanwhile; CREATE TABLE meanwhile.precious (x int)');
    expect(await failure(server.url())).toMatchObject({ code: 'STORE_NOT_OURS' });
    expect(await admin.run('SELECT x FROM meanwhile.precious')).toEqual([]);
    await empty();
    await (await open()).close();
    await admin.run('UPDATE meanwhile.store SET version = 99');
    expect(await failure(server.url())).toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringMatching(/version 99, .*update meanwhile/),
    });
  });

  it('P-4, K-1: gateways that start at the same moment create the store once', async () => {
    const stores = await Promise.all([open(), open(), open(), open()]);
    for (const store of stores) expect(await store.servers()).toEqual([]);
    await Promise.all(stores.map(async (store) => store.close()));
  });

  it('P-4: brings an older store up to date, with all steps or none', async () => {
    await migrate(admin);
    await admin.run(`INSERT INTO meanwhile.servers VALUES ('a', '{}')`);
    const broken = [...MIGRATIONS, 'CREATE TABLE meanwhile.later (x int); CREATE TABLE meanwhile.servers (x int)'];
    await expect(migrate(admin, broken)).rejects.toMatchObject({ code: 'STORE_MIGRATION_FAILED' });
    await Promise.all([1, 2].map(async () => migrate(admin, [...MIGRATIONS, 'CREATE TABLE meanwhile.later (x int)'])));
    const found = await admin.run('SELECT (SELECT version FROM meanwhile.store), id FROM meanwhile.servers');
    expect(found).toMatchObject([{ version: MIGRATIONS.length + 1, id: 'a' }]);
  });
});
