import { expect, test } from 'vitest';
import { shownName, splitName } from './names.ts';

const WITH_PREFIX = { prefix: true, maxLength: 48 };
const WITHOUT = { prefix: false, maxLength: 48 };

test.each([
  ['github', 'create_issue', 'github__create_issue'],
  ['git-hub', 'a-B_1', 'git-hub__a-B_1'],
  ['a', '_b', 'a___b'],
  ['one', 'x'.repeat(43), `one__${'x'.repeat(43)}`],
])('M-2: server %s and tool %s are shown as %s, which can be split again', (server, name, shown) => {
  expect(shownName(server, name, WITH_PREFIX)).toBe(shown);
  expect(splitName(shown, WITH_PREFIX)).toEqual({ server, name });
});

test.each([
  ['one', 'x'.repeat(44)],
  ['one', 'x'.repeat(5000)],
  ['x'.repeat(64), 'tool'],
  ['my server', 'tool'],
  ['a.b', 'tool'],
  ['one', 'a.b/c d'],
  ['one', 'größe'],
  ['one', '😀'],
  ['a__b', 'c'],
  ['a_', 'b'],
  // Looks like a shortened name.
  ['one', 'tool_0123456789'],
])('M-2: server %s and tool %s are always shortened to the same valid name', (server, name) => {
  const shown = shownName(server, name, WITH_PREFIX);
  expect(shown).toMatch(/^[A-Za-z0-9_-]{1,48}$/);
  expect(shown).toMatch(/_[0-9a-f]{10}$/);
  expect(shownName(server, name, WITH_PREFIX)).toBe(shown);
  expect(splitName(shown, WITH_PREFIX)).toBeUndefined();
});

test('M-2: similar tools and servers have different names', () => {
  const servers = ['a', 'a_', 'a__', 'a b', 'a.b', 'a_b', 'a__b', 'b', '_', 'x'.repeat(47), 'x'.repeat(48)];
  const tools = ['', '_', '__', 'a', '_a', 'a__b', 'b', 'c d', 'c.d', 'c_d', 'x'.repeat(60), 'x'.repeat(61)];
  const shown = servers.flatMap((server) => tools.map((tool) => shownName(server, tool, WITH_PREFIX)));
  expect(new Set(shown).size).toBe(servers.length * tools.length);
});

test('M-2: without a prefix, valid names stay unchanged', () => {
  expect(shownName('one', 'tool', WITHOUT)).toBe('tool');
  expect(splitName('tool', WITHOUT)).toBeUndefined();
  expect(shownName('one', 'a tool', WITHOUT)).toMatch(/^a_tool_[0-9a-f]{10}$/);
  expect(shownName('one', 'a tool', WITHOUT)).not.toBe(shownName('two', 'a tool', WITHOUT));
});
