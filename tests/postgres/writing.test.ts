import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseExact, stringifyExact } from '../../src/lib/exact-json.ts';
import { Connections } from '../../src/store/postgres/connections.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { event, server as serverRecord, session, task } from '../support/records.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { PostgresServer } from './server.ts';
import { ids, usePostgres, useTwoStores, type TwoStores } from './stores.ts';

const postgres = usePostgres();
const { log, logged, expireClaims } = postgres;
let server: PostgresServer;
let admin: Database;
beforeAll(() => ({ server, admin } = postgres));

describe('writing to PostgreSQL', () => {
  let store: PostgresStore;
  let another: PostgresStore;
  let claim: TwoStores['claim'];
  useTwoStores(postgres, (stores) => ({ store, another, claim } = stores));

  it('K-7: writes and lease renewals do not wait for busy connections, and a failed renewal is a problem', async () => {
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

  it('K-7, W-4: other statements do not wait for slow statements of the history', async () => {
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

  it('K-9: many records are searched and deleted in batches', async () => {
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

  it('K-9: only the newest of many sessions of a principal are searched', async () => {
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

  describe('connections', () => {
    const cut = async (): Promise<void> => {
      await admin.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'meanwhile%'`,
      );
    };

    it('K-7: that are cut lose no reads or writes', async () => {
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

    it('K-7: that are cut while a statement begins are replaced', async () => {
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

    it('K-7: that are read-only after a failover are replaced', async () => {
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

    it('K-7: are limited in number and time, and further statements wait', async () => {
      const shown = await Promise.all(Array.from({ length: 20 }, async () => admin.run('SHOW statement_timeout')));
      expect(shown.flat()).toEqual(shown.map(() => ({ statement_timeout: '8s' })));
    });

    it('K-7: a statement that waits too long for a connection fails', async () => {
      const one = new Connections({ max: 1, answerMs: 1000, connect: () => admin.connect({ max: 1 }) });
      const slow = async () => one.run('SELECT pg_sleep(0.7)', []);
      const made = await Promise.allSettled([slow(), slow(), slow()]);
      expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      expect(made[2]).toMatchObject({ reason: { message: 'all connections were busy for 1 seconds' } });
      expect(await one.run('SELECT 1 AS one', [])).toMatchObject([{ one: 1 }]);
      await one.close();
    });

    it('K-2: a gateway that was removed writes nothing until it has joined again', async () => {
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

    it('K-7, S-3: changes of servers are still reported after the connections were cut', async () => {
      const seen: string[] = [];
      store.watchServers((id) => seen.push(id));
      await cut();
      another.putServer(serverRecord('a'));
      // A connection that was cut while it began is given up after 5 seconds.
      await expect.poll(() => seen, { timeout: 15_000 }).toEqual(['a']);
    });

    it('K-3, S-3: a gateway that takes over a session knows all changes of servers that its client knows', async () => {
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
          leaseMs: 60_000,
        });
      });
      afterEach(async () => {
        proxy.turnsAway = false;
        proxy.release();
        await behind.close();
        await proxy.close();
      });

      it('K-7: that are closed at once are retried at a limited rate, and dependent operations fail', async () => {
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

      it('K-7: that stay silent are given up, including the one for notifications', async () => {
        proxy.hold();
        proxy.cut();
        await expect.poll(() => behind.problem, { timeout: 20_000 }).toBe('unreachable');
        proxy.release();
        await expect.poll(() => behind.problem, { timeout: 20_000 }).toBeUndefined();
        await behind.cluster.anyGone();
        await behind.cluster.tookOver();
        await another.cluster.notifyWorkLeft();
        await expect.poll(async () => behind.cluster.anyGone()).toBe(true);
      });
    });

    it('K-7: while the database is down nothing counts as stored, and all changes are stored afterwards', async () => {
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
      expect(logged.join('\n')).toContain('store_unreachable');
    });
  });

  it('P-1: large numbers stay exact', async () => {
    const claimed = await claim('s');
    const data = parseExact('{"n":12345678901234567890,"m":-9007199254740993}') as Record<string, unknown>;
    claimed.put('event', { ...event('e', 's'), data });
    const [read] = (await claimed.load()).events;
    expect(stringifyExact(read?.data)).toBe('{"n":12345678901234567890,"m":-9007199254740993}');
  });

  it('X-4: IDs that PostgreSQL cannot store as text work for sessions, tasks and subscriptions', async () => {
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

  it('P-4: an unreadable record is set aside, and the others are read', async () => {
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

  it('X-3: a session too large for one statement is written in several', async () => {
    const claimed = await claim('s');
    const text = 'x'.repeat(7 * 1024 * 1024);
    for (const id of ['a', 'b', 'c']) claimed.put('event', { ...event(id, 's'), data: { text } });
    await claimed.release();
    expect(ids((await (await claim('s', another)).load()).events)).toEqual(['a', 'b', 'c']);
  });

  it('X-3: records can be trimmed to a fractional number of bytes', async () => {
    const claimed = await claim('s');
    claimed.put('event', { ...event('e', 's'), data: { text: 'x'.repeat(1000) } });
    expect(await claimed.trim(101.7, 0)).toMatchObject({ events: 1 });
  });

  it.each([
    ['by a constraint', `ALTER TABLE meanwhile.events ADD CHECK (id <> 'refused')`],
    [
      'for lack of memory',
      `CREATE FUNCTION meanwhile.refuse() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN RAISE EXCEPTION ''invalid memory alloc request size'' USING ERRCODE = ''XX000''; END';
       CREATE TRIGGER refuse BEFORE INSERT ON meanwhile.events FOR EACH ROW WHEN (new.id = 'refused')
         EXECUTE FUNCTION meanwhile.refuse()`,
    ],
  ])('X-4: a record that the database refuses %s fails its own session only', async (_, refusal) => {
    const [a, b] = [await claim('a'), await claim('b')];
    await admin.script(refusal);
    for (const id of ['a1', 'refused', 'a2']) a.put('event', event(id, 'a'));
    b.put('event', event('b1', 'b'));
    await Promise.all([expect(a.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' }), b.settled()]);
    expect(ids((await a.load()).events)).toEqual(['a1', 'a2']);
    expect(ids((await b.load()).events)).toEqual(['b1']);
  });

  it('X-4: a refused record does not count as stored when others are written', async () => {
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
