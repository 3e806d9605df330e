/** What the history of every store must do. `open` gives an empty store. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EntryWrite, HistoryEntry, NewEntry } from '../../src/core/history/entry.ts';
import type { History, HistoryFilter, HistoryQuery } from '../../src/core/ports/history.ts';
import type { Store } from '../../src/core/ports/store.ts';
import { parseExact } from '../../src/lib/exact-json.ts';

export interface HistoryUnderTest {
  store: Store;
  /** Opens another gateway on the same data, or the same file again after the first one has ended without a word. */
  openAnother?: () => Promise<Store>;
  /** Whether two may be open at the same time. */
  shared?: boolean;
  /** As if the first gateway were gone. */
  firstGone?: () => void | Promise<void>;
}

type Call = Extract<NewEntry, { kind: 'call' }>;
type Question = Extract<NewEntry, { kind: 'question' }>;

export const callEntry = (id: string, more: Partial<Call> = {}): Call => ({
  kind: 'call',
  id,
  principal: 'ann',
  server: 'one',
  tool: 'work',
  sessionId: 's',
  view: 'hub',
  startedAt: 1000,
  status: 'running',
  waits: [],
  argumentBytes: 2,
  ...more,
});

const ended = (id: string, endedAt: number, more: Partial<Call> = {}): Call =>
  callEntry(id, { status: 'completed', endedAt, ...more });

export const questionEntry = (id: string, more: Partial<Question> = {}): Question => ({
  kind: 'question',
  id,
  asks: 'elicitation',
  principal: 'ann',
  server: 'one',
  sessionId: 's',
  status: 'open',
  createdAt: 1000,
  expiresAt: 2000,
  ...more,
});

const summary = (id: string, count: number, errors: number, from = 1000): NewEntry => ({
  kind: 'summary',
  id,
  principal: 'ann',
  server: 'one',
  tool: 'work',
  from,
  to: from + 1000,
  count,
  errors,
  longestMs: 3,
});

const seqOf = (entry: HistoryEntry | undefined): number => entry?.seq ?? Number.NaN;

const ids = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id);

export function historyContract(name: string, open: () => Promise<HistoryUnderTest>): void {
  describe(`history contract: ${name}`, () => {
    let under: HistoryUnderTest;
    let history: History;
    const others: Store[] = [];

    beforeEach(async () => {
      under = await open();
      ({ history } = under.store);
    });
    afterEach(async () => {
      for (const each of others.splice(0)) await each.close();
      await under.store.close();
    });

    const put = async (...entries: (NewEntry | EntryWrite)[]): Promise<void> =>
      history.append(entries.map((each) => ('entry' in each ? each : { entry: each })));

    const list = async (filter: Partial<HistoryQuery> = {}): Promise<HistoryEntry[]> =>
      history.read({ kinds: ['call', 'question', 'summary'], order: 'oldest', limit: 100, ...filter });

    it('W-3: starts empty and returns the written entries', async () => {
      expect(await list()).toEqual([]);
      const call = callEntry('c', { taskId: 't', program: 'editor', waits: [{ questionId: 'q', from: 5 }] });
      await put(call, questionEntry('q', { callId: 'c', tool: 'work', message: 'Really?' }), summary('z', 7, 2));
      const [first, second, third] = await list();
      expect(first).toEqual({ ...call, seq: expect.any(Number) });
      expect(second).toEqual({
        ...questionEntry('q', { callId: 'c', tool: 'work', message: 'Really?' }),
        seq: seqOf(first) + 1,
      });
      expect(third).toEqual({ ...summary('z', 7, 2), seq: seqOf(first) + 2 });
    });

    it('W-3: keeps only the latest version of a changed entry, with a new number', async () => {
      await put(callEntry('a'), callEntry('b'));
      const before = await list();
      await put(ended('a', 3000));
      const after = await list();
      expect(ids(after)).toEqual(['a', 'b']);
      expect(after[0]).toMatchObject({ status: 'completed', endedAt: 3000 });
      expect(after[0]?.seq).toBeGreaterThan(seqOf(before[1]));
      expect(after[1]?.seq).toBe(before[1]?.seq);
    });

    it('W-3: does not reopen an ended entry', async () => {
      await put(ended('a', 3000));
      await put(callEntry('a'));
      expect(await list()).toMatchObject([{ status: 'completed', endedAt: 3000 }]);
      await put(ended('a', 4000, { status: 'failed' }));
      expect(await list()).toMatchObject([{ status: 'failed', endedAt: 4000 }]);
    });

    it('W-4: reads contents on demand, and keeps them when an entry is written without them', async () => {
      await put({ entry: callEntry('a'), content: { arguments: { n: 1 } } });
      expect(await list()).toEqual([{ ...callEntry('a'), seq: expect.any(Number) }]);
      await put(callEntry('a', { statusMessage: 'half' }));
      expect(await list({ content: true })).toMatchObject([{ statusMessage: 'half', arguments: { n: 1 } }]);
      await put({ entry: ended('a', 3000), content: { arguments: { n: 1 }, result: { content: [] } } });
      expect(await history.find(['a', 'unknown'])).toMatchObject([{ arguments: { n: 1 }, result: { content: [] } }]);
    });

    it('W-4: returns numbers and strings unchanged', async () => {
      const args = parseExact('{"big":9007199254740993,"nul":"a\\u0000b","half":"\\ud800"}') as Record<string, unknown>;
      const odd = 'a\u0000b\ud800';
      await put({ entry: callEntry('a', { tool: odd, statusMessage: odd }), content: { arguments: args } });
      const [found] = await history.find(['a']);
      expect(found).toMatchObject({ tool: odd, statusMessage: odd, arguments: args });
      expect(ids(await list({ tool: odd }))).toEqual(['a']);
      expect(ids(await list({ text: odd }))).toEqual(['a']);
    });

    it('W-4: leaves out contents above the requested size', async () => {
      const [large, small] = [{ text: 'x'.repeat(2000) }, { text: 'x' }];
      await put(
        { entry: callEntry('a'), content: { arguments: large } },
        { entry: callEntry('b'), content: { arguments: small } },
        { entry: callEntry('c') },
      );
      const [a, b, c] = await list({ content: true, contentBytes: 1000, principal: 'ann', order: 'oldest' });
      expect(a).not.toHaveProperty('arguments');
      expect(b).toMatchObject({ id: 'b', arguments: small });
      expect(c).not.toHaveProperty('arguments');
      expect(await list({ content: true, contentBytes: 3000, limit: 1 })).toMatchObject([{ arguments: large }]);
    });

    it('W-4: leaves out contents that cannot be serialized, and marks the entry as truncated', async () => {
      let nested: Record<string, unknown> = {};
      for (let depth = 0; depth < 100_000; depth += 1) nested = { nested };
      await put({ entry: callEntry('a'), content: { arguments: nested } }, callEntry('b'));
      expect(await list({ content: true })).toMatchObject([{ id: 'a', truncated: true }, { id: 'b' }]);
    });

    it('W-10: filters lists', async () => {
      await put(
        callEntry('a', { taskId: 't', startedAt: 1 }),
        ended('b', 20, { principal: 'bob', server: 'two', tool: 'Other', startedAt: 2, program: 'Editor' }),
        callEntry('c', { status: 'waiting', sessionId: 'other', startedAt: 3 }),
        questionEntry('q', { callId: 'a', createdAt: 4, message: 'Delete ALL files?' }),
        questionEntry('r', { createdAt: 5, status: 'declined', endedAt: 30 }),
        summary('z', 3, 0, 6),
      );
      const cases: [Partial<HistoryFilter>, string][] = [
        [{ kinds: ['call'] }, 'a b c'],
        [{ kinds: ['call', 'summary'] }, 'a b c z'],
        [{ principal: 'bob' }, 'b'],
        [{ principal: 'nobody' }, ''],
        [{ active: true }, 'a c q'],
        [{ active: false }, 'b r z'],
        [{ statuses: ['waiting', 'declined'] }, 'c r'],
        [{ task: true }, 'a'],
        [{ task: false }, 'b c'],
        [{ server: 'two' }, 'b'],
        [{ tool: 'Other' }, 'b'],
        [{ tool: 'other' }, ''],
        [{ sessionId: 'other' }, 'c'],
        [{ callId: 'a' }, 'q'],
        [{ text: 'delete all' }, 'q'],
        [{ text: 'EDITOR' }, 'b'],
        [{ text: '%' }, ''],
        [{ from: 3 }, 'c q r z'],
        [{ to: 3 }, 'a b'],
        [{ from: 2, to: 4, active: true }, 'c'],
      ];
      for (const [filter, expected] of cases) {
        expect([filter, ids(await list(filter)).join(' ')]).toEqual([filter, expected]);
        const all: HistoryFilter = { kinds: ['call', 'question', 'summary'], ...filter };
        expect(await history.count(all)).toBe(expected === '' ? 0 : expected.split(' ').length);
      }
    });

    it('W-10: returns pages without gaps or repetitions, in both orders', async () => {
      // Several begin at the same moment.
      const all = Array.from({ length: 25 }, (_, index) => callEntry(`c${10 + index}`, { startedAt: index >> 2 }));
      await put(...all);
      for (const order of ['oldest', 'newest'] as const) {
        const found: string[] = [];
        let cursor: HistoryQuery['cursor'];
        for (;;) {
          const page = await list({ order, limit: 4, ...(cursor && { cursor }) });
          found.push(...ids(page));
          const last = page.at(-1);
          if (last?.kind !== 'call' || page.length < 4) break;
          cursor = { at: last.startedAt, id: last.id };
        }
        expect(found).toEqual(order === 'oldest' ? ids(all) : ids(all.toReversed()));
      }
    });

    it('W-6: returns every entry that has changed since a number, once', async () => {
      await put(callEntry('a'), callEntry('b', { principal: 'bob' }), callEntry('c'));
      const { newest } = await history.range();
      expect(await history.changesAfter(newest, 10)).toEqual([]);
      await put(ended('c', 5));
      await put(callEntry('b', { principal: 'bob', statusMessage: 'half' }), questionEntry('q'));
      expect(ids(await history.changesAfter(newest, 10))).toEqual(['c', 'b', 'q']);
      expect(ids(await history.changesAfter(newest, 10, 'ann'))).toEqual(['c', 'q']);
      expect(ids(await history.changesAfter(newest, 1))).toEqual(['c']);
      expect((await history.range()).newest).toBe(newest + 3);
    });

    it('W-6: notifies watchers of new entries until they stop', async () => {
      let told = 0;
      const stop = history.watch(() => (told += 1));
      await put(callEntry('a'));
      expect(told).toBeGreaterThan(0);
      stop();
      const before = told;
      await put(callEntry('b'));
      expect(told).toBe(before);
    });

    it('W-5: counts the calls of each server, including calls without entries', async () => {
      await put(
        ended('a', 2000),
        ended('b', 2000, { isError: true }),
        ended('c', 2000, { status: 'failed', server: 'two', principal: 'bob' }),
        ended('old', 20, { startedAt: 10 }),
        summary('z', 40, 3),
        questionEntry('q'),
      );
      expect(await history.tally(1000)).toEqual([
        { server: 'one', calls: 42, errors: 4 },
        { server: 'two', calls: 1, errors: 1 },
      ]);
      expect(await history.tally(1000, 'bob')).toEqual([{ server: 'two', calls: 1, errors: 1 }]);
      expect(await history.tally(5000)).toEqual([]);
    });

    it('W-4: deletes entries that ended before a time, and reports the number from which it is complete', async () => {
      await put(ended('a', 10), ended('b', 20), callEntry('c', { startedAt: 1 }));
      const [a, b, c] = await list({ order: 'oldest', kinds: ['call'] }).then((found) =>
        found.toSorted((one, other) => one.seq - other.seq),
      );
      await history.trim(20, Infinity);
      expect(ids(await list())).toEqual(['c', 'b']);
      expect(await history.find(['a'])).toEqual([]);
      const { completeFrom, newest } = await history.range();
      expect(completeFrom).toBe(a?.seq);
      expect(completeFrom).toBeLessThan(seqOf(b));
      expect(newest).toBe(c?.seq);
    });

    it('W-4: deletes the entries that ended first above the size limit, and keeps running entries', async () => {
      const content = { arguments: { text: 'x'.repeat(10_000) } };
      const entry = (index: number): EntryWrite => ({ entry: ended(`c${100 + index}`, index), content });
      await put(
        { entry: callEntry('on', { startedAt: 0 }), content },
        ...Array.from({ length: 50 }, (_, i) => entry(i)),
      );
      await history.trim(-Infinity, 200_000);
      const left = ids(await list({ active: false }));
      expect(left.length).toBeGreaterThan(10);
      expect(left.length).toBeLessThan(20);
      expect(left).toEqual(Array.from({ length: left.length }, (_, i) => `c${150 - left.length + i}`).toSorted());
      expect(ids(await list({ active: true }))).toEqual(['on']);
      await history.trim(-Infinity, 0);
      expect(ids(await list())).toEqual(['on']);
    });

    it('W-3: ends entries of a dead gateway as lost, until their session continues', async () => {
      await put(callEntry('a'), ended('b', 20), questionEntry('q', { createdAt: 2000 }));
      // Never those of its own.
      await history.endLost(30);
      await history.endLost(30);
      expect(ids(await list({ active: true }))).toEqual(['a', 'q']);
      if (under.openAnother === undefined) return;
      await under.firstGone?.();
      if (under.shared !== true) await under.store.close();
      const another = await under.openAnother();
      others.push(another);
      const { newest } = await another.history.range();
      // A moment is left to those who go on with its sessions.
      for (let check = 0; check < 2; check += 1) await another.history.endLost(3000);
      const changed = await another.history.changesAfter(newest, 10);
      expect(changed).toMatchObject([
        { id: 'a', status: 'lost', endedAt: 3000 },
        { id: 'q', status: 'lost', endedAt: 3000 },
      ]);
      await another.history.append([{ entry: callEntry('a') }]);
      expect(await another.history.find(['a'])).toMatchObject([{ status: 'running' }]);
      expect((await another.history.find(['a']))[0]).not.toHaveProperty('endedAt');
      expect(await another.history.find(['b'])).toMatchObject([{ status: 'completed' }]);
    });

    it("K-5: shows gateways each other's entries in the order of their numbers", async ({ skip }) => {
      if (under.shared !== true || under.openAnother === undefined)
        return skip('for stores that another gateway can open');
      const another = await under.openAnother();
      others.push(another);
      const { newest } = await history.range();
      const seen: string[] = [];
      let [after, told] = [newest, 0];
      const stop = another.history.watch(() => (told += 1));
      const read = async (): Promise<void> => {
        const found = await another.history.changesAfter(after, 1000);
        seen.push(...ids(found));
        after = found.at(-1)?.seq ?? after;
      };
      const append = async (who: History, from: string): Promise<void> => {
        for (let index = 0; index < 20; index += 1) {
          await who.append([{ entry: callEntry(`${from}${index}x`) }, { entry: callEntry(`${from}${index}y`) }]);
        }
      };
      const state = { writing: true };
      const done = Promise.all([append(history, 'a'), append(another.history, 'b')]).finally(() => {
        state.writing = false;
      });
      while (state.writing) await read();
      await done;
      await read();
      stop();
      expect(seen).toHaveLength(80);
      expect(new Set(seen).size).toBe(80);
      expect(told).toBeGreaterThan(0);
    });
  });
}
