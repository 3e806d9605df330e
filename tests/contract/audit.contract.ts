/** What the audit record of every store must do. `open` gives an empty store. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditLine, CallLine, StoredLine } from '../../src/core/audit/line.ts';
import type { AuditLog, AuditQuery } from '../../src/core/ports/audit-log.ts';
import type { Store } from '../../src/core/ports/store.ts';

export interface AuditUnderTest {
  store: Store;
  /** Opens another gateway on the same data at the same time. */
  openAnother?: () => Promise<Store>;
}

export const callLine = (n: number, more: Partial<CallLine> = {}): CallLine => ({
  v: 1,
  gateway: 'g',
  n,
  at: 1000 * n,
  kind: 'call',
  event: 'ended',
  principal: 'ann',
  sessionId: 's',
  view: 'hub',
  callId: `c${n}`,
  server: 'one',
  tool: 'work',
  outcome: 'completed',
  ...more,
});

const answerLine = (n: number, principal: string, by: string): AuditLine => ({
  v: 1,
  gateway: 'g',
  n,
  at: 1000 * n,
  kind: 'answer',
  event: 'given',
  principal,
  sessionId: 's2',
  view: 'direct',
  questionId: 'q',
  asks: 'elicitation',
  server: 'two',
  outcome: 'accepted',
  answeredBy: { principal: by, via: 'console' },
});

const refusal = (n: number): AuditLine => ({
  v: 1,
  gateway: 'g',
  n,
  at: 1000 * n,
  kind: 'sign_in',
  event: 'refused',
  place: 'mcp',
  address: '10.0.0.9',
});

export function auditContract(name: string, open: () => Promise<AuditUnderTest>): void {
  describe(`audit contract: ${name}`, () => {
    let under: AuditUnderTest;
    let audit: AuditLog;

    beforeEach(async () => {
      under = await open();
      audit = await under.store.openAudit();
    });
    afterEach(async () => under.store.close());

    const read = async (query: Partial<AuditQuery> = {}): Promise<StoredLine[]> =>
      audit.read({ order: 'oldest', limit: 100, ...query });
    const numbers = async (query: Partial<AuditQuery> = {}): Promise<number[]> => (await read(query)).map(({ n }) => n);

    it('G-5: finds a few lines of a principal, tool or session among many, in both orders', async () => {
      const rare: Record<number, Partial<CallLine>> = {
        3: { tool: 'Rare' },
        12_000: { server: 'rare', principal: 'rare' },
        20_999: { sessionId: 'rare', tool: 'Rare' },
      };
      for (let first = 1; first <= 21_000; first += 3000) {
        await audit.append(Array.from({ length: 3000 }, (_, index) => callLine(first + index, rare[first + index])));
      }
      const both = async (query: Partial<AuditQuery>): Promise<number[][]> => [
        await numbers({ ...query, order: 'oldest' }),
        await numbers({ ...query, order: 'newest' }),
      ];
      expect(await both({ tool: 'Rare' })).toEqual([
        [3, 20_999],
        [20_999, 3],
      ]);
      expect(await both({ text: 'RARE' })).toEqual([
        [3, 12_000, 20_999],
        [20_999, 12_000, 3],
      ]);
      expect(await numbers({ principal: 'rare' })).toEqual([12_000]);
      expect(await numbers({ server: 'rare' })).toEqual([12_000]);
      expect(await numbers({ sessionId: 'rare' })).toEqual([20_999]);
      expect(await numbers({ sessionId: 'none' })).toEqual([]);
      const [first] = await read({ tool: 'Rare', limit: 1 });
      expect(await numbers({ tool: 'Rare', after: first?.seq ?? 0 })).toEqual([20_999]);
      expect(await numbers({ order: 'newest', limit: 2, after: first?.seq ?? 0 })).toEqual([2, 1]);
    }, 60_000);

    it('G-5: starts empty and returns the written lines in order', async () => {
      expect(await read()).toEqual([]);
      expect(await read({ order: 'newest' })).toEqual([]);
      const odd = callLine(2, { tool: 'a\0b\u{D800}', content: { big: [1, 'ü', null] }, reason: '"quoted"\n' });
      await audit.append([callLine(1), odd]);
      await audit.append([refusal(3)]);
      await audit.append([]);
      const found = await read();
      expect(found).toEqual([
        { ...callLine(1), seq: expect.any(Number) },
        { ...odd, seq: expect.any(Number) },
        { ...refusal(3), seq: expect.any(Number) },
      ]);
      const seqs = found.map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
      expect(new Set(seqs).size).toBe(3);
      expect(await numbers({ order: 'newest' })).toEqual([3, 2, 1]);
      expect(await numbers({ tool: 'a\0b\u{D800}' })).toEqual([2]);
    });

    it('G-5: ignores a line that is written again', async () => {
      await audit.append([callLine(1), callLine(2)]);
      await audit.append([callLine(2, { outcome: 'failed' }), callLine(3)]);
      expect(await read()).toMatchObject([{ n: 1 }, { n: 2, outcome: 'completed' }, { n: 3 }]);
      await audit.append([callLine(1, { gateway: 'other' })]);
      expect(await numbers()).toEqual([1, 2, 3, 1]);
    });

    it('G-5: returns every line once in pages, in both orders', async () => {
      await audit.append(Array.from({ length: 25 }, (_, index) => callLine(index + 1)));
      for (const order of ['oldest', 'newest'] as const) {
        const seen: number[] = [];
        let after: number | undefined;
        for (;;) {
          const page = await read({ order, limit: 7, ...(after !== undefined && { after }) });
          if (page.length === 0) break;
          seen.push(...page.map(({ n }) => n));
          after = page.at(-1)?.seq;
        }
        const all = Array.from({ length: 25 }, (_, index) => index + 1);
        expect(seen).toEqual(order === 'oldest' ? all : all.toReversed());
      }
    });

    it('G-5: filters by kind, principal, server, tool, session, time and text', async () => {
      await audit.append([
        callLine(1),
        callLine(2, { principal: 'bob', tool: 'delete_file', contentHash: 'sha256:ABCDEF', program: 'Editor' }),
        answerLine(3, 'bob', 'ann'),
        refusal(4),
        callLine(5, { principal: 'cid', program: 'Éditeur "X"', sessionId: 's5' }),
      ]);
      expect(await numbers({ kinds: ['call'] })).toEqual([1, 2, 5]);
      expect(await numbers({ kinds: ['answer', 'sign_in'] })).toEqual([3, 4]);
      expect(await numbers({ owner: 'bob' })).toEqual([2, 3]);
      expect(await numbers({ principal: 'ann' })).toEqual([1, 3]);
      expect(await numbers({ owner: 'bob', principal: 'ann' })).toEqual([3]);
      expect(await numbers({ server: 'two' })).toEqual([3]);
      expect(await numbers({ tool: 'delete_file' })).toEqual([2]);
      expect(await numbers({ sessionId: 's' })).toEqual([1, 2]);
      expect(await numbers({ from: 2000, to: 4000 })).toEqual([2, 3]);
      expect(await numbers({ text: 'EDITOR' })).toEqual([2]);
      expect(await numbers({ text: 'abcdef' })).toEqual([2]);
      expect(await numbers({ text: '10.0.0.9' })).toEqual([4]);
      expect(await numbers({ text: 'ÉDITEUR "x"' })).toEqual([5]);
      expect(await numbers({ text: '%' })).toEqual([]);
      expect(await numbers({ kinds: ['call'], text: 'delete', limit: 1 })).toEqual([2]);
    });

    it('G-5: deletes lines by age, and the oldest lines above the size limit', async () => {
      const lines = Array.from({ length: 1200 }, (_, index) => callLine(index + 1, { reason: 'x'.repeat(200) }));
      await audit.append(lines);
      await audit.trim(101_000, Number.MAX_SAFE_INTEGER);
      expect(await numbers({ limit: 1 })).toEqual([101]);
      await audit.trim(0, 100_000);
      const left = await numbers({ limit: 2000 });
      expect(left.at(-1)).toBe(1200);
      expect(left.length).toBeGreaterThan(50);
      expect(left.length).toBeLessThan(400);
      await audit.trim(0, 100_000);
      expect(await numbers({ limit: 2000 })).toEqual(left);
      await audit.trim(Infinity, 0);
      expect(await read()).toEqual([]);
      // Numbers are not used again.
      await audit.append([callLine(1201)]);
      expect(await numbers({ after: 0 })).toEqual([1201]);
    });

    it('G-5: deletes old lines even if a wrong clock has written lines from the future', async () => {
      const future = Array.from({ length: 1100 }, (_, index) => callLine(index + 2, { at: 9_000_000_000 }));
      const old = Array.from({ length: 1100 }, (_, index) => callLine(index + 1102));
      await audit.append([callLine(1), ...future, ...old, callLine(3000)]);
      await audit.trim(3_000_000, Number.MAX_SAFE_INTEGER);
      const left = await numbers({ limit: 3000 });
      expect([left.length, left[0], left.at(-2), left.at(-1)]).toEqual([1101, 2, 1101, 3000]);
      // What they took is counted as free.
      await audit.trim(0, 1100 * 1000);
      expect(await numbers({ limit: 3000 })).toEqual(left);
    });

    it('G-5: loses no lines of concurrent gateways, and a following reader misses no lines', async ({ skip }) => {
      if (under.openAnother === undefined) return skip('for stores that another gateway can open');
      const another = await under.openAnother();
      try {
        const other = await another.openAudit();
        const seen: string[] = [];
        let after = 0;
        let writing = true;
        const follow = async (): Promise<void> => {
          for (let last = false; !last;) {
            last = !writing;
            const page = await other.read({ order: 'oldest', after, limit: 50 });
            seen.push(...page.map(({ gateway, n }) => `${gateway}${n}`));
            after = page.at(-1)?.seq ?? after;
            if (page.length === 50) last = false;
          }
        };
        const write = async (log: AuditLog, gateway: string): Promise<void> => {
          for (let n = 1; n <= 60; n += 3)
            await log.append([n, n + 1, n + 2].map((each) => callLine(each, { gateway })));
        };
        const following = follow();
        await Promise.all([write(audit, 'a'), write(other, 'b')]);
        writing = false;
        await following;
        const expected = ['a', 'b'].flatMap((gateway) =>
          Array.from({ length: 60 }, (_, index) => `${gateway}${index + 1}`),
        );
        expect(seen.toSorted()).toEqual(expected.toSorted());
      } finally {
        await another.close();
      }
    });
  });
}
