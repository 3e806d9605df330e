import { expect, test } from 'vitest';
import { loadOnce } from './load-once.ts';

test('X-4: a failed load is repeated with the next use, and a successful load happens once', async () => {
  let attempts = 0;
  const load = loadOnce(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no such file');
    return attempts;
  });
  const first = [load(), load()];
  for (const each of first) await expect(each).rejects.toThrow('no such file');
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
