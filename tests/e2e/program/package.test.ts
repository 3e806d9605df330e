import { readdir, readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';

interface Manifest {
  dependencies: Record<string, string>;
  repository?: unknown;
  homepage?: unknown;
  keywords?: unknown;
}

const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const bundles = (await readdir(join(ROOT, 'dist'))).filter((file) => file.endsWith('.js'));

/** The packages that a built file imports at run time. */
async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(join(ROOT, 'dist', file), 'utf8');
  const found = text.matchAll(
    /(?:\bfrom|\bimport|\bimport\(|\b__?require\(|\bcreateRequire\(import\.meta\.url\)\()\s*["']([@\w][@\w./:-]*)["']/g,
  );
  // A package may know modules of a newer Node than this one, and load them only there.
  const isPackage = (name: string): boolean => !isBuiltin(name) && !name.startsWith('node:');
  return [...found].map(([, name = '']) => name).filter(isPackage);
}

test('X-3: the dependencies of the package are exactly the imported packages', async () => {
  const imported = new Set((await Promise.all(bundles.map(importsOf))).flat());
  expect([...imported]).toEqual(Object.keys(manifest.dependencies));
});

test('X-3: the program and the libraries share one copy of the code', async () => {
  const texts = await Promise.all(bundles.map(async (file) => readFile(join(ROOT, 'dist', file), 'utf8')));
  // A log event of the gateway, which the program and `meanwhile/server` contain, and one of its client side.
  for (const once of ['session_timeout_cleanup', 'server_reconnecting']) {
    expect(
      texts.filter((text) => text.includes(once)),
      once,
    ).toHaveLength(1);
  }
});

test.each(['client.js', 'server.js'])('C-1, D-1: %s does not import the program', async (library) => {
  const reached = new Set([library]);
  for (const file of reached) {
    const text = await readFile(join(ROOT, 'dist', file), 'utf8');
    for (const [, found = ''] of text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"\.\/([\w.-]+\.js)"/g))
      reached.add(found);
  }
  expect(reached.size).toBeGreaterThan(2);
  expect([...reached]).not.toContain('program.js');
});

test('X-3: the package contains the licenses of its bundled code', async () => {
  const text = await readFile(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['@modelcontextprotocol/server', '@clack/prompts', 'zod', 'ulid', 'eventsource-parser']) {
    expect(text).toMatch(new RegExp(`^${name} \\d.*\\(`, 'm'));
  }
  expect(text).toContain('Permission is hereby granted');
});

test('X-3: the package names its repository, homepage and keywords', () => {
  expect(manifest).toMatchObject({
    repository: { url: expect.stringContaining('meanwhile') as string },
    homepage: expect.stringMatching(/^https:/) as string,
    keywords: expect.arrayContaining(['mcp']) as string[],
  });
});
