import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readmeWithReference } from '../scripts/docs.ts';

test('H-11: the README names every tool and every setting as they are (npm run docs writes them)', async () => {
  const { before, after } = await readmeWithReference();
  expect(before).toBe(after);
});

test('the README says only what the project itself can do: its commands exist', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const { scripts } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...readme.matchAll(/npm (?:run )?(start|test|demo|bench|tokens|docs|format)\b/g)].map(
    ([, name]) => name,
  );
  expect(named.length).toBeGreaterThan(1);
  for (const name of named) expect(scripts).toHaveProperty(name ?? '');
});
