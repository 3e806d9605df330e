import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { loadConfig } from '../../config/load.ts';
import { propose, sortTools } from './propose.ts';

const FILES = sortTools('files', [
  { name: 'read', annotations: { readOnlyHint: true } },
  { name: 'write', annotations: { readOnlyHint: false } },
  { name: 'append', annotations: { destructiveHint: false } },
  { name: 'remove', annotations: { destructiveHint: true } },
]);
const NOTES = sortTools('notes', [{ name: 'add\n"x": 1', annotations: { title: 'Add' } }, { name: 'list' }]);

test('G-1: tools are sorted by the annotations of their server', () => {
  expect(FILES).toEqual({
    server: 'files',
    readOnly: ['read'],
    destructive: ['write', 'remove'],
    additive: ['append'],
    unannotated: [],
  });
  expect(NOTES.unannotated).toEqual(['add\n"x": 1', 'list']);
});

test('G-1: the proposed rules ask before destructive tools, and the printed text is valid in a config file', async () => {
  const { rules, text } = propose([FILES, NOTES]);
  expect(rules).toEqual([
    { server: 'notes', tool: 'add\n"x": 1', then: 'ask', remember: true, approver: 'person' },
    { server: 'notes', tool: 'list', then: 'ask', remember: true, approver: 'person' },
    { annotations: { readOnlyHint: true }, then: 'allow' },
    { annotations: { destructiveHint: true }, then: 'ask', remember: true, approver: 'person' },
  ]);
  expect(text).toContain('(files: write, remove)');
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-propose-'));
  defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'c.json');
  await writeFile(
    file,
    `{ "mcpServers": { "files": { "command": "f" }, "notes": { "command": "n" } }, "meanwhile": { ${text} } }`,
  );
  const { settings, warnings } = await loadConfig({ flags: { config: file }, env: { HOME: folder }, cwd: folder });
  expect(settings.rules).toEqual(rules);
  expect(warnings).toEqual([]);
});
