import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { thisMachine } from './machine.ts';
import { LinkRecords } from './records.ts';

async function newRecords() {
  const home = await temporaryFolder();
  const folder = join(home, '.local/share/meanwhile');
  mkdirSync(folder, { recursive: true });
  const records = new LinkRecords({ ...thisMachine(), home, env: {}, platform: 'linux' });
  return { records, folder, list: join(folder, 'links.json') };
}

test('L-1: a link of an unknown client stays in the list and does not hide other links', async () => {
  const { records, list } = await newRecords();
  const unknown = { client: 'later', file: '/l', backup: null };
  const known = { client: 'cursor' as const, file: '/c', backup: null };
  writeFileSync(list, JSON.stringify({ links: [unknown, known] }));
  expect(records.all()).toEqual([known]);
  records.drop(known, false);
  expect(JSON.parse(readFileSync(list, 'utf8'))).toEqual({ links: [unknown] });
});

test('L-1: a damaged list of linked clients is reported and not overwritten', async () => {
  const { records, list } = await newRecords();
  writeFileSync(list, '{"links": [');
  expect(() => records.all()).toThrow(`${list}, the list of linked clients, is damaged; remove it`);
  expect(() => {
    records.save({ client: 'cursor', file: '/c', backup: null });
  }).toThrow('damaged');
  expect(readFileSync(list, 'utf8')).toBe('{"links": [');
});

test('L-1: the newest backups of a file are kept, and the one that unlink needs', async () => {
  const { records, folder } = await newRecords();
  const backups = join(folder, 'backups');
  mkdirSync(backups);
  const old = Array.from({ length: 8 }, (_, index) => `cursor-2025-01-0${index + 1}T00-00-00-000Z-mcp.json`);
  for (const name of [...old, 'zed-2025-01-01T00-00-00-000Z-mcp.json']) writeFileSync(join(backups, name), '');
  records.save({ client: 'cursor', file: '/c', backup: join(backups, old[0] ?? '') });
  const newest = records.backUp('cursor', '/x/mcp.json', 'text');
  const left = readdirSync(backups).toSorted();
  expect(left.filter((name) => name.startsWith('cursor'))).toEqual([
    old[0],
    ...old.slice(-4),
    newest.slice(backups.length + 1),
  ]);
  expect(left).toHaveLength(7);
});
