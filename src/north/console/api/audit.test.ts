import { expect, test } from 'vitest';
import { callLine } from '../../../../tests/contract/audit.contract.ts';
import { MemoryAudit } from '../../../../tests/support/memory-audit.ts';
import { TestClock } from '../../../../tests/support/test-clock.ts';
import type { StoredLine } from '../../../core/audit/line.ts';
import type { AuditQuery } from '../../../core/ports/audit-log.ts';
import { readInWindows } from '../../../store/audit/windows.ts';
import { auditRoutes } from './audit.ts';

/** Between its two reads, one more line is written. */
class BusyAudit extends MemoryAudit {
  #n = 3;

  override async read(query: AuditQuery): Promise<StoredLine[]> {
    const found = await super.read(query);
    if (query.limit === 1) await this.append([callLine((this.#n += 1))]);
    return found;
  }
}

test('G-5: a reader that follows the record gets a line that is written meanwhile exactly once', async () => {
  const store = new BusyAudit();
  await store.append([callLine(1), callLine(2), callLine(3)]);
  const [{ run } = expect.fail('no route')] = auditRoutes;
  const gateway = { audit: { store, flush: async () => {} }, clock: new TestClock() };
  const person = { principal: 'ola', operator: true };
  const get = async (query: object): Promise<{ seen: number[]; seq: number }> => {
    const reply = await run({ gateway, person, query: { limit: 10, ...query }, res: {} } as never);
    const { items, seq } = (reply as { body: { items: StoredLine[]; seq: number } }).body;
    return { seen: items.map(({ n }) => n), seq };
  };
  const first = await get({});
  expect(first).toEqual({ seen: [4, 3, 2, 1], seq: 4 });
  const second = await get({ after: first.seq });
  expect(second).toEqual({ seen: [5], seq: 5 });
  // Of several pages, the next begins where this one ends.
  expect(await get({ after: 1, limit: 2 })).toEqual({ seen: [2, 3], seq: 3 });
});

/** 50,000 lines, of which every ten thousandth matches, read in windows of ten thousand. */
class LargeAudit extends MemoryAudit {
  windows = 0;
  onWindow = (): void => {};

  override async read(query: AuditQuery): Promise<StoredLine[]> {
    const matching = [10_000, 20_000, 30_000, 40_000, 50_000];
    const seqs = query.order === 'newest' ? matching.toReversed() : matching;
    return readInWindows(query, {
      range: async () => ({ oldest: 1, newest: 50_000 }),
      rows: async ({ above = 0, below = Infinity }, limit) => {
        this.windows += 1;
        this.onWindow();
        const within = seqs.filter((seq) => seq > above && seq < below).slice(0, limit);
        return within.map((seq) => ({ seq, data: JSON.stringify(callLine(seq)) }));
      },
      onUnreadable: () => {},
      next: (size) => size,
    });
  }
}

test.each(['newest', 'oldest'] as const)(
  'G-5: a long search, %s lines first, ends after its time limit, and the next request continues it',
  async (order) => {
    const [store, clock] = [new LargeAudit(), new TestClock()];
    const [{ run } = expect.fail('no route')] = auditRoutes;
    const gateway = { audit: { store, flush: async () => {} }, clock };
    const person = { principal: 'ola', operator: true };
    const seen: number[] = [];
    let requests = 0;
    let place: object = order === 'newest' ? {} : { after: 0 };
    for (let isOver = false; !isOver; requests += 1) {
      // Each window takes six seconds: two of them take longer than one request may.
      store.onWindow = () => clock.advance(6000);
      const reply = await run({ gateway, person, query: { limit: 10, ...place }, res: {} } as never);
      const { items, next, seq } = (reply as { body: { items: StoredLine[]; next?: string; seq: number } }).body;
      seen.push(...items.map((line) => line.seq));
      isOver = next === undefined;
      place = order === 'newest' ? { cursor: next } : { after: seq };
    }
    const all = [10_000, 20_000, 30_000, 40_000, 50_000];
    expect(seen).toEqual(order === 'newest' ? all.toReversed() : all);
    expect(requests).toBeGreaterThan(1);
    expect(clock.armed).toBe(0);
  },
);

test('G-5: a search ends when its client leaves', async () => {
  const [store, clock] = [new LargeAudit(), new TestClock()];
  const [{ run } = expect.fail('no route')] = auditRoutes;
  const gateway = { audit: { store, flush: async () => {} }, clock };
  const res = { destroyed: false };
  // The first window is that of the newest line.
  store.onWindow = () => (res.destroyed = store.windows === 3);
  const call = { gateway, person: { principal: 'ola', operator: true }, query: { limit: 10 }, res };
  expect(await run(call as never)).toBeUndefined();
  expect(store.windows).toBe(3);
  expect(clock.armed).toBe(0);
});
