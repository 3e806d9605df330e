import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import type { Config } from './schema.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-answers-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function load(meanwhile: object, flags: { 'dry-run'?: boolean } = {}): Promise<Config> {
  const config = join(folder, 'meanwhile.json');
  await writeFile(config, JSON.stringify({ mcpServers: { files: { url: 'http://x.test/' } }, meanwhile }));
  const env = { HOME: folder, THE_KEY: 'sk-very-secret', BROKEN_KEY: 'sk-very-secret\n' };
  return loadConfig({ flags: { config, ...flags }, env, cwd: folder });
}

async function mistakesIn(meanwhile: object): Promise<string[]> {
  const error: unknown = await load(meanwhile).catch((failure: unknown) => failure);
  if (!(error instanceof ConfigError)) throw new Error('the config is valid');
  return error.mistakes.map((mistake) => mistake.replace('meanwhile.json: meanwhile.', ''));
}

const YES = { action: 'accept', content: { ok: true } };

describe('standing answers', () => {
  test('G-3: there are none by default, and they apply unless dry run is set', async () => {
    expect((await load({})).settings).toMatchObject({ answers: [], answersDryRun: false });
    const answers = [{ server: 'files', ...YES }];
    expect((await load({ answers })).settings).toMatchObject({ answers, answersDryRun: false });
    expect((await load({ answers, answersDryRun: true })).settings.answersDryRun).toBe(true);
    expect((await load({ answers }, { 'dry-run': true })).settings.answersDryRun).toBe(true);
  });

  test.each([
    [YES, 'answers[0]: would accept every question; give at least one of server, tool, message, schema'],
    [
      { server: '*', action: 'accept', content: { apiToken: 'x' } },
      "answers[0]: the field 'apiToken' looks like a secret, which only a person may enter",
    ],
    [
      { schema: { 'card-number': 'string' }, action: 'decline' },
      "answers[0]: the field 'card-number' looks like a secret, which only a person may enter",
    ],
    [{ action: 'decline', content: {} }, 'answers[0]: "content" is only allowed with "action": "accept"'],
    [
      { schema: { size: 'string' }, ...YES },
      `answers[0]: never matches: "content" has the field 'ok', but "schema" does not`,
    ],
    [{ action: 'yes' }, 'answers[0].action: expected "accept" or "decline" or "cancel", got "yes"'],
    [{ servers: 'x', action: 'decline' }, "answers[0].servers: unknown key; did you mean 'server'?"],
    [
      { message: 'x'.repeat(1001), action: 'decline' },
      `answers[0].message: expected at most 1000 characters, got "${'x'.repeat(80)}…"`,
    ],
  ])('G-3: an invalid rule is refused: %j', async (rule, mistake) => {
    expect(await mistakesIn({ answers: [rule] })).toEqual([mistake]);
  });

  test('G-3: two rules with the same name are a mistake', async () => {
    const rule = { name: 'one', server: 'files', action: 'decline' };
    expect(await mistakesIn({ answers: [rule, { ...rule, tool: 'x' }] })).toEqual([
      "answers[1]: two rules are called 'one'",
    ]);
  });

  test('G-3: rules that can never match are reported as warnings', async () => {
    const answers = [
      { name: 'all of files', server: 'files', action: 'decline' },
      { server: 'files', tool: 'write', ...YES },
      { server: 'mail', ...YES },
      { server: 'fi*', message: 'Overwrite *', ...YES },
    ];
    expect((await load({ answers })).warnings).toEqual([
      'meanwhile.json: meanwhile.answers[1]: never used: all of files comes first and matches every question that this rule matches',
      "meanwhile.json: meanwhile.answers[2].server: no server of this file matches 'mail'; known: files; the rule applies only to " +
        'servers that clients add',
    ]);
  });
});

describe('models', () => {
  const FAST = { api: 'openai', model: 'tiny' };

  test('G-4: a model needs only its API and its name', async () => {
    const { settings } = await load({ models: { fast: { ...FAST, key: '${env:THE_KEY}' } } });
    expect(settings.models).toEqual({
      fast: {
        ...FAST,
        key: 'sk-very-secret',
        keyVariable: 'THE_KEY',
        scores: { cost: 0.5, speed: 0.5, intelligence: 0.5 },
        maxTokens: 4096,
        budget: { callsPerDay: 100 },
        review: false,
        timeoutMs: 60_000,
      },
    });
  });

  test.each([
    [{ api: 'openai' }, 'models.fast.model: missing; expected a string'],
    [{ ...FAST, api: 'gemini' }, 'models.fast.api: expected "openai" or "anthropic", got "gemini"'],
    [
      { ...FAST, key: 'sk-plain' },
      'models.fast.key: keys do not belong in this file: write ${NAME}, and set NAME in the environment',
    ],
    [
      { ...FAST, key: '${NOT_SET}' },
      'models.fast.key: the environment variable NOT_SET is not set; set it, or give a default: ${NOT_SET:-default}',
    ],
    [
      { ...FAST, key: '${BROKEN_KEY}' },
      'models.fast.key: a key has visible ASCII characters only: look for spaces and line ends in the variable',
    ],
    [{ ...FAST, key: 5 }, 'models.fast.key: expected a string, got a number'],
    [
      { ...FAST, url: 'http://me:pass@x/v1' },
      'models.fast.url: expected an address such as http://127.0.0.1:11434/v1, without credentials, a query or a fragment, got ' +
        '"http://***@x/v1"',
    ],
    [{ ...FAST, scores: { cost: 2 } }, 'models.fast.scores.cost: expected at most 1, got 2'],
    [{ ...FAST, budget: { callsPerDay: 0 } }, 'models.fast.budget.callsPerDay: expected at least 1, got 0'],
    [{ ...FAST, principals: ['ann'] }, 'models.fast.principals[0]: not a name in auth.tokens'],
  ])('G-4: a mistake in a model is reported: %j', async (fast, mistake) => {
    expect(await mistakesIn({ models: { fast } })).toEqual([mistake]);
  });

  test('G-4: a model for an unknown server is a warning', async () => {
    expect((await load({ models: { fast: { ...FAST, servers: ['mail', 'fi*'] } } })).warnings).toEqual([
      "meanwhile.json: meanwhile.models.fast.servers[0]: the name 'mail' matches no server of this file; known: files",
    ]);
  });
});
