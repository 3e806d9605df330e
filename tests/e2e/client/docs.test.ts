import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TaskClient, type FailureKind } from '../../../src/client/index.ts';
import { ROOT } from '../../support/imports.ts';
import { EVENT_NAMES } from './clients.ts';

const guide = await readFile(join(ROOT, 'docs/CLIENT.md'), 'utf8');

/** The cells of the table whose first heading is this one, row by row. */
function table(heading: string): string[][] {
  const lines = guide.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  expect(start, heading).toBeGreaterThan(0);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

/** The types of the events, as they are written. */
async function eventTypes(): Promise<string[][]> {
  const text = await readFile(join(ROOT, 'src/client/types.ts'), 'utf8');
  const body = /export interface TaskClientEvents \{\n(.*?)\n\}/s.exec(text)?.[1] ?? '';
  return [...body.matchAll(/^ {2}(\w+): (.+);$/gm)].map(([, name = '', type = '']) => [name, type]);
}

test('C-1: the guide lists each event with its detail type', async () => {
  const told = table('event').map(([name, type]) => [name, type].map((cell) => cell?.replaceAll('`', '')));
  expect(told).toEqual(await eventTypes());
  expect(told.map(([name]) => name)).toEqual(EVENT_NAMES);
});

test('C-1: the guide lists each kind of error', () => {
  const kinds: Record<FailureKind, true> = {
    error: true,
    unreachable: true,
    lost: true,
    cancelled: true,
    refused: true,
  };
  expect(table('kind').map(([kind]) => kind)).toEqual(Object.keys(kinds).map((kind) => `\`${kind}\``));
});

test('C-1: the guide names each method of the client', () => {
  const methods = Object.getOwnPropertyNames(TaskClient.prototype).filter((name) => name !== 'constructor');
  expect(methods.length).toBeGreaterThan(15);
  expect(methods.filter((name) => !guide.includes(`\`${name}`))).toEqual([]);
});

test('C-1: the programs in the guide are the examples', async () => {
  const folder = join(ROOT, 'examples/client');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const told = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(told.toSorted()).toEqual(texts.toSorted());
});
