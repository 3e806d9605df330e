import { expect, test } from 'vitest';
import { compileGlob, compilePattern, selection } from './pattern.ts';

const CASES: [pattern: string, name: string, matches: boolean][] = [
  ['', 'anything', true],
  ['ech', 'echo', true],
  ['ECHO', 'my_echo_tool', true],
  ['echo', 'eco', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['?', '', false],
  ['?', 'a', true],
  ['??', 'a', false],
  ['ask*', 'ask_twice', true],
  ['ask*', 'ask', true],
  ['ask*', 'task', false],
  ['*ask', 'ask_task', true],
  ['*ask', 'ask_tasks', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-b-b', false],
  ['a?c', 'abc', true],
  ['*.*', 'no dot', false],
  ['[a]+(b|c)', 'abc', false],
  ['(a', 'f(a)', true],
  ['*É*', 'café', true],
  [`${'a'.repeat(100)}?*z`, `${'a'.repeat(101)}…z`, true],
  [`${'a'.repeat(100)}?*z`, `${'a'.repeat(99)}…z`, false],
];

test.each(CASES)('H-8: pattern %j on %j: %j', (pattern, name, matches) => {
  expect(compilePattern(pattern)(name)).toBe(matches);
});

test('H-8: patterns with many stars are matched without backtracking', () => {
  const text = 'a'.repeat(20_000);
  expect(compilePattern('*a*a*a*a*a*a*a*a*b')(text)).toBe(false);
  expect(compilePattern(`${'*a'.repeat(100)}*b`)(text)).toBe(false);
  expect(compilePattern(`${'*a'.repeat(100)}*`)(text)).toBe(true);
});

test('X-3, H-8: matching time is linear in the length of the name', () => {
  const text = 'a'.repeat(2_000_000);
  const begun = Date.now();
  expect(compilePattern(`*${'a'.repeat(250)}b`)(text)).toBe(false);
  expect(compilePattern(`${'a'.repeat(250)}b`)(text)).toBe(false);
  expect(Date.now() - begun).toBeLessThan(5000);
});

test.each<[pattern: string, name: string, matches: boolean]>([
  ['', '', true],
  ['', 'a', false],
  ['echo', 'echo', true],
  ['Echo', 'eCHO', true],
  ['echo', 'echo2', false],
  ['echo', 'my_echo', false],
  ['get_*', 'get_', true],
  ['get_*', 'forget_it', false],
  ['*__delete_*', 'github__delete_repo', true],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['a.c', 'abc', false],
])('M-6: glob %j on %j: %j', (pattern, name, matches) => {
  expect(compileGlob(pattern)(name)).toBe(matches);
});

test('M-1, M-6: a name is selected if an include pattern, if any, matches and no exclude pattern does', () => {
  const names = ['get_user', 'get_secret', 'delete_user'];
  const selected = (patterns: Parameters<typeof selection>[0]): string[] => names.filter(selection(patterns).selects);
  expect(selected({})).toEqual(names);
  expect(selected({ include: ['get_*'] })).toEqual(['get_user', 'get_secret']);
  expect(selected({ exclude: ['*_secret', 'delete_*'] })).toEqual(['get_user']);
  expect(selected({ include: ['get_*', 'delete_*'], exclude: ['*secret'] })).toEqual(['get_user', 'delete_user']);
  expect(selected({ include: ['get_secret'], exclude: ['get_secret'] })).toEqual([]);
});

test('M-6: a selection lists the patterns that match nothing', () => {
  const { unmatched } = selection({ include: ['get_*', 'put_*'], exclude: ['delete_*', 'GET_SECRET'] });
  expect(unmatched(['get_user', 'get_secret'])).toEqual(['put_*', 'delete_*']);
  expect(unmatched([])).toEqual(['get_*', 'put_*', 'delete_*', 'GET_SECRET']);
});
