import { expect, test } from 'vitest';
import { callLine } from '../../../tests/contract/audit.contract.ts';
import { readInWindows } from './windows.ts';

test.each(['newest', 'oldest'] as const)(
  'G-5: an unreadable line does not hide other lines (%s first)',
  async (order) => {
    const seqs = Array.from({ length: 20 }, (_, index) => index + 1);
    const unreadable: number[] = [];
    const read = async (after?: number): Promise<number[]> => {
      const lines = await readInWindows(
        { order, limit: 5, ...(after !== undefined && { after }) },
        {
          range: async () => ({ oldest: 1, newest: 20 }),
          rows: async ({ above = 0, below = Infinity }, limit) =>
            (order === 'newest' ? seqs.toReversed() : seqs)
              .filter((seq) => seq > above && seq < below)
              .slice(0, limit)
              .map((seq) => ({ seq, data: seq % 7 === 3 ? '{' : JSON.stringify(callLine(seq)) })),
          onUnreadable: (seq) => unreadable.push(seq),
          next: (size) => size,
        },
      );
      return lines.map(({ seq }) => seq);
    };
    const seen: number[] = [];
    for (let page = await read(); page.length > 0; page = await read(page.at(-1))) seen.push(...page);
    expect(seen.toSorted((a, b) => a - b)).toEqual(seqs.filter((seq) => seq % 7 !== 3));
    expect(new Set(unreadable)).toEqual(new Set([3, 10, 17]));
  },
);
