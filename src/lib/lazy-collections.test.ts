import { expect, test } from 'vitest';
import { LazyMap, LazySet } from './lazy-collections.ts';

test('a lazy map behaves like a Map', () => {
  const [lazy, map] = [new LazyMap<string, number>(), new Map<string, number>()];
  const same = (): void => {
    expect([...lazy]).toEqual([...map]);
    expect([...lazy.keys()]).toEqual([...map.keys()]);
    expect([...lazy.values()]).toEqual([...map.values()]);
    expect(lazy.size).toBe(map.size);
    for (const key of ['a', 'b']) expect([lazy.has(key), lazy.get(key)]).toEqual([map.has(key), map.get(key)]);
  };
  same();
  for (const each of [lazy, map]) each.set('b', 1).set('a', 2).set('b', 3);
  same();
  for (const key of ['c', 'b', 'a', 'a']) {
    expect(lazy.delete(key)).toBe(map.delete(key));
    same();
  }
  for (const each of [lazy, map]) each.set('a', 4).clear();
  same();
  for (const each of [lazy, map]) each.set('a', 5);
  same();
});

test('a lazy set behaves like a Set', () => {
  const [lazy, set] = [new LazySet<string>(), new Set<string>()];
  const same = (): void => {
    expect([...lazy]).toEqual([...set]);
    expect([lazy.size, lazy.has('a'), lazy.has('b')]).toEqual([set.size, set.has('a'), set.has('b')]);
  };
  same();
  for (const each of [lazy, set]) each.add('b').add('a').add('b');
  same();
  for (const value of ['c', 'b', 'a', 'a']) {
    expect(lazy.delete(value)).toBe(set.delete(value));
    same();
  }
  for (const each of [lazy, set]) each.add('a').clear();
  same();
});

test('entries may remove themselves during an iteration', () => {
  const lazy = new LazySet<string>().add('a').add('b').add('c');
  const seen: string[] = [];
  for (const each of lazy) {
    seen.push(each);
    lazy.delete(each);
  }
  expect([seen, lazy.size]).toEqual([['a', 'b', 'c'], 0]);
});
