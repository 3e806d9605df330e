/** What every store must do, whatever it is made of. `open` gives a store that is empty. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { event, question, server, session, task } from '../support/records.ts';

export function storeContract(name: string, open: () => Promise<Store>): void {
  describe(`store contract: ${name}`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    it('P-1: starts empty and keeps a record of each kind', async () => {
      expect(await store.all('task')).toEqual([]);
      store.put('session', session('s'));
      store.put('task', task('t', 's'));
      store.put('question', question('q', 's'));
      store.put('event', event('e', 's'));
      store.put('server', server('demo'));
      await store.settled();
      expect(await store.all('session')).toEqual([session('s')]);
      expect(await store.all('task')).toEqual([task('t', 's')]);
      expect(await store.all('question')).toEqual([question('q', 's')]);
      expect(await store.all('event')).toEqual([event('e', 's')]);
      expect(await store.all('server')).toEqual([server('demo')]);
    });

    it('P-1: what is put and not yet settled is read too', async () => {
      store.put('task', task('t', 's'));
      expect(await store.all('task')).toHaveLength(1);
    });

    it('X-3: the records of a session are made to fit, and those of others stay', async () => {
      const text = (length: number): string => 'x'.repeat(length);
      for (let n = 0; n < 10; n += 1) store.put('event', { ...event(`e${n}`, 's'), data: { text: text(1000) } });
      store.put('event', { ...event('e5-large', 's'), data: { text: text(20_000) } });
      store.put('question', { ...question('q-large', 's'), params: { message: text(20_000) } });
      store.put('question', question('q', 's'));
      store.put('task', { ...task('t-large', 's'), args: { text: text(20_000) } });
      store.put('task', task('t', 's'));
      store.put('event', { ...event('other', 'r'), data: { text: text(20_000) } });
      expect(await store.fit('r', 100_000, 99)).toMatchObject({ events: 0, questions: 0, tasks: 0 });
      const trimmed = await store.fit('s', 16_000, 99);
      expect(trimmed).toMatchObject({ events: 8, questions: 1, tasks: 1 });
      expect(trimmed.bytes).toBeLessThan(16_000);
      expect((await store.of('event', 's')).map(({ id }) => id)).toEqual(['e7', 'e8', 'e9']);
      expect((await store.of('question', 's')).map(({ id }) => id)).toEqual(['q']);
      const [whole, failed] = await store.of('task', 's');
      expect(whole).toEqual(task('t', 's'));
      const error = { message: expect.stringContaining('limits.sessionBytes') };
      expect(failed).toMatchObject({ id: 't-large', args: {}, status: 'failed', keepUntil: 99, error });
      expect(await store.of('event', 'r')).toHaveLength(1);
    });

    it('X-3, P-2: the size of a record is that of its text in memory, whatever the script', async () => {
      for (const id of ['t1', 't2']) store.put('task', { ...task(id, 's'), args: { text: '漢'.repeat(4000) } });
      expect(await store.fit('s', 16_000, 99)).toMatchObject({ tasks: 0 });
      for (const id of ['t3', 't4', 't5']) store.put('task', { ...task(id, 's'), args: { text: '漢'.repeat(4000) } });
      const trimmed = await store.fit('s', 16_000, 99);
      expect(trimmed.tasks).toBeGreaterThan(0);
      expect(trimmed.bytes).toBeLessThan(16_000);
      expect((await store.of('task', 's')).at(-1)?.status).toBe('working');
    });

    it('E-1: records come back in the order of their ids', async () => {
      for (const id of ['e2', 'e3', 'e1']) store.put('event', event(id, 's'));
      expect((await store.all('event')).map(({ id }) => id)).toEqual(['e1', 'e2', 'e3']);
    });

    it('P-1: the last put of a record wins, in one turn and in several', async () => {
      store.put('task', task('t', 's', 'first'));
      store.put('task', task('t', 's', 'second'));
      expect(await store.all('task')).toEqual([task('t', 's', 'second')]);
      store.put('task', task('t', 's', 'third'));
      expect(await store.all('task')).toEqual([task('t', 's', 'third')]);
    });

    it('P-1: a dropped record is gone, whether it was written or only queued', async () => {
      store.put('event', event('written', 's'));
      await store.settled();
      store.put('event', event('queued', 's'));
      store.drop('event', 'queued');
      store.drop('event', 'written');
      store.drop('event', 'never there');
      await store.settled();
      expect(await store.all('event')).toEqual([]);
    });

    it('P-1: a record put after it was dropped is there', async () => {
      store.put('event', event('e', 's'));
      await store.settled();
      store.drop('event', 'e');
      store.put('event', event('e', 's'));
      expect(await store.all('event')).toHaveLength(1);
    });

    it('P-1: kinds do not share ids', async () => {
      store.put('session', session('x'));
      store.put('server', server('x'));
      store.put('task', task('x', 's'));
      store.drop('task', 'x');
      expect(await store.all('session')).toHaveLength(1);
      expect(await store.all('server')).toHaveLength(1);
      expect(await store.all('task')).toEqual([]);
    });

    it('S-1: dropping a session drops what is its own, written or queued, and nothing else', async () => {
      for (const id of ['a', 'b']) {
        store.put('session', session(id));
        store.put('task', task(`t-${id}`, id));
        store.put('question', question(`q-${id}`, id));
        store.put('event', event(`e-${id}`, id));
      }
      store.put('server', server('a'));
      await store.settled();
      store.put('task', task('queued', 'a'));
      store.drop('session', 'a');
      await store.settled();
      expect(await store.all('session')).toEqual([session('b')]);
      expect(await store.all('task')).toEqual([task('t-b', 'b')]);
      expect(await store.all('question')).toEqual([question('q-b', 'b')]);
      expect(await store.all('event')).toEqual([event('e-b', 'b')]);
      expect(await store.all('server')).toEqual([server('a')]);
    });

    it('S-1: a session put again in the same turn starts without what the old one had', async () => {
      store.put('session', session('s'));
      store.put('task', task('old', 's'));
      await store.settled();
      store.drop('task', 'new');
      store.drop('session', 's');
      store.put('session', session('s'));
      store.put('task', task('new', 's'));
      expect(await store.all('session')).toHaveLength(1);
      expect(await store.all('task')).toEqual([task('new', 's')]);
    });

    it('P-3: settled is one resolved promise while nothing is queued', async () => {
      const idle = store.settled();
      await idle;
      expect(store.settled()).toBe(idle);
      store.put('event', event('e', 's'));
      expect(store.settled()).not.toBe(idle);
      await store.settled();
      expect(store.settled()).toBe(idle);
    });

    it('P-3: all who wait in one turn wait for the same write', () => {
      store.put('event', event('e1', 's'));
      const waiting = store.settled();
      store.put('event', event('e2', 's'));
      expect(store.settled()).toBe(waiting);
      return waiting;
    });

    it('X-4: unicode, quotes and prototype keys come back as they were', async () => {
      const data = JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":"c","text":"\\u0000 \'; DROP TABLE events; --"}',
      );
      const odd = { ...event('ключ 🗝️ \'"', 's'), data: { ...event('', '').data, odd: data, lone: '\ud83d' } };
      store.put('event', odd);
      expect(await store.all('event')).toEqual([odd]);
      expect({}).not.toHaveProperty('polluted');
      store.drop('event', odd.id);
      expect(await store.all('event')).toEqual([]);
    });

    it('X-4: a record that cannot be written fails its own turn and no later one', async () => {
      let nested: unknown = [];
      for (let depth = 0; depth < 100_000; depth++) nested = [nested];
      store.put('event', { ...event('deep', 's'), data: { nested } });
      store.put('event', event('beside', 's'));
      await expect(store.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
      store.put('event', event('later', 's'));
      await store.settled();
      expect((await store.all('event')).map(({ id }) => id)).toEqual(['beside', 'later']);
    });

    it('P-3: after close nothing is said to be settled that is not', async () => {
      store.put('task', task('t', 's'));
      await Promise.all([store.close(), store.close()]);
      await store.settled();
      store.put('task', task('late', 's'));
      await expect(store.settled()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      await expect(store.all('task')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    });
  });
}
