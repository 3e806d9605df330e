import { expect, test } from 'vitest';
import type { NamePatterns } from '../lib/pattern.ts';
import { ToolFilter } from './tool-filter.ts';

function filter(patterns: NamePatterns) {
  const unmatched: string[] = [];
  return { filter: new ToolFilter(patterns, (pattern) => unmatched.push(pattern)), unmatched };
}

const page = (names: unknown[], nextCursor?: string) => ({
  tools: names.map((name) => ({ name, title: 'kept' })),
  ...(nextCursor !== undefined && { nextCursor }),
  _meta: { kept: true },
});

test('M-6: lists contain only the selected tools, unchanged', () => {
  const { filter: hidden } = filter({ include: ['get_*'], exclude: ['*_secret'] });
  expect(hidden.shownOf(page(['get_user', 'get_secret', 'put_user'], 'c'), {})).toEqual(page(['get_user'], 'c'));
  const odd = { tools: ['get_x', null, {}, { name: 5 }, { name: ['get_user'] }] };
  expect(hidden.shownOf(odd, {})).toEqual({ tools: [] });
  expect(hidden.shownOf({ tools: 'none' }, {})).toEqual({ tools: 'none' });
});

test.each([
  ['get_secret'],
  ['GET_SECRET'],
  ['put'],
  [''],
  [['get_user']],
  [{ toString: 'get_user' }],
  [undefined],
  [5],
])('M-6: a call of %j is refused like a call of an unknown tool', (name) => {
  const { filter: hidden } = filter({ include: ['get_*'], exclude: ['*_secret'] });
  expect(() => hidden.assertShown({ name })).toThrow(expect.objectContaining({ code: -32602 }));
  expect(() => hidden.assertShown({ name: 'get_user' })).not.toThrow();
});

test('M-6: a pattern that matches no tool is reported after the whole list was read', () => {
  const { filter: hidden, unmatched } = filter({ include: ['a', 'b', 'x*'], exclude: ['c', 'y*'] });
  hidden.shownOf(page(['a'], 'two'), {});
  hidden.shownOf(page(['b'], 'three'), { cursor: 'two' });
  // A page that another reader asked for.
  hidden.shownOf(page(['x1']), { cursor: 'other' });
  expect(unmatched).toEqual([]);
  hidden.shownOf(page(['c']), { cursor: 'three' });
  expect(unmatched).toEqual(['x*', 'y*']);
  hidden.shownOf(page(['a', 'b', 'c', 'x', 'y']), {});
  expect(unmatched).toEqual(['x*', 'y*']);
});
