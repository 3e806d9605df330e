import { expect, test } from 'vitest';
import { InOrder } from './in-order.ts';

/** Items are handled at once, except for those whose name ends with `…`: they wait for `release`. */
function recorded() {
  const seen: string[] = [];
  const releases: (() => void)[] = [];
  const source = { pause: () => void seen.push('pause'), resume: () => void seen.push('resume') };
  const inOrder = new InOrder<string>(
    () => source,
    (item) => {
      seen.push(item);
      if (!item.endsWith('…')) return undefined;
      return new Promise((resolve) => {
        releases.push(resolve);
      });
    },
  );
  return { inOrder, seen, release: () => releases.shift()?.() };
}

test('B-1: what is handled at once never pauses the stream', () => {
  const { inOrder, seen } = recorded();
  for (const item of ['a', 'b']) inOrder.add(item);
  expect(seen).toEqual(['a', 'b']);
});

test('B-1: what arrives meanwhile is handled in order, and the stream is resumed after it', async () => {
  const { inOrder, seen, release } = recorded();
  for (const item of ['large…', 'b', 'larger…', 'd']) inOrder.add(item);
  expect(seen).toEqual(['large…', 'pause']);
  let isDone = false;
  const done = inOrder.done().then(() => {
    isDone = true;
  });
  release();
  await Promise.resolve();
  expect(seen).toEqual(['large…', 'pause', 'b', 'larger…', 'pause']);
  expect(isDone).toBe(false);
  release();
  await done;
  expect(seen.slice(-2)).toEqual(['d', 'resume']);
  inOrder.add('e');
  expect(seen.at(-1)).toBe('e');
});
