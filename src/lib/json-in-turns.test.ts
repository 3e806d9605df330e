import { expect, test } from 'vitest';
import { exactNumber, parseExact, stringifyExact } from './exact-json.ts';
import { parseInTurns, stringifyInTurns } from './json-in-turns.ts';

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

test.each(values)('M-7, X-3: %s is parsed in several turns as in one', async (_what, value) => {
  const text = stringifyExact(value);
  for (const piece of [16, 17, 50, 1000]) expect(await parseInTurns(text, {}, piece)).toEqual(parseExact(text));
});

test('M-7, X-3: rows of digits inside texts stay texts when they are parsed in several turns', async () => {
  const value = { text: '9007199254740993', list: Array.from({ length: 9 }, () => `\\"${'1'.repeat(30)}"`) };
  for (const piece of [16, 17, 50, 1000]) expect(await parseInTurns(JSON.stringify(value), {}, piece)).toEqual(value);
});

test.each(['{"a":', `{"a":${'1'.repeat(20)}`, ''])(
  'X-4: %j is refused when it is parsed in several turns',
  async (text) => {
    await expect(parseInTurns(text, {})).rejects.toThrow(SyntaxError);
  },
);

test.each<[string, () => Promise<unknown>, number]>([
  ['is written', async () => stringifyInTurns({ text: 'x'.repeat(1000) }, 100), 5],
  ['is parsed', async () => parseInTurns('{"text":"x"}', {}), 2],
  ['with large numbers is parsed', async () => parseInTurns(`[${`${'9'.repeat(20)},`.repeat(10)}0]`, {}, 50), 7],
  ['is parsed beside another one', async () => Promise.all([parseInTurns('{}', {}), parseInTurns('{}', {})]), 4],
  ['with digits in a text is parsed', async () => parseInTurns(`[${'"x",'.repeat(50)}"${'9'.repeat(20)}"]`, {}, 50), 6],
])('X-3: other work runs while a large value %s', async (_what, work, least) => {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  count();
  await work();
  done = true;
  // The first count is made before any turn.
  expect(turns - 1).toBeGreaterThanOrEqual(least);
});

test('X-3: texts of several sources are parsed in turn, and those of each source in order', async () => {
  const [one, other] = [{}, {}];
  const seen: unknown[] = [];
  const parse = async (text: string, source: object): Promise<void> => {
    seen.push(await parseInTurns(text, source).catch(() => 'refused'));
  };
  await Promise.all([parse('11', one), parse('1 2', one), parse('13', one), parse('21', other), parse('22', other)]);
  expect(seen).toEqual([11, 21, 'refused', 22, 13]);
});
