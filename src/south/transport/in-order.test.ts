import { expect, test } from 'vitest';
import { InOrder } from './in-order.ts';
import { PendingWork } from './pending-work.ts';

/** Records the items; one whose name ends with `…` takes until `release`, and `fail` and `fail…` fail. */
function recorded() {
  const seen: string[] = [];
  const releases: (() => void)[] = [];
  const source = { pause: () => void seen.push('pause'), resume: () => void seen.push('resume') };
  const pending = new PendingWork();
  const inOrder = new InOrder(source, pending, (error) => void seen.push(error.message));
  const add = (item: string): void =>
    inOrder.add(() => {
      seen.push(item);
      if (item === 'fail') throw new Error('failed');
      if (item === 'adds') add('added');
      if (!item.endsWith('…')) return undefined;
      return new Promise((resolve, reject) => {
        releases.push(() => (item === 'fail…' ? reject(new Error('failed later')) : resolve()));
      });
    });
  const release = async (): Promise<void> => {
    releases.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { add, seen, release, pending };
}

test('B-1: items that take no time never pause the stream', () => {
  const { add, seen } = recorded();
  for (const item of ['a', 'b']) add(item);
  expect(seen).toEqual(['a', 'b']);
});

test('B-1: items that arrive during a slow one are handled after it, and then the stream is resumed', async () => {
  const { add, seen, release, pending } = recorded();
  for (const item of ['large…', 'b', 'larger…', 'd']) add(item);
  expect(seen).toEqual(['large…', 'pause']);
  let isDone = false;
  const done = pending.done().then(() => {
    isDone = true;
  });
  await release();
  expect(seen).toEqual(['large…', 'pause', 'b', 'larger…', 'pause']);
  expect(isDone).toBe(false);
  await release();
  await done;
  expect(seen.slice(-2)).toEqual(['d', 'resume']);
  add('e');
  expect(seen.at(-1)).toBe('e');
});

test('B-1: an item that another one adds is handled after those that wait', async () => {
  const { add, seen, release } = recorded();
  for (const item of ['large…', 'adds', 'c']) add(item);
  await release();
  expect(seen).toEqual(['large…', 'pause', 'adds', 'c', 'added', 'resume']);
});

test('X-4: errors are reported, and the items after them are handled', async () => {
  const { add, seen, release } = recorded();
  for (const item of ['fail', 'fail…', 'fail', 'd']) add(item);
  await release();
  expect(seen).toEqual(['fail', 'failed', 'fail…', 'pause', 'failed later', 'fail', 'failed', 'd', 'resume']);
});
