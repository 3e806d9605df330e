import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { make, type FileChange } from './changes.ts';
import { diff } from './diff.ts';
import { openValues } from './open-values.ts';

const change = (file: string, before: string | undefined, after: string | undefined): FileChange => ({
  title: 'Test',
  file,
  before,
  after,
  isOpen: () => false,
});

test('L-1: a file that another program has changed since the diff was shown is not overwritten', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'a.json');
  writeFileSync(file, 'theirs');
  expect(() => make(change(file, 'shown', 'ours'))).toThrow('another program has just changed it');
  expect(() => make(change(file, undefined, 'ours'))).toThrow('another program has just changed it');
  expect(readFileSync(file, 'utf8')).toBe('theirs');
  make(change(file, 'theirs', 'ours'));
  expect(readFileSync(file, 'utf8')).toBe('ours');
});

test('L-1: a failed write leaves no files behind', async () => {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, 'file'), 'text');
  expect(() => make(change(join(folder, 'file', 'below'), undefined, 'ours'))).toThrow(/it cannot be (read|written)/);
  expect(readdirSync(folder)).toEqual(['file']);
});

test('L-1: a diff shows the changed lines, and hides values that may not be shown', () => {
  const before =
    '{\n  "a": 1,\n  "token": "secret",\n  "key": "old",\n  "z": [\n    "secret too"\n  ],\n  "end": 1\n}\n';
  const after = before.replace('"old"', '"new"');
  expect(diff(before, after, (value) => value === 'new')).toEqual([
    '    "a": 1,',
    '    "token": "***",',
    '-   "key": "***",',
    '+   "key": "new",',
    '    "z": [',
    '      "***"',
  ]);
  expect(diff('', 'a = \'x\'\nb = "y"\n', () => true)).toEqual(["+ a = 'x'", '+ b = "y"']);
  expect(diff('', "a = 'x'\n", () => false)).toEqual(['+ a = "***"']);
});

test('L-1: a diff hides comments and the lines of multi-line strings', () => {
  const before = [
    'a = """',
    'hunter2',
    'c2VjcmV0==',
    'pass is "hunter2"',
    '"""',
    '[b."x y"] # hunter2',
    'c.d = 1.5',
    '  // { "old": "hunter2" }',
    '/* hunter2',
    '  hunter2 */',
    '"key": [true, -1e5, null], // hunter2',
  ];
  expect(diff(before.join('\n'), '', () => false)).toEqual([
    '- ***',
    '- ***',
    '- ***',
    '- ***',
    '- ***',
    '- [b."x y"] # ***',
    '- c.d = 1.5',
    '-   // ***',
    '- /* ***',
    '-   ***',
    '- "key": [true, -1e5, null], // ***',
  ]);
});

test('L-1: a diff hides passwords and keys in commands and URLs', () => {
  const entry = {
    command: 'npx',
    args: ['-y', 'server', '--passwd', 'pw1', '--pat', 'pw2', '-p', 'pw3', '--pwd=pw4', '--path', '/a', '--key', 'pw5'],
  };
  const isOpen = openValues([entry, { url: 'http://u:pw6@h/' }, { command: ['run', '--token', 'pw7'] }]);
  const shown = ['npx', '-y', 'server', '/a', 'run', '--path', '${KEY}', '${KEY:-}'];
  expect(shown.filter((value) => !isOpen(value))).toEqual([]);
  const hidden = ['pw1', 'pw2', 'pw3', '--pwd=pw4', 'pw5', 'http://u:pw6@h/', 'pw7'];
  expect(hidden.filter(isOpen)).toEqual([]);
});

test('L-1: a diff shows only the part of a long line that changes', () => {
  const [start, end] = [`{"a":[${'1,'.repeat(500)}1]`, `,"b":[${'2,'.repeat(500)}2]}`];
  const lines = diff(start + end, `${start},"meanwhile":{}${end}`, () => false);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('"meanwhile":{}');
  for (const line of lines) expect(line.length).toBeLessThan(170);
});
