import { expect, test } from 'vitest';
import { compilePattern } from './pattern.ts';

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

test('H-8: a pattern that would keep a backtracking matcher busy for ever is answered', () => {
  const text = 'a'.repeat(20_000);
  expect(compilePattern('*a*a*a*a*a*a*a*a*b')(text)).toBe(false);
  expect(compilePattern(`${'*a'.repeat(100)}*b`)(text)).toBe(false);
  expect(compilePattern(`${'*a'.repeat(100)}*`)(text)).toBe(true);
});

test('X-3, H-8: the time is linear in the length of the name', () => {
  const text = 'a'.repeat(2_000_000);
  const begun = Date.now();
  expect(compilePattern(`*${'a'.repeat(250)}b`)(text)).toBe(false);
  expect(compilePattern(`${'a'.repeat(250)}b`)(text)).toBe(false);
  expect(Date.now() - begun).toBeLessThan(5000);
});
