import { expect, test } from 'vitest';
import { exactNumber, stringifyExact } from './exact-json.ts';
import { stringifyInTurns } from './json-in-turns.ts';

const values: [string, object][] = [
  ['an empty object', {}],
  ['an empty list', []],
  ['a long text', { text: 'a "quoted" line\n'.repeat(20) }],
  ['surrogate pairs', { text: '🎉'.repeat(50), shifted: `x${'🎉'.repeat(50)}` }],
  ['a lone surrogate', { text: `${'x'.repeat(15)}\uD83C${'y'.repeat(40)}` }],
  ['many small entries', { list: Array.from({ length: 40 }, (_, index) => ({ index, name: `n${index}` })) }],
  ['many keys', Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`key "${index}"`, index / 3]))],
  ['long texts in lists in objects', { a: [['x'.repeat(40), 1, 'y'.repeat(40)], { b: 'z'.repeat(40), c: null }] }],
  ['undefined', { a: undefined, b: [undefined, 'x'.repeat(40)], c: 'y'.repeat(40) }],
  ['the key __proto__', JSON.parse(`{"__proto__":{"a":1},"b":"${'x'.repeat(60)}"}`) as object],
  [
    'large numbers',
    { n: exactNumber('9007199254740993'), list: Array.from({ length: 9 }, () => exactNumber('1'.repeat(30))) },
  ],
];

test.each(values)('M-7, X-3: %s is written in several turns as in one', async (_what, value) => {
  for (const piece of [16, 17, 50, 1000]) expect(await stringifyInTurns(value, piece)).toBe(stringifyExact(value));
});

test('X-3: other work runs while a large value is written', async () => {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  count();
  await stringifyInTurns({ text: 'x'.repeat(1000) }, 100);
  done = true;
  expect(turns).toBeGreaterThan(5);
});
