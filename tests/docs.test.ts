import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { pagesWithReference } from '../scripts/docs.ts';
import { loadConfig } from '../src/config/load.ts';
import { ROOT } from './support/imports.ts';
import { defer } from './support/owned.ts';

const readme = await readFile(join(ROOT, 'README.md'), 'utf8');

test('H-11: the reference pages are up to date with tools, settings and differences (npm run docs writes them)', async () => {
  for (const { path, before, after } of await pagesWithReference()) expect(before, path).toBe(after);
});

test('the npm scripts in the README exist', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...readme.matchAll(/npm (?:run )?(start|test|demo|bench|tokens|docs|format)\b/g)].map(
    ([, name]) => name,
  );
  expect(named.length).toBeGreaterThan(1);
  for (const name of named) expect(scripts).toHaveProperty(name ?? '');
});

test.each([
  ['README.md', readme],
  ['docs/CONFIG.md', await readFile(join(ROOT, 'docs/CONFIG.md'), 'utf8')],
])('X-4: each config in %s is valid, and only one needs an environment variable', async (_page, page) => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-docs-'));
  defer(() => rm(folder, { recursive: true }));
  const configs = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);
  const [first = ''] = configs;
  expect(first).toContain('"files"');
  expect(configs.filter((text) => text.includes('${API_TOKEN}'))).toHaveLength(1);
  for (const [index, text] of configs.entries()) {
    const file = join(folder, `${index}.json`);
    await writeFile(file, text);
    const env = { HOME: folder, ...(text.includes('${API_TOKEN}') && { API_TOKEN: 'secret' }) };
    const { servers } = await loadConfig({ flags: { config: file }, env, cwd: folder });
    expect(servers.size, text).toBeGreaterThan(0);
  }
});

test('G-3, G-4: each config in docs/ANSWERS.md is valid without warnings', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-docs-'));
  defer(() => rm(folder, { recursive: true }));
  const configs = [...(await read('docs/ANSWERS.md')).matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(configs).toHaveLength(2);
  for (const text of configs) {
    const config = join(folder, 'meanwhile.json');
    await writeFile(config, text);
    const env = { HOME: folder, ANTHROPIC_API_KEY: 'secret' };
    expect(await loadConfig({ flags: { config }, env, cwd: folder })).toMatchObject({ warnings: [] });
  }
});

test('D-1: the README says what does not cross the gateway, and links to the full list', () => {
  const [, told = ''] = /^### What does not cross\n(.*?)^##/ms.exec(readme) ?? [];
  expect(told).toContain('](docs/DIRECT.md#what-does-not-cross)');
});

test('the links between the pages are valid', async () => {
  const written = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'));
  const pages = ['README.md', 'CONTRIBUTING.md', ...written.map((name) => `docs/${name}`)];
  const texts = new Map(await Promise.all(pages.map(async (page) => [page, await read(page)] as const)));
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, path = '', heading]) => ({
      page,
      target: path === '' ? page : join(dirname(page), path),
      heading,
    })),
  );
  expect(links.length).toBeGreaterThan(10);
  for (const { page, target, heading } of links) {
    const text = texts.get(target) ?? (await read(target));
    if (heading !== undefined) expect(headingsIn(text), `${page} → ${target}`).toContain(heading);
  }
});

const ABOUT_THE_CODE = ['docs/ARCHITECTURE.md', 'docs/INTERNALS.md', 'docs/DECISIONS.md'];

test.each(ABOUT_THE_CODE)('the files and folders named in %s exist', async (page) => {
  const folders = (await readdir(join(ROOT, 'src'))).filter((name) => !name.includes('.'));
  const path = new RegExp(`^(?:${folders.join('|')}|tests)/`);
  const named = inlineCode(await read(page)).filter((text) => path.test(text));
  expect(named.length).toBeGreaterThan(5);
  const missing = named.filter((text) => !existsSync(join(ROOT, text.startsWith('tests/') ? '' : 'src', text)));
  expect(missing).toEqual([]);
});

test('the journeys in docs/ARCHITECTURE.md name functions that their files contain', async () => {
  const [, journeys = ''] = /^## Three journeys\n(.*?)^## /ms.exec(await read('docs/ARCHITECTURE.md')) ?? [];
  const steps = [...journeys.matchAll(/^\| `([^`]+\.ts)` \| (.*) \|$/gm)];
  expect(steps.length).toBeGreaterThan(20);
  const missing = steps.map(async ([, file = '', what = '']) => {
    const source = await read(`src/${file}`);
    const functions = inlineCode(what).filter((text) => text.endsWith('()'));
    return functions.filter((name) => !source.includes(name.slice(0, -1))).map((name) => `${file}: ${name}`);
  });
  expect((await Promise.all(missing)).flat()).toEqual([]);
});

function inlineCode(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

async function read(page: string): Promise<string> {
  return readFile(join(ROOT, page), 'utf8');
}

/** As links name them. */
function headingsIn(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}
