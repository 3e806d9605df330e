import { expect, test } from 'vitest';
import { readAll } from './running.ts';

test('W-3: all pages of running calls are read', async () => {
  const pages: Record<string, { items: number[]; next?: string }> = {
    first: { items: [1, 2], next: 'second' },
    second: { items: [3], next: 'third' },
    third: { items: [4] },
  };
  expect(await readAll(async (cursor = 'first') => pages[cursor] ?? { items: [] })).toEqual([1, 2, 3, 4]);
});
