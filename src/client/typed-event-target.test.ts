import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { typedEventTarget } from './typed-event-target.ts';

const Target = typedEventTarget<{ one: undefined; other: undefined }>();

test('C-2: listeners are removed when their signal is aborted, also after a garbage collection', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const target = new Target();
  const over = new AbortController();
  const seen: string[] = [];
  const tell = (): void => {
    for (const type of ['one', 'other'] as const) target.dispatchEvent(new Event(type));
  };
  for (const type of ['one', 'other'] as const)
    target.addEventListener(type, () => seen.push(type), { signal: over.signal });
  target.addEventListener('one', () => seen.push('always'));
  // Weak references are kept until the end of the turn.
  await delay(0);
  collect();
  tell();
  expect(seen.splice(0)).toEqual(['one', 'always', 'other']);
  over.abort();
  tell();
  expect(seen.splice(0)).toEqual(['always']);
  target.addEventListener('other', () => seen.push('late'), { signal: over.signal });
  target.addEventListener('other', () => seen.push('once'), { signal: new AbortController().signal, once: true });
  for (let times = 2; times > 0; times -= 1) tell();
  expect(seen).toEqual(['always', 'once', 'always']);
});
