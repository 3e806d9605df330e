import { expect, test } from 'vitest';
import { matchesPattern } from './pattern.ts';

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
];

test.each(CASES)('H-8: pattern %j on %j: %j', (pattern, name, matches) => {
  expect(matchesPattern(pattern, name)).toBe(matches);
});

test('H-8: a pattern that would keep a backtracking matcher busy for ever is answered', () => {
  const text = 'a'.repeat(20_000);
  expect(matchesPattern('*a*a*a*a*a*a*a*a*b', text)).toBe(false);
  expect(matchesPattern(`${'*a'.repeat(100)}*b`, text)).toBe(false);
  expect(matchesPattern(`${'*a'.repeat(100)}*`, text)).toBe(true);
});
