import { expect, test, vi } from 'vitest';
import { Collection } from './collection.ts';

interface Item {
  id: string;
  seq: number;
  status: string;
  progress?: number;
  result?: string;
}

const collection = (): Collection<Item> => new Collection<Item>(({ id }) => id, ['result']);

test('W-6: the newer version of an item wins, regardless of the order of arrival', () => {
  const items = collection();
  items.put({ id: 'a', seq: 5, status: 'ended' });
  items.put({ id: 'a', seq: 4, status: 'running' });
  expect(items.get('a')).toEqual({ id: 'a', seq: 5, status: 'ended' });
});

test('W-6: an update without details keeps the details, and no other fields', () => {
  const items = collection();
  items.put({ id: 'a', seq: 1, status: 'running', progress: 3, result: 'so far' });
  items.put({ id: 'a', seq: 2, status: 'ended' });
  expect(items.get('a')).toEqual({ id: 'a', seq: 2, status: 'ended', result: 'so far' });
});

test('W-6: a complete list removes missing items, and several changes notify watchers once', async () => {
  const items = collection();
  const listener = vi.fn();
  items.watch(listener);
  items.putAll([
    { id: 'a', seq: 1, status: 'x' },
    { id: 'b', seq: 2, status: 'x' },
  ]);
  items.replaceAll([{ id: 'b', seq: 3, status: 'y' }]);
  expect(items.all().map(({ id }) => id)).toEqual(['b']);
  await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(1));
});
