import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { InOrder } from './in-order.ts';
import { MessageLimit } from './message-size.ts';
import { PendingWork } from './pending-work.ts';

/** Records the items; one whose name ends with `…` takes until `release`, and `fail` and `fail…` fail. */
function recorded() {
  const seen: string[] = [];
  const releases: (() => void)[] = [];
  const source = { pause: () => void seen.push('pause'), resume: () => void seen.push('resume') };
  const parsing = new PendingWork();
  const onError = (error: Error): void => void seen.push(error.message);
  const inOrder = new InOrder(source, { limit: new MessageLimit(), parsing, onError });
  const add = (item: string, length = item.length, text?: object): void =>
    inOrder.add(length, () => {
      // Held by the work, as that of a message holds its text.
      void text;
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
  return { add, seen, release, parsing };
}

const LONG = 100_000;

test('B-1: items that take no time never pause the stream', () => {
  const { add, seen } = recorded();
  for (const item of ['a', 'b']) add(item, LONG);
  expect(seen).toEqual(['a', 'b']);
});

test('B-1: items that arrive during a slow one are handled after it', async () => {
  const { add, seen, release, parsing } = recorded();
  for (const item of ['large…', 'b', 'larger…', 'd']) add(item);
  expect(seen).toEqual(['large…']);
  let isDone = false;
  const done = parsing.done().then(() => {
    isDone = true;
  });
  await release();
  expect(seen).toEqual(['large…', 'b', 'larger…']);
  expect(isDone).toBe(false);
  await release();
  await done;
  expect(seen.at(-1)).toBe('d');
  add('e');
  expect(seen.at(-1)).toBe('e');
});

test('B-1, X-3: a stream of which much waits is paused until less of it does', async () => {
  const { add, seen, release } = recorded();
  add('large…', LONG);
  add('small');
  expect(seen).toEqual(['large…']);
  add('larger…', LONG);
  add('long', LONG);
  expect(seen).toEqual(['large…', 'pause', 'pause']);
  await release();
  expect(seen.slice(3)).toEqual(['small', 'larger…']);
  await release();
  expect(seen.slice(5)).toEqual(['long', 'resume']);
});

test('X-3: many small items pause the stream, too', () => {
  const { add, seen } = recorded();
  add('large…');
  for (let left = 1000; left > 0; left -= 1) add('', 0);
  expect(seen).toContain('pause');
});

test('X-3: an item is not kept once it has been handled, even if there are always others', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { add, release } = recorded();
  const texts: WeakRef<object>[] = [];
  for (let count = 0; count < 5; count += 1) {
    const text = {};
    texts.push(new WeakRef(text));
    add('large…', LONG, text);
    if (count > 0) await release();
  }
  collect();
  expect(texts.map((text) => text.deref() !== undefined)).toEqual([false, false, false, false, true]);
});

test('B-1: an item that another one adds is handled after those that wait', async () => {
  const { add, seen, release } = recorded();
  for (const item of ['large…', 'adds', 'c']) add(item);
  await release();
  expect(seen).toEqual(['large…', 'adds', 'c', 'added']);
});

test('X-4: errors are reported, and the items after them are handled', async () => {
  const { add, seen, release } = recorded();
  for (const item of ['fail', 'fail…', 'fail', 'd']) add(item);
  await release();
  expect(seen).toEqual(['fail', 'failed', 'fail…', 'failed later', 'fail', 'failed', 'd']);
});
