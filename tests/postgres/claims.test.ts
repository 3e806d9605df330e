import { beforeAll, describe, expect, it } from 'vitest';
import { parseExact, stringifyExact } from '../../src/lib/exact-json.ts';
import { commitStatement, type Piece } from '../../src/store/postgres/commit.ts';
import type { Database } from '../../src/store/postgres/database.ts';
import { CLAIM, openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { event, server as serverRecord, session, task } from '../support/records.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { PostgresServer } from './server.ts';
import { ids, SLEEP, usePostgres, useTwoStores, type TwoStores } from './stores.ts';

const postgres = usePostgres();
const { log, logged, expireClaims } = postgres;
let server: PostgresServer;
let admin: Database;
beforeAll(() => ({ server, admin } = postgres));

describe('claims and leases on PostgreSQL', () => {
  let store: PostgresStore;
  let another: PostgresStore;
  let claim: TwoStores['claim'];
  useTwoStores(postgres, (stores) => ({ store, another, claim } = stores));

  it('K-2: one of several gateways that claim a session concurrently gets it', async () => {
    const sessions = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const claims = await Promise.all(
      sessions.flatMap((id) => [store, another, store].map(async (each) => each.claim(id))),
    );
    const got = sessions.map((_, index) => claims.slice(3 * index, 3 * index + 3).filter(Boolean).length);
    expect(got).toEqual(sessions.map(() => 1));
    const fences = claims.flatMap((each) => (each ? [each.fence] : []));
    expect(new Set(fences).size).toBe(20);
  });

  it('K-2: records that the holder reports as settled survive a takeover, and no others exist', async () => {
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

  /** A gateway whose clock the test moves. */
  const withClock = async (during: (alone: PostgresStore, sleep: (ms: number) => void) => Promise<void>) => {
    let ahead = 0;
    const clock = { now: () => Date.now() + ahead };
    const alone = await openPostgresStore({ url: server.url(), log, leaseMs: 10_000, clock });
    try {
      await during(alone, (ms) => (ahead += ms));
    } finally {
      await alone.close();
    }
  };

  it('K-2: a gateway whose lease may have expired settles nothing until it has renewed the lease', async () => {
    await withClock(async (alone, sleep) => {
      const holder = await claim('s', alone);
      await holder.settled();
      sleep(10_000);
      await expect(holder.settled()).rejects.toMatchObject({ message: expect.stringContaining('lease') });
      holder.put('event', event('e', 's'));
      const waiting = holder.settled();
      await alone.cluster.renew({});
      await waiting;
    });
  });

  it('K-2: a gateway suspended before the reply to its commit does not settle if another has taken the session over', async () => {
    await withClock(async (alone, sleep) => {
      const holder = await claim('s', alone);
      await holder.settled();
      holder.put('event', event('e', 's'));
      const settled = holder.settled();
      const recorded = holder.recorded?.();
      sleep(10_000);
      await expect.poll(async () => admin.run('SELECT id FROM meanwhile.events')).toHaveLength(1);
      await expireClaims();
      const taken = await claim('s', another);
      expect((await taken.load()).events).toHaveLength(1);
      await alone.cluster.renew({});
      await expect(settled).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
      await expect(recorded).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
    });
  });

  it('K-2: a takeover waits for a write of the holder that is in progress', async () => {
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

  it('K-5: a busy gateway finds sessions to resume and reads the latest records', async () => {
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

  it('K-2, K-7: a late statement, after newer statements of its gateway, writes nothing', async () => {
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

  it('K-2: an expired claim changes nothing under the next claim of the same gateway', async () => {
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
    const erased = await claim('s');
    await erased.release();
    erased.erase();
    await expect(erased.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
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

  it('K-2: a lost claim fails alone, and other records in the same statement are written', async () => {
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

  it('K-2: an expired claim that was not taken over can be renewed, by the clock of the database', async () => {
    await claim('s');
    await expireClaims();
    expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
    expect(await another.claim('s')).toBeUndefined();
    const left = `SELECT extract(epoch FROM max(until) - clock_timestamp()) * 1000 AS ms FROM meanwhile.leases`;
    const [row] = await admin.run(left);
    expect(Number(row?.['ms'])).toBeGreaterThan(store.cluster.leaseMs / 2);
    expect(Number(row?.['ms'])).toBeLessThanOrEqual(store.cluster.leaseMs);
  });

  it('K-2: a gateway can claim a session that the database lists as its own', async () => {
    const claimed = await claim('s');
    await admin.run(`INSERT INTO meanwhile.claims SELECT 'unknown', gateway, nextval('meanwhile.fences')
      FROM meanwhile.claims`);
    expect(await another.claim('unknown')).toBeUndefined();
    expect((await claim('unknown')).fence).toBeGreaterThan(claimed.fence);
  });

  it('K-5: a claim whose reply is lost does not keep other gateways from the session', async () => {
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

  it('K-2: a late claim statement does not undo a newer claim, and fails after its deadline', async () => {
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

  it('K-2: an idle session can be deleted even if an earlier claim of it got no reply', async () => {
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

  it('K-2: a lease whose renewal commits after its end counts as lost', async () => {
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

  it('K-7: after an outage of the database, gateways get time to renew their leases', async () => {
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

  it('K-3: gateways know the owner of a session and its address while its lease is valid', async () => {
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

  it('K-2: a gateway logs an error if another gateway advertises the same address', async () => {
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

  it('K-5: a gateway that restarts at the same address takes over its earlier claims at once', async () => {
    await claim('s');
    await store.cluster.announce('http://gateway-1:8080');
    expect(await another.claim('s')).toBeUndefined();
    await another.cluster.announce('http://gateway-1:8080');
    expect(await another.claim('s')).toBeDefined();
    expect(await store.cluster.renew({})).toMatchObject({ lost: ['s'] });
  });

  it('K-5: a gateway is told that another one is dead or has left work, until it has taken over', async () => {
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
    await another.cluster.notifyWorkLeft();
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

  it('K-5: a gateway looks for work after its notification connection was lost', async () => {
    await store.cluster.anyGone();
    await store.cluster.tookOver();
    await admin.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`);
    await expect.poll(async () => store.cluster.anyGone()).toBe(true);
  });

  it('K-5: a failure to delete records of dead gateways does not prevent takeovers', async () => {
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

  it('K-2: a gateway is notified at once when a commit finds a lost claim', async () => {
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

  it('K-5: a renewal during the shutdown of a gateway does not restore its lease', async () => {
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

  it('K-2: records of a gateway that is dead for long are deleted, and it can join again', async () => {
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

  it('K-6: gateways know the usage of others while their leases are valid', async () => {
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

  it('K-5: sessions that cannot be restored do not hide other sessions', async () => {
    await admin.script(`
      INSERT INTO meanwhile.sessions SELECT 's' || n, '{}', 'ada', 'client', n, true FROM generate_series(10001, 14500) n;
      INSERT INTO meanwhile.claims SELECT id, '${another.cluster.gatewayId}', nextval('meanwhile.fences')
        FROM meanwhile.sessions WHERE id NOT IN ('s10500', 's12500', 's14500')`);
    const found: string[] = [];
    for (let times = 0; times < 4; times += 1) found.push(...ids(await store.sessionsToResume()));
    expect(found).toEqual(['s10500', 's12500', 's14500', 's10500']);
  });

  it('P-4: an idle session that cannot be read is not left claimed', async () => {
    const id = 'x'.repeat(9000);
    const claimed = await claim(id);
    claimed.put('session', session(id));
    await claimed.release();
    await admin.run(`UPDATE meanwhile.sessions SET data = '{'`);
    await store.dropIdle(10);
    expect(await admin.run('SELECT FROM meanwhile.claims')).toEqual([]);
  });

  it('K-5: the sessions to resume are those without another owner', async () => {
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

  it('K-2, T-2: overdue tasks are kept while another gateway owns their session', async () => {
    const holder = await claim('s', another);
    holder.put('task', { ...task('t', 's'), status: 'completed', result: { content: [] }, keepUntil: 10 });
    await holder.settled();
    await store.dropOverdue(10);
    expect((await holder.load()).tasks).toHaveLength(1);
    await another.dropOverdue(10);
    expect((await holder.load()).tasks).toEqual([]);
  });

  it('K-2: idle sessions are kept while another gateway owns them, and deleted when its claim has expired', async () => {
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
});
