import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';

const guide = await readFile(join(ROOT, 'docs/SERVER.md'), 'utf8');
const types = await readFile(join(ROOT, 'src/server/types.ts'), 'utf8');

/** The members of an interface, as they are written. */
function membersOf(name: string, text = types): string[] {
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{\\n(.*?)\\n\\}`, 's').exec(text)?.[1] ?? '';
  const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(<:]/gm)].map(([, member = '']) => member);
  expect(members.length, name).toBeGreaterThan(0);
  return members;
}

test.each([
  ['TaskServerOptions', types],
  ['TaskServer', types],
  ['ListenOptions', types],
  ['ToolDefinition', types],
  ['RunningTask', types],
  ['TaskController', types],
  ['AppTaskController', types],
])('D-1: the guide names each member of %s', (name, text) => {
  const told = new Set([...guide.matchAll(/`[^`]*`/g)].flatMap(([code]) => code.match(/\w+/g) ?? []));
  expect(membersOf(name, text).filter((member) => !told.has(member))).toEqual([]);
});

test('D-1: the programs in the guide are the examples, and the first has at most thirty lines', async () => {
  const folder = join(ROOT, 'examples/server');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const told = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(told.toSorted()).toEqual(texts.toSorted());
  expect(told[0]?.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
});
