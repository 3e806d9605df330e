import { expect, test } from 'vitest';
import { Collection } from './collection.ts';
import { forgetOldest } from './forget.ts';

interface Item {
  id: string;
  endedAt?: number;
}

const rule = { keep: 10, endedAt: ({ endedAt }: Item): number | undefined => endedAt };

function filled(count: number, endedAt: (index: number) => number | undefined): Collection<Item> {
  const items = new Collection<Item>(({ id }) => id);
  for (let index = 0; index < count; index += 1) {
    const at = endedAt(index);
    items.put({ id: String(index), ...(at !== undefined && { endedAt: at }) });
  }
  return items;
}

test('W-6: the items that ended first are removed', () => {
  const items = filled(13, (index) => 100 - index);
  forgetOldest(items, rule);
  expect(items.all().map(({ id }) => id)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
});

test('W-6: items that have not ended are kept, even above the limit', () => {
  const items = filled(20, (index) => (index < 3 ? index : undefined));
  forgetOldest(items, rule);
  expect(items.size).toBe(17);
});
