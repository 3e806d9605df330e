/** Writes the generated parts of the README: what the program has, and what its tests expect. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { settingsReference } from '../src/config/schema.ts';
import { DIFFERENCES } from '../tests/e2e/direct/same/differences.ts';
import { HUB_TOOLS } from '../src/north/hub/hub.ts';
import { matrixTable } from './matrix.ts';

const README = fileURLToPath(new URL('../README.md', import.meta.url));

export async function readmeWithReference(): Promise<{ before: string; after: string }> {
  const before = await readFile(README, 'utf8');
  const parts = { tools: toolTable(), settings: settingTable(), matrix: matrixTable(), differences: differenceTable() };
  const after = Object.entries(parts).reduce((text, [name, content]) => fill(text, name, content), before);
  return { before, after };
}

function fill(text: string, name: string, content: string): string {
  const pattern = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
  if (!pattern.test(text)) throw new Error(`README.md has no place for '${name}'`);
  return text.replace(pattern, (_all, start: string, end: string) => `${start}${content}\n${end}`);
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
  const { after } = await readmeWithReference();
  await writeFile(README, after);
}
