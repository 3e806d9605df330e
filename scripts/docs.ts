/** Writes the generated tables of the pages in docs/. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { settingsReference } from './settings-reference.ts';
import { DIFFERENCES } from '../tests/e2e/direct/same/differences.ts';
import { openApi } from '../src/north/console/api/openapi.ts';
import { ROUTES } from '../src/north/console/api/routes.ts';
import { HUB_TOOLS } from '../src/north/hub/tools/all.ts';
import { matrixTable } from './matrix.ts';

const PARTS = {
  tools: toolTable,
  settings: settingTable,
  matrix: matrixTable,
  differences: differenceTable,
  routes: routeTable,
};

const OPENAPI = 'docs/openapi.json';

/** What each page has of them. */
const PAGES: Record<string, readonly (keyof typeof PARTS)[]> = {
  'docs/TOOLS.md': ['tools'],
  'docs/CONFIG.md': ['settings'],
  'docs/DIRECT.md': ['matrix', 'differences'],
  'docs/API.md': ['routes'],
};

interface Page {
  path: string;
  before: string;
  after: string;
}

export async function pagesWithReference(): Promise<Page[]> {
  const pages = Object.entries(PAGES).map(async ([path, parts]) => {
    const before = await readFile(place(path), 'utf8');
    return { path, before, after: parts.reduce((text, name) => fill(path, text, name), before) };
  });
  return Promise.all([...pages, openApiPage()]);
}

async function openApiPage(): Promise<Page> {
  const before = await readFile(place(OPENAPI), 'utf8').catch(() => '');
  return { path: OPENAPI, before, after: `${JSON.stringify(openApi(), null, 2)}\n` };
}

function place(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

function fill(path: string, text: string, name: keyof typeof PARTS): string {
  const pattern = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
  if (!pattern.test(text)) throw new Error(`${path} has no place for '${name}'`);
  return text.replace(pattern, (_all, start: string, end: string) => `${start}${PARTS[name]()}\n${end}`);
}

function toolTable(): string {
  const rows = HUB_TOOLS.map(({ name, description, input }) => {
    const schema = z.toJSONSchema(input, { io: 'input' });
    const required = new Set(schema.required ?? []);
    const parameters = Object.keys(schema.properties ?? {}).map((key) =>
      required.has(key) ? `\`${key}\`` : `\`${key}?\``,
    );
    return `| \`${name}\` | ${parameters.join(' ')} | ${cell(description)} |`;
  });
  return ['| tool | parameters | what it does |', '|---|---|---|', ...rows].join('\n');
}

function routeTable(): string {
  const rows = ROUTES.map(({ method, path, summary, query }) => {
    const parameters = Object.keys(query?.shape ?? {}).map((name) => `\`${name}\``);
    return `| \`${method} ${path}\` | ${cell(summary)} | ${parameters.join(' ')} |`;
  });
  return ['| route | what it does | parameters |', '|---|---|---|', ...rows].join('\n');
}

function settingTable(): string {
  const rows = settingsReference().map(
    ({ key, default: value, description }) => `| \`${key}\` | ${cell(shown(value))} | ${cell(description)} |`,
  );
  return ['| setting | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** The differences that the comparison of the direct endpoint with its server expects. */
function differenceTable(): string {
  const rows = DIFFERENCES.map(
    ({ what, between, from, to, why }) => `| ${[what, shortly(between), from, to, why].map(cell).join(' | ')} |`,
  );
  return ['| what | between | at the server | through the gateway | why |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function shortly(between: readonly string[]): string {
  return between.length === 4 ? 'all' : between.join('; ').replaceAll(' server, ', ' → ').replaceAll(' client', '');
}

function shown(value: unknown): string {
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, after } of await pagesWithReference()) await writeFile(place(path), after);
}
