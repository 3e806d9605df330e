import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { make, type Change } from './changes.ts';
import { diff } from './diff.ts';

const change = (file: string, before: string | undefined, after: string | undefined): Change => ({
  title: 'Test',
  file,
  before,
  after,
  isOpen: () => false,
});

test('L-1: a file that another program has changed since it was shown is left alone', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'a.json');
  writeFileSync(file, 'theirs');
  expect(() => make(change(file, 'shown', 'ours'))).toThrow('it was changed by another program just now');
  expect(() => make(change(file, undefined, 'ours'))).toThrow('it was changed by another program just now');
  expect(readFileSync(file, 'utf8')).toBe('theirs');
  make(change(file, 'theirs', 'ours'));
  expect(readFileSync(file, 'utf8')).toBe('ours');
});

test('L-1: a write that fails leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, 'file'), 'text');
  expect(() => make(change(join(folder, 'file', 'below'), undefined, 'ours'))).toThrow(/it cannot be (read|written)/);
  expect(readdirSync(folder)).toEqual(['file']);
});

test('L-1: a diff shows what changes, with values only where they may be shown', () => {
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

test('L-1: of a long line the diff shows the part that changes', () => {
  const [start, end] = [`{"a":[${'1,'.repeat(500)}1]`, `,"b":[${'2,'.repeat(500)}2]}`];
  const lines = diff(start + end, `${start},"meanwhile":{}${end}`, () => false);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('"meanwhile":{}');
  for (const line of lines) expect(line.length).toBeLessThan(170);
});
