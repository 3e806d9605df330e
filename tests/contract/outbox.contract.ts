/** What the queue of notifications of every store must do. `open` gives an empty store. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedNotice, Outbox, QueuedNotice } from '../../src/core/ports/outbox.ts';
import type { Store } from '../../src/core/ports/store.ts';

export interface OutboxUnderTest {
  store: Store;
  /** Opens another gateway on the same data, or the same file again after the first one has ended without a word. */
  openAnother?: () => Promise<Store>;
  /** The first gateway is gone by then, for others. */
  firstGone?: () => Promise<void>;
}

const notice = (id: string, more: Partial<QueuedNotice> = {}): QueuedNotice => ({
  id,
  target: 'phone',
  subject: `question ${id}`,
  createdAt: 1000,
  dueAt: 1000,
  giveUpAt: 100_000,
  keepUntil: 200_000,
  attempts: 0,
  data: '{"a":"\\u0000"}',
  ...more,
});

const ids = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id);

export function outboxContract(name: string, open: () => Promise<OutboxUnderTest>): void {
  describe(`outbox contract: ${name}`, () => {
    let under: OutboxUnderTest;
    let outbox: Outbox;
    const others: Store[] = [];

    beforeEach(async () => {
      under = await open();
      ({ outbox } = under.store);
    });
    afterEach(async () => {
      for (const each of others.splice(0)) await each.close();
      await under.store.close();
    });

    const claim = async (now: number, limit = 10, target = 'phone'): Promise<ClaimedNotice[]> =>
      outbox.claim({ target, now, until: now + 60_000, limit });

    it('N-3: starts empty, and returns added notifications once', async () => {
      expect(await outbox.due(5000)).toEqual({ targets: [] });
      expect(await claim(5000)).toEqual([]);
      await outbox.add([notice('a')]);
      await outbox.add([notice('a', { dueAt: 5, data: 'other' }), notice('b', { dueAt: 2000 })]);
      const claimed = await claim(1999);
      expect(claimed).toEqual([
        { ...notice('a', { dueAt: 61_999, attempts: 1 }), claim: expect.any(String), until: 61_999 },
      ]);
    });

    it('N-3: lists the targets with due notifications, and the time of the next one', async () => {
      await outbox.add([notice('a'), notice('b'), notice('c', { target: 'mail', dueAt: 3000 })]);
      expect(await outbox.due(999)).toEqual({ targets: [], nextAt: 1000 });
      expect(await outbox.due(1000)).toEqual({ targets: ['phone'], nextAt: 3000 });
      expect(await outbox.due(3000)).toEqual({ targets: ['mail', 'phone'] });
    });

    it('N-3: gives a due notification to one claimer, and again after the claim has expired', async () => {
      await outbox.add([notice('a', { dueAt: 1001 }), notice('b'), notice('c', { dueAt: 1002 })]);
      expect(ids(await claim(2000, 2)).toSorted()).toEqual(['a', 'b']);
      expect(ids(await claim(2000))).toEqual(['c']);
      expect(await claim(2000)).toEqual([]);
      expect(await outbox.due(2000)).toEqual({ targets: [], nextAt: 62_000 });
      const again = await claim(62_000);
      expect(again.map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
    });

    it('N-3: never returns a delivered notification again, even if it is added again', async () => {
      await outbox.add([notice('a')]);
      const [first] = await claim(1000);
      await outbox.end(first as ClaimedNotice, { state: 'delivered', at: 1500 });
      await outbox.add([notice('a')]);
      await outbox.drop(['question a']);
      await outbox.add([notice('a')]);
      expect(await outbox.due(99_999)).toEqual({ targets: [] });
      expect(await claim(99_999)).toEqual([]);
      expect(await outbox.list(10)).toEqual([]);
    });

    it('N-1: returns a postponed notification later, with its error', async () => {
      await outbox.add([notice('a')]);
      const [first] = await claim(1000);
      await outbox.postpone(first as ClaimedNotice, { dueAt: 4000, attempts: 1, error: 'HTTP 500 \0 \uD800' });
      expect(await claim(3999)).toEqual([]);
      const [listed] = await outbox.list(10);
      expect(listed).toMatchObject({ id: 'a', state: 'waiting', dueAt: 4000, attempts: 1 });
      expect(listed?.error).toMatch(/^HTTP 500 /);
      const [again] = await claim(4000);
      await outbox.end(again as ClaimedNotice, { state: 'failed', at: 4000 });
      expect((await outbox.list(10))[0]).toMatchObject({ state: 'failed', error: listed?.error });
    });

    it('N-3: ignores a slow gateway that postpones or gives up a notification of another claim', async () => {
      await outbox.add([notice('a')]);
      const [slow] = await claim(1000);
      const [next] = await claim(70_000);
      await outbox.postpone(slow as ClaimedNotice, { dueAt: 70_000, attempts: 1 });
      await outbox.end(slow as ClaimedNotice, { state: 'failed', at: 70_000, error: 'late' });
      expect(await outbox.due(70_000)).toEqual({ targets: [], nextAt: 130_000 });
      // But it has been delivered if one of them says so.
      await outbox.end(slow as ClaimedNotice, { state: 'delivered', at: 70_000 });
      await outbox.postpone(next as ClaimedNotice, { dueAt: 70_000, attempts: 2 });
      expect(await outbox.due(999_999)).toEqual({ targets: [] });
    });

    it('N-1: drops notifications that are no longer needed and were not sent', async () => {
      const subject = 'question q "\u{1F600}';
      await outbox.add([notice('a', { subject }), notice('b', { subject, dueAt: 5000 }), notice('c')]);
      await outbox.drop([subject, 'unknown']);
      await outbox.drop([]);
      expect(ids(await claim(9000))).toEqual(['c']);
      // It can be queued again: a server is down for the second time.
      await outbox.add([notice('a', { subject })]);
      expect(ids(await claim(9000))).toEqual(['a']);
    });

    it('N-1: lists waiting and failed notifications, the newest first', async () => {
      await outbox.add([notice('a'), notice('b', { createdAt: 2000 }), notice('c', { createdAt: 3000, dueAt: 9000 })]);
      const claimed = await claim(2000);
      const b = claimed.find(({ id }) => id === 'b');
      await outbox.end(b as ClaimedNotice, { state: 'failed', at: 2500, error: 'gone' });
      const listed = await outbox.list(10);
      expect(listed.map(({ id, state }) => [id, state])).toEqual([
        ['c', 'waiting'],
        ['b', 'failed'],
        ['a', 'waiting'],
      ]);
      expect(listed[1]).toMatchObject({ endedAt: 2500, error: 'gone', attempts: 1 });
      expect(await outbox.list(1)).toHaveLength(1);
    });

    it('N-3: remembers ended notifications until keepUntil, and limits the number of notifications', async () => {
      await outbox.add([
        notice('a'),
        notice('b', { createdAt: 2000, keepUntil: 300_000 }),
        notice('c', { dueAt: 5000 }),
      ]);
      for (const each of await claim(2000)) await outbox.end(each, { state: 'delivered', at: 2000 });
      await outbox.trim(200_000, 100);
      // Not known any more.
      await outbox.add([notice('a', { createdAt: 3000 }), notice('b')]);
      expect(ids(await claim(200_000)).toSorted()).toEqual(['a', 'c']);
      // What has ended goes first, and does not count.
      expect(await outbox.trim(200_000, 2)).toEqual(new Map());
      expect(await outbox.trim(200_000, 1)).toEqual(new Map([['phone', 1]]));
      expect(ids(await outbox.list(10))).toEqual(['a']);
      // Its target is not configured any more.
      await outbox.trim(100_000 + 3_600_000, 100);
      expect(await outbox.list(10)).toEqual([]);
    });

    it('N-3: makes notifications claimed by a dead gateway due at once, unless they were sent', async ({ skip }) => {
      if (under.openAnother === undefined || under.firstGone === undefined)
        return skip('for stores that another gateway can open');
      await outbox.add([notice('a'), notice('b'), notice('c', { dueAt: 50_000 })]);
      const claimed = await claim(1000);
      await outbox.end(claimed.find(({ id }) => id === 'b') as ClaimedNotice, { state: 'delivered', at: 1000 });
      // Its own claims hold.
      await outbox.reclaim(2000, 0);
      expect(await outbox.due(2000)).toEqual({ targets: [], nextAt: 50_000 });
      await under.firstGone();
      const another = await under.openAnother();
      others.push(another);
      await another.outbox.reclaim(3000, 0);
      expect(await another.outbox.due(3000)).toEqual({ targets: ['phone'], nextAt: 50_000 });
      const again = await another.outbox.claim({ target: 'phone', now: 3000, until: 63_000, limit: 10 });
      expect(again).toMatchObject([{ id: 'a', attempts: 2 }]);
      await another.outbox.reclaim(4000, 0);
      expect(await another.outbox.due(4000)).toEqual({ targets: [], nextAt: 50_000 });
      // The first one cannot do anything with it any more.
      await outbox.postpone(claimed[0] as ClaimedNotice, { dueAt: 5000, attempts: 1 });
      expect(await another.outbox.due(5000)).toEqual({ targets: [], nextAt: 50_000 });
    });

    it('N-3: keeps notifications after a restart, and gives no notification to two gateways', async ({ skip }) => {
      if (under.openAnother === undefined) return skip('for stores that another gateway can open');
      await outbox.add(Array.from({ length: 40 }, (_, index) => notice(`n${index}`)));
      const [mine] = await claim(1000, 1);
      const another = await under.openAnother();
      others.push(another);
      const claims = await Promise.all(
        Array.from({ length: 8 }, async (_, index) =>
          (index % 2 === 0 ? outbox : another.outbox).claim({ target: 'phone', now: 1000, until: 9000, limit: 5 }),
        ),
      );
      const found = [mine as ClaimedNotice, ...claims.flat()];
      expect(new Set(ids(found)).size).toBe(found.length);
      const rest = await another.outbox.claim({ target: 'phone', now: 1000, until: 9000, limit: 100 });
      expect(found.length + rest.length).toBe(40);
    });
  });
}
