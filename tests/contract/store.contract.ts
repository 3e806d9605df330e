/** What every store must do, on every engine. `open` gives an empty store. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedSession, DormantQuery, Store } from '../../src/core/ports/store.ts';
import { hasEnded, transition, type Task } from '../../src/core/task/task.ts';
import { event, question, server, session, task } from '../support/records.ts';

export interface StoreUnderTest {
  store: Store;
  /** Opens another gateway on the same data; absent where there can be only one. */
  openAnother?: () => Promise<Store>;
  /** Lets the claims of all gateways that do not renew them expire. */
  expireClaims?: () => void | Promise<void>;
}

const ended = (id: string, sessionId: string, keepUntil: number): Task => {
  const done = transition(task(id, sessionId), { type: 'complete', result: {} }, { now: 1, keepMs: keepUntil - 1 });
  if (done === undefined || !hasEnded(done)) throw new Error('the task ends');
  return { ...done, keepUntil };
};

export function storeContract(name: string, open: () => Promise<StoreUnderTest>, { shared = false } = {}): void {
  describe(`store contract: ${name}`, () => {
    let store: Store;
    let under: StoreUnderTest;
    beforeEach(async () => {
      under = await open();
      store = under.store;
    });
    afterEach(async () => {
      await store.close();
    });

    async function claim(id: string, from = store): Promise<ClaimedSession> {
      const claimed = await from.claim(id);
      if (claimed === undefined) throw new Error(`session ${id} is claimed already`);
      return claimed;
    }

    const ids = (records: { id: string }[]): string[] => records.map(({ id }) => id);
    const inOrder = <T extends { id: string }>(records: T[]): T[] =>
      records.toSorted((one, other) => (one.id < other.id ? -1 : 1));

    it('W-7: creates one secret per name', async () => {
      const key = await store.secret('one');
      expect(key).toHaveLength(32);
      expect(await store.secret('one')).toEqual(key);
      expect(await store.secret('other')).not.toEqual(key);
      const another = await under.openAnother?.();
      if (another === undefined) return;
      expect(await another.secret('one')).toEqual(key);
      await another.close();
    });

    it('G-4: adds to counters, also concurrently, until they are overdue', async () => {
      const another = await under.openAnother?.();
      const adds = Array.from({ length: 20 }, async (_, index) =>
        (index % 2 === 0 ? store : (another ?? store)).addToCounter('calls', 1, 100),
      );
      expect((await Promise.all(adds)).toSorted((a, b) => a - b)).toEqual(adds.map((_, index) => index + 1));
      expect(await store.addToCounter('calls', -5, 100)).toBe(15);
      expect(await store.addToCounter('tokens', 3_000_000_000, 200)).toBe(3_000_000_000);
      expect(await (another ?? store).addToCounter('calls', 0, 100)).toBe(15);
      await store.dropOverdue(100);
      expect(await store.addToCounter('calls', 1, 300)).toBe(1);
      expect(await store.addToCounter('tokens', 1, 300)).toBe(3_000_000_001);
      await another?.close();
    });

    describe('one session', () => {
      it('P-1: starts empty and keeps a record of each kind', async () => {
        const claimed = await claim('s');
        expect(claimed.record).toBeUndefined();
        expect(await claimed.load()).toEqual({ tasks: [], questions: [], events: [], subscriptions: [] });
        const subscription = { id: 'sub', sessionId: 's', server: 'demo', uri: 'a:1' };
        claimed.put('session', session('s'));
        claimed.put('task', task('t', 's'));
        claimed.put('question', question('q', 's'));
        claimed.put('event', event('e', 's'));
        claimed.put('subscription', subscription);
        await claimed.release();
        const again = await claim('s');
        expect(again.record).toEqual(session('s'));
        expect(await again.load()).toEqual({
          tasks: [task('t', 's')],
          questions: [question('q', 's')],
          events: [event('e', 's')],
          subscriptions: [subscription],
        });
      });

      it('P-1: returns changes that are not settled yet', async () => {
        const claimed = await claim('s');
        claimed.put('task', task('t', 's'));
        expect((await claimed.load()).tasks).toHaveLength(1);
      });

      it('E-1: returns records in the order of their IDs', async () => {
        const claimed = await claim('s');
        for (const id of ['e2', 'e3', 'e1']) claimed.put('event', event(id, 's'));
        expect(ids((await claimed.load()).events)).toEqual(['e1', 'e2', 'e3']);
      });

      it('P-1: keeps the last version of a record, within a turn and across turns', async () => {
        const claimed = await claim('s');
        claimed.put('task', task('t', 's', 'first'));
        claimed.put('task', task('t', 's', 'second'));
        expect((await claimed.load()).tasks).toEqual([task('t', 's', 'second')]);
        claimed.put('task', task('t', 's', 'third'));
        expect((await claimed.load()).tasks).toEqual([task('t', 's', 'third')]);
      });

      it('P-1: deletes a dropped record, written or only queued', async () => {
        const claimed = await claim('s');
        claimed.put('event', event('written', 's'));
        await claimed.settled();
        claimed.put('event', event('queued', 's'));
        claimed.drop('event', 'queued');
        claimed.drop('event', 'written');
        claimed.drop('event', 'never there');
        await claimed.settled();
        expect((await claimed.load()).events).toEqual([]);
      });

      it('P-1: keeps a record that was put after it was dropped', async () => {
        const claimed = await claim('s');
        claimed.put('event', event('e', 's'));
        await claimed.settled();
        claimed.drop('event', 'e');
        claimed.put('event', event('e', 's'));
        expect((await claimed.load()).events).toHaveLength(1);
      });

      it('P-1: separates IDs by kind', async () => {
        const claimed = await claim('x');
        store.putServer(server('x'));
        claimed.put('session', session('x'));
        claimed.put('task', task('x', 'x'));
        claimed.put('event', event('x', 'x'));
        claimed.drop('task', 'x');
        expect(await store.servers()).toHaveLength(1);
        expect(await claimed.load()).toMatchObject({ tasks: [], events: [event('x', 'x')] });
      });

      it('S-1: hides records of other sessions', async () => {
        const [a, b] = [await claim('a'), await claim('b')];
        a.put('task', task('t-a', 'a'));
        b.put('task', task('t-b', 'b'));
        await store.settled();
        expect(ids((await a.load()).tasks)).toEqual(['t-a']);
        expect(ids((await b.load()).tasks)).toEqual(['t-b']);
      });

      it('S-1: deletes all records of an erased session, written or queued, and no other records', async () => {
        const [a, b] = [await claim('a'), await claim('b')];
        for (const [claimed, id] of [[a, 'a'] as const, [b, 'b'] as const]) {
          claimed.put('session', session(id));
          claimed.put('task', task(`t-${id}`, id));
          claimed.put('question', question(`q-${id}`, id));
          claimed.put('event', event(`e-${id}`, id));
        }
        store.putServer(server('a'));
        await store.settled();
        a.put('task', task('queued', 'a'));
        a.erase();
        a.put('task', task('late', 'a'));
        await a.settled();
        const empty = await claim('a');
        expect(empty.record).toBeUndefined();
        expect(await empty.load()).toEqual({ tasks: [], questions: [], events: [], subscriptions: [] });
        const { tasks, questions, events } = await b.load();
        expect([ids(tasks), ids(questions), ids(events)]).toEqual([['t-b'], ['q-b'], ['e-b']]);
        expect(ids(await store.servers())).toEqual(['a']);
      });

      it('S-1: starts a new session of the same ID without the old records', async () => {
        const old = await claim('s');
        old.put('session', session('s'));
        old.put('task', task('old', 's'));
        await old.settled();
        old.drop('task', 'new');
        old.erase();
        const next = await claim('s');
        next.put('session', session('s'));
        next.put('task', task('new', 's'));
        expect((await next.load()).tasks).toEqual([task('new', 's')]);
        await next.release();
        expect((await claim('s')).record).toEqual(session('s'));
      });

      it('X-3: trims the records of a session to a size, and keeps those of other sessions', async () => {
        const text = (length: number): string => 'x'.repeat(length);
        const [s, r] = [await claim('s'), await claim('r')];
        for (let n = 0; n < 10; n += 1) s.put('event', { ...event(`e${n}`, 's'), data: { text: text(1000) } });
        s.put('event', { ...event('e5-large', 's'), data: { text: text(20_000) } });
        s.put('question', { ...question('q-large', 's'), params: { message: text(20_000) } });
        s.put('question', question('q', 's'));
        s.put('task', { ...task('t-large', 's'), args: { text: text(20_000) } });
        s.put('task', task('t', 's'));
        r.put('event', { ...event('other', 'r'), data: { text: text(20_000) } });
        expect(await r.trim(100_000, 99)).toMatchObject({ events: 0, questions: 0, tasks: 0 });
        const trimmed = await s.trim(16_000, 99);
        expect(trimmed).toMatchObject({ events: 8, questions: 1, tasks: 1 });
        expect(trimmed.bytes).toBeLessThan(16_000);
        const { events, questions, tasks } = await s.load();
        expect(ids(events)).toEqual(['e7', 'e8', 'e9']);
        expect(ids(questions)).toEqual(['q']);
        const [whole, failed] = tasks;
        expect(whole).toEqual(task('t', 's'));
        const error = { message: expect.stringContaining('limits.sessionBytes') };
        expect(failed).toMatchObject({ id: 't-large', args: {}, status: 'failed', keepUntil: 99, error });
        expect((await r.load()).events).toHaveLength(1);
      });

      it('X-3, P-2: counts the size of a record as its size in memory, for any script', async () => {
        const claimed = await claim('s');
        const put = (id: string): void => claimed.put('task', { ...task(id, 's'), args: { text: '漢'.repeat(4000) } });
        for (const id of ['t1', 't2']) put(id);
        expect(await claimed.trim(16_000, 99)).toMatchObject({ tasks: 0 });
        for (const id of ['t3', 't4', 't5']) put(id);
        const trimmed = await claimed.trim(16_000, 99);
        expect(trimmed.tasks).toBeGreaterThan(0);
        expect(trimmed.bytes).toBeLessThan(16_000);
        expect((await claimed.load()).tasks.at(-1)?.status).toBe('working');
      });

      it('X-4: returns unicode, quotes and prototype keys unchanged', async () => {
        const claimed = await claim('s');
        const data = JSON.parse(
          '{"__proto__":{"polluted":true},"constructor":"c","text":"\\u0000 \'; DROP TABLE events; --"}',
        );
        const odd = { ...event('ключ 🗝️ \'"', 's'), data: { odd: data, lone: '\ud83d' } };
        claimed.put('event', odd);
        expect((await claimed.load()).events).toEqual([odd]);
        expect({}).not.toHaveProperty('polluted');
        claimed.drop('event', odd.id);
        expect((await claimed.load()).events).toEqual([]);
      });

      it('X-4: fails the write of a record that cannot be serialized, and no later write', async () => {
        const claimed = await claim('s');
        let nested: unknown = [];
        for (let depth = 0; depth < 100_000; depth++) nested = [nested];
        claimed.put('event', { ...event('deep', 's'), data: { nested } });
        claimed.put('event', event('beside', 's'));
        await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
        claimed.put('event', event('later', 's'));
        await claimed.settled();
        expect(ids((await claimed.load()).events)).toEqual(['beside', 'later']);
      });
    });

    describe('durability', () => {
      it('P-3: settled is the same resolved promise while nothing is queued', async () => {
        const claimed = await claim('s');
        const idle = claimed.settled();
        await idle;
        expect(claimed.settled()).toBe(idle);
        claimed.put('event', event('e', 's'));
        expect(claimed.settled()).not.toBe(idle);
        await claimed.settled();
        expect(claimed.settled()).toBe(idle);
      });

      it('P-3: settled is one promise for all callers in a turn', async () => {
        const claimed = await claim('s');
        claimed.put('event', event('e1', 's'));
        const waiting = claimed.settled();
        claimed.put('event', event('e2', 's'));
        expect(claimed.settled()).toBe(waiting);
        return waiting;
      });

      it('P-3: after close settled fails for later changes', async () => {
        const claimed = await claim('s');
        claimed.put('task', task('t', 's'));
        await Promise.all([store.close(), store.close()]);
        await claimed.settled();
        claimed.put('task', task('late', 's'));
        await expect(claimed.settled()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
        await expect(claimed.load()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      });
    });

    describe('all sessions', () => {
      it('P-2, B-6: sessions with work, a direct view or preferences are found for resuming', async () => {
        const claimed = await Promise.all(['a', 'b', 'c', 'd'].map(async (id) => claim(id)));
        const [a, b, c, d] = claimed as [ClaimedSession, ClaimedSession, ClaimedSession, ClaimedSession];
        a.put('session', session('a'));
        a.put('task', ended('over', 'a', 99));
        b.put('session', { ...session('b'), principal: 'ada' });
        b.put('task', task('working', 'b'));
        c.put('session', { ...session('c'), view: { kind: 'direct', server: 'demo' } });
        d.put('session', { ...session('d'), preferences: { demo: { logLevel: 'info' } } });
        for (const each of claimed) await each.release();
        const found = inOrder(await store.sessionsToResume());
        expect(found).toEqual([
          { id: 'b', principal: 'ada' },
          // One that may have left something; where others can look into the store, they find it there.
          ...(shared ? [] : [{ id: 'c', principal: 'local' }]),
          { id: 'd', principal: 'local' },
        ]);
        const [again, alsoAgain] = [await claim('b'), await claim('d')];
        again.put('task', ended('working', 'b', 99));
        alsoAgain.put('session', session('d'));
        for (const each of [again, alsoAgain]) await each.release();
        expect(ids(await store.sessionsToResume())).toEqual(shared ? [] : ['c']);
      });

      it('W-5: dormant sessions are read in pages, with the numbers of their records', async () => {
        const put = async (id: string, lastActiveAt: number, principal: string): Promise<ClaimedSession> => {
          const claimed = await claim(id);
          claimed.put('session', { ...session(id), lastActiveAt, principal });
          return claimed;
        };
        const a = await put('a', 5, 'ada');
        a.put('task', task('working', 'a'));
        a.put('task', ended('over', 'a', 99));
        a.put('task', ended('over too', 'a', 99));
        a.put('question', question('q', 'a'));
        const others = [await put('b', 7, 'bob'), await put('c', 7, 'ada'), await put('d', 1, 'ada')];
        const live = await put('live', 9, 'ada');
        for (const each of [a, ...others]) await each.release();
        const read = async (query: Omit<DormantQuery, 'limit'>, limit = 9): Promise<string[]> =>
          ids((await store.dormantSessions({ ...query, limit })).map(({ record }) => record));
        expect(await read({})).toEqual(['c', 'b', 'a', 'd']);
        expect(await read({}, 2)).toEqual(['c', 'b']);
        expect(await read({ cursor: { at: 7, id: 'c' } }, 2)).toEqual(['b', 'a']);
        expect(await read({ cursor: { at: 5, id: 'a' } })).toEqual(['d']);
        expect(await read({ principal: 'ada', cursor: { at: 7, id: 'c' } })).toEqual(['a', 'd']);
        expect(await read({ principal: 'nobody' })).toEqual([]);
        expect(await store.dormantSessions({ cursor: { at: 7, id: 'b' }, limit: 1 })).toEqual([
          {
            record: { ...session('a'), lastActiveAt: 5, principal: 'ada' },
            tasks: { running: 1, ended: 2 },
            questions: 1,
          },
        ]);
        const again = await claim('c');
        await live.release();
        expect(await read({ principal: 'ada' })).toEqual(['live', 'a', 'd']);
        again.erase();
        await store.settled();
        expect(await read({ principal: 'ada' })).toEqual(['live', 'a', 'd']);
      });

      it('S-5: the states of a principal are found, and no other sessions', async () => {
        const state = (id: string, principal: string) => ({
          ...session(id),
          principal,
          owner: { kind: 'state' as const, name: id },
        });
        for (const record of [state('a', 'ada'), state('b', 'ada'), state('c', 'bob'), session('d')]) {
          (await claim(record.id)).put('session', record);
        }
        expect(await store.states('ada')).toEqual([state('a', 'ada'), state('b', 'ada')]);
        expect(await store.states('nobody')).toEqual([]);
      });

      it('S-4: idle sessions are deleted unless they are claimed', async () => {
        const put = async (id: string, lastActiveAt: number): Promise<ClaimedSession> => {
          const claimed = await claim(id);
          claimed.put('session', { ...session(id), lastActiveAt });
          claimed.put('task', task(`t-${id}`, id));
          return claimed;
        };
        const [old, recent, mine] = [await put('old', 10), await put('recent', 11), await put('mine', 10)];
        await old.release();
        await recent.release();
        await store.dropIdle(10);
        expect((await claim('old')).record).toBeUndefined();
        expect((await claim('recent')).record).toBeDefined();
        expect((await mine.load()).tasks).toHaveLength(1);
      });

      it('T-2: overdue tasks of all sessions are deleted, and no other tasks', async () => {
        const [a, b] = [await claim('a'), await claim('b')];
        a.put('task', ended('over', 'a', 10));
        a.put('task', ended('kept', 'a', 100));
        b.put('task', ended('over too', 'b', 50));
        b.put('task', task('working', 'b'));
        await store.dropOverdue(50);
        expect(ids((await a.load()).tasks)).toEqual(['kept']);
        expect(ids((await b.load()).tasks)).toEqual(['working']);
      });
    });

    describe('servers', () => {
      it('S-3: are kept, replaced and dropped', async () => {
        store.putServer(server('a'));
        store.putServer(server('b'));
        await store.settled();
        store.putServer({ ...server('a'), addedAt: 2 });
        store.dropServer('b');
        expect(await store.servers()).toEqual([{ ...server('a'), addedAt: 2 }]);
      });
    });

    describe('claims', () => {
      it('P-1: a session can be claimed once until it is released or erased', async () => {
        const first = await claim('s');
        expect(await store.claim('s')).toBeUndefined();
        first.put('event', event('e', 's'));
        await first.release();
        const second = await claim('s');
        expect((await second.load()).events).toHaveLength(1);
        expect(second.fence).toBeGreaterThanOrEqual(first.fence);
        second.erase();
        expect(await store.claim('s')).toBeDefined();
      });

      it('P-3: release ends a claim even if not all changes could be written', async () => {
        const claimed = await claim('s');
        let nested: unknown = [];
        for (let depth = 0; depth < 100_000; depth++) nested = [nested];
        claimed.put('event', { ...event('deep', 's'), data: { nested } });
        await claimed.release();
        expect(await store.claim('s')).toBeDefined();
      });

      it('S-4: an erased session does not change or release the next session with its ID', async () => {
        const erased = await claim('s');
        const subscription = { id: 'sub', sessionId: 's', server: 'demo', uri: 'a:1' };
        erased.put('subscription', subscription);
        erased.erase();
        await erased.settled();
        const next = await claim('s');
        next.put('subscription', subscription);
        erased.drop('subscription', 'sub');
        await erased.release();
        expect((await next.load()).subscriptions).toEqual([subscription]);
        expect(await store.claim('s')).toBeUndefined();
      });

      it('P-1: renewing the lease keeps the claims', async () => {
        const claimed = await claim('s');
        expect((await store.cluster?.renew({}))?.lost ?? []).toEqual([]);
        claimed.put('event', event('e', 's'));
        await claimed.settled();
        expect(await store.claim('s')).toBeUndefined();
      });
    });

    if (!shared) return;

    describe('several gateways', () => {
      let another: Store;
      beforeEach(async () => {
        if (under.openAnother === undefined) throw new Error('the store is said to be shared');
        another = await under.openAnother();
      });
      afterEach(async () => another.close());

      it('K-2: a session that one gateway has claimed cannot be claimed by another', async () => {
        const claimed = await claim('s');
        expect(await another.claim('s')).toBeUndefined();
        await claimed.release();
        expect(await another.claim('s')).toBeDefined();
      });

      it('K-2: an expired claim can be taken over, and the earlier gateway can no longer write', async () => {
        const lost = await claim('s');
        lost.put('event', event('before', 's'));
        await lost.settled();
        await under.expireClaims?.();
        const taken = await claim('s', another);
        expect(taken.fence).toBeGreaterThan(lost.fence);
        lost.put('event', event('after', 's'));
        await expect(lost.settled()).rejects.toMatchObject({ code: 'STORE_CLAIM_LOST' });
        expect(ids((await taken.load()).events)).toEqual(['before']);
        expect(await store.cluster?.renew({})).toMatchObject({ lost: ['s'] });
      });

      it('K-2: claimed idle sessions of other gateways are not deleted', async () => {
        const claimed = await claim('s', another);
        claimed.put('session', session('s'));
        await claimed.settled();
        await store.dropIdle(10);
        await claimed.release();
        expect((await claim('s')).record).toBeDefined();
      });

      it('K-2, W-5: a session claimed by another gateway is not dormant until the lease of that gateway ends', async () => {
        const claimed = await claim('s', another);
        claimed.put('session', session('s'));
        await claimed.settled();
        expect(await store.dormantSessions({ limit: 9 })).toEqual([]);
        await under.expireClaims?.();
        expect(await store.dormantSessions({ limit: 9 })).toMatchObject([{ record: { id: 's' } }]);
      });

      it('S-3: watchers get changes of servers by other gateways, and not the own changes', async () => {
        const seen: unknown[] = [];
        const stop = store.watchServers((id, record) => seen.push([id, record]));
        store.putServer(server('own'));
        await store.settled();
        another.putServer(server('a'));
        another.dropServer('own');
        await another.settled();
        await expect
          .poll(() => seen)
          .toEqual([
            ['a', server('a')],
            ['own', undefined],
          ]);
        stop();
        another.dropServer('a');
        await another.settled();
        expect(await store.servers()).toEqual([]);
        expect(seen).toHaveLength(2);
      });
    });
  });
}
