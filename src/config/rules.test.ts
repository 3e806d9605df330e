import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defer } from '../../tests/support/owned.ts';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import type { Config } from './schema.ts';

async function load(rules: unknown): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-rules-'));
  defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'c.json');
  const mcpServers = { files: { command: 'files' }, off: { command: 'off', disabled: true } };
  const auth = { tokens: { ada: '0123456789abcdef' } };
  await writeFile(file, JSON.stringify({ mcpServers, meanwhile: { auth, rules } }));
  return loadConfig({ flags: { config: file }, env: { HOME: folder }, cwd: folder });
}

const mistakesIn = async (rules: unknown): Promise<readonly string[]> =>
  load(rules).then(
    () => [],
    (error: unknown) => (error instanceof ConfigError ? error.mistakes : [String(error)]),
  );

describe('rules in the config', () => {
  test('G-1: are loaded unchanged', async () => {
    const rules = [
      {
        server: 'files',
        tool: 'delete_*',
        annotations: { destructiveHint: true },
        args: { path: '/tmp/*' },
        then: 'ask',
      },
      { principal: 'ada', then: 'ask', remember: true, approver: 'person', timeoutMs: 1000, message: 'Sure?' },
    ];
    const { settings, warnings } = await load(rules);
    expect(settings.rules).toEqual(rules);
    expect(warnings).toEqual([]);
    expect((await load([])).settings.rules).toEqual([]);
  });

  test('G-1: a rule that can never decide is a mistake that names the earlier rule', async () => {
    expect(
      await mistakesIn([
        { tool: '*', then: 'allow' },
        { tool: 'delete', then: 'deny' },
      ]),
    ).toEqual([
      'c.json: meanwhile.rules[1]: never decides: rules[0] comes first and matches every call that this one matches',
    ]);
  });

  test('G-1: mistakes are reported with their path', async () => {
    expect(
      await mistakesIn([
        { tool: 'a', annotations: { destructive: true }, then: 'ask' },
        { tool: 'b', then: 'block' },
        { tol: 'c', then: 'ask' },
        { tool: 'd' },
        { tool: 'e', args: { 'a..b': 1 }, then: 'deny' },
      ]),
    ).toEqual([
      "c.json: meanwhile.rules[0].annotations.destructive: unknown key; did you mean 'destructiveHint'?",
      'c.json: meanwhile.rules[1].then: expected "allow" or "ask" or "deny", got "block"',
      "c.json: meanwhile.rules[2].tol: unknown key; did you mean 'tool'?",
      'c.json: meanwhile.rules[3].then: expected "allow" or "ask" or "deny", got nothing',
      expect.stringContaining('rules[4].args') as string,
    ]);
    expect(await mistakesIn([{ then: 'deny', remember: true, timeoutMs: 5 }])).toEqual([
      'c.json: meanwhile.rules[0].remember: has no effect with "then": "deny"; only "ask" asks a person',
      'c.json: meanwhile.rules[0].timeoutMs: has no effect with "then": "deny"; only "ask" asks a person',
    ]);
  });

  test('G-1: a name that matches nothing in the config is a warning, since clients can add servers', async () => {
    const { warnings } = await load([
      { server: 'flies', then: 'ask' },
      { server: 'off', then: 'ask' },
      { principal: 'eve', then: 'ask' },
      { principal: 'local', then: 'ask' },
    ]);
    expect(warnings).toEqual([
      "c.json: meanwhile.rules[0].server: matches no server, so the rule never decides; did you mean 'files'? known: files",
      'c.json: meanwhile.rules[2].principal: matches no principal, so the rule never decides; known: ada, local',
    ]);
  });

  test('G-1: the example in docs/RULES.md is valid without warnings', async () => {
    const page = await readFile(new URL('../../docs/RULES.md', import.meta.url), 'utf8');
    const [, example = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
    const { meanwhile } = JSON.parse(example) as { meanwhile: { rules: unknown[] } };
    const { settings, warnings } = await load(meanwhile.rules);
    expect(settings.rules).toHaveLength(3);
    expect(warnings).toEqual([]);
  });
});
