/** `meanwhile inbox` at a real gateway. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { runCommand } from '../../../support/command.ts';
import { atConsole } from '../../../support/console.ts';
import { httpGateway, temporaryFolder, type TestGateway } from '../../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { programInTerminal } from '../../../support/terminal.ts';

interface Asking {
  gateway: TestGateway;
  hub: HubClient;
  /** How commands find the gateway. */
  flags: string[];
  /** Calls a tool that asks; resolves with the id of its task. */
  ask: (tool: string, args?: Record<string, unknown>) => Promise<string>;
  /** The text of the result. */
  result: (taskId: string) => Promise<string>;
}

async function asking(settings: Record<string, unknown> = {}): Promise<Asking> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(gateway.url, 'v1', {}, 'editor');
  return {
    gateway,
    hub,
    flags: ['--url', gateway.url, '--token', gateway.console.key],
    ask: async (tool, args = {}) => taskIdOf(await hub.call('execute_tool', { server: 'one', tool, args })),
    result: async (taskId) => (await hub.call('get_task_result', { task_id: taskId })).text,
  };
}

interface Listed {
  id: string;
  message: string;
  status: string;
}

async function listed(flags: readonly string[]): Promise<Listed[]> {
  const { stdout } = await runCommand(['inbox', '--json', ...flags]);
  return (JSON.parse(stdout) as { questions: Listed[] }).questions;
}

/** The list may be a quarter of a second behind. */
async function waiting(flags: readonly string[], count: number): Promise<Listed[]> {
  return vi.waitFor(
    async () => {
      const found = await listed(flags);
      expect(found).toHaveLength(count);
      return found;
    },
    { timeout: 10_000 },
  );
}

test('W-2: without a terminal inbox lists the questions, oldest first, or says that there are none', async () => {
  const { ask, flags } = await asking();
  expect(await runCommand(['inbox', ...flags])).toEqual({ code: 0, stdout: '', stderr: 'there are no open questions' });
  await ask('ask', { message: 'Who is first?' });
  await ask('ask', { message: 'Who is second?' });
  await waiting(flags, 2);
  const { code, stdout, stderr } = await runCommand(['inbox', ...flags]);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^\S+ {2}one ask {2}\d+s, \d+m \d\ds left {2}Who is first\?$/);
  expect(lines[1]).toContain('Who is second?');
  expect((await listed(flags)).map(({ message }) => message)).toEqual(['Who is first?', 'Who is second?']);
});

test('W-2: --answer answers one question; a later answer names the person who was first', async () => {
  const { ask, result, flags } = await asking();
  const task = await ask('ask');
  const [question] = await waiting(flags, 1);
  const id = question?.id ?? '';
  const misfit = await runCommand(['inbox', id, '--answer', '{"nam":"Ada"}', ...flags]);
  expect(misfit.code).toBe(2);
  expect(misfit.stderr).toContain(`--answer '{"nam":"Ada"}' does not fit the question: 'name' is missing`);
  const shown = await runCommand(['inbox', id, '--json', ...flags]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ id, status: 'open', program: 'editor', tool: 'ask' });
  const given = await runCommand(['inbox', id, '--answer', '{"name":"Ada"}', '--json', ...flags]);
  expect(given.code).toBe(0);
  expect(JSON.parse(given.stdout)).toMatchObject({ status: 'accepted', answeredBy: { via: 'terminal' } });
  expect(await result(task)).toBe('Hello Ada');
  for (const more of [[], ['--answer', '{"name":"Bob"}']]) {
    const late = await runCommand(['inbox', id, ...more, ...flags]);
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/the question \S+ is already answered by local in a terminal, \d+s ago$/);
  }
});

test('W-2: without a terminal or --answer, inbox shows the question and a hint to --answer', async () => {
  const { ask, flags } = await asking();
  await ask('ask');
  const [question] = await waiting(flags, 1);
  const { code, stderr } = await runCommand(['inbox', question?.id ?? '', ...flags]);
  expect(code).toBe(6);
  expect(stderr).toContain('one asks: What is your name?\n  name: Name (at least 1 characters)\n');
  expect(stderr).toContain(`there is no terminal to ask on; give the answer with --answer '{"name":"…"}'`);
  const unknown = await runCommand(['inbox', 'nix', ...flags]);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain("no question 'nix'");
  expect(unknown.stderr).toContain('meanwhile inbox lists the open questions');
});

test('W-2: on a terminal inbox answers a form, a sampling request and a link one after the other', async () => {
  const { ask, result, flags } = await asking();
  const form = await ask('ask');
  const folder = await temporaryFolder();
  const [browser, opened] = [join(folder, 'browser.sh'), join(folder, 'opened')];
  await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > '${opened}'\n`, { mode: 0o755 });
  const terminal = await programInTerminal(['inbox', '--follow', ...flags], { env: { BROWSER: browser } });
  await terminal.shows('one asks: What is your name?');
  await terminal.shows(/called by editor \(local\); waiting for[\s\S]*● Answer/);
  terminal.press('Enter');
  await terminal.shows('◆  Name (at least 1 characters)');
  terminal.press('Enter');
  await terminal.shows('an answer is required');
  terminal.type('Ada');
  terminal.press('Enter');
  await terminal.shows(/Answered\.[\s\S]*waiting for questions/);
  expect(await result(form)).toBe('Hello Ada');

  const sample = await ask('sample', { prompt: 'Write a poem' });
  await terminal.shows('one asks for a model response');
  await terminal.shows('user: Write a poem');
  await terminal.shows('● Write the response yourself');
  terminal.press('Enter');
  await terminal.shows('two line breaks end it');
  terminal.type('Roses are red');
  terminal.press('Enter', 'Enter', 'Enter');
  await terminal.shows(/Answered\.[\s\S]*Answered\.[\s\S]*waiting for questions/);
  expect(await result(sample)).toContain('Roses are red');

  const link = await ask('ask_url', { url: 'https://example.com/authorize' });
  await terminal.shows('one asks: Please sign in');
  await terminal.shows(/This page is at example\.com[\s\S]*●/);
  terminal.press('Enter');
  await terminal.shows('● Done');
  await expect.poll(async () => readFile(opened, 'utf8').catch(() => '')).toBe('https://example.com/authorize');
  terminal.press('Enter');
  await terminal.shows(/(?:Answered\.[\s\S]*){3}waiting for questions/);
  expect(await result(link)).toBe('signed in');
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('W-2: a form on the terminal closes when the question is answered at the console', async () => {
  const { gateway, ask, result, flags } = await asking();
  const task = await ask('ask');
  await waiting(flags, 1);
  const terminal = await programInTerminal(['inbox', ...flags]);
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  const person = await atConsole(gateway);
  const { id } = await person.one('/questions');
  const answer = { action: 'accept', content: { name: 'Grace' } };
  expect((await person.post(`/questions/${id}/answer`, answer)).status).toBe(200);
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/The question is already answered by local in the console, \d+s ago\./);
  expect(code).toBe(0);
  expect(await result(task)).toBe('Hello Grace');
});

test('W-2: Esc leaves the question open, Decline does not', async () => {
  const { ask, result, flags } = await asking();
  const task = await ask('ask');
  await waiting(flags, 1);
  const leaving = await programInTerminal(['inbox', ...flags]);
  await leaving.shows('○ Later');
  leaving.press('Escape');
  expect((await leaving.ended()).code).toBe(0);
  expect(await listed(flags)).toHaveLength(1);
  const declining = await programInTerminal(['inbox', ...flags]);
  await declining.shows('● Answer');
  declining.press('Down');
  await declining.shows('● Decline');
  declining.press('Enter');
  expect((await declining.ended()).screen).toContain('Declined.');
  expect(await result(task)).toBe('declined');
  expect(await listed(flags)).toEqual([]);
});

test('W-7: inbox shows a token the questions of its principal, and an operator all questions', async () => {
  const tokens = { ann: 'the-token-of-ann-here', bob: 'the-token-of-bob-here', op: 'the-token-of-op-here!' };
  const server = owned(await startV1Http());
  const settings = { auth: { tokens, operators: ['op'] } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(url, 'v1', { authorization: `Bearer ${tokens.ann}` });
  await hub.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  const flagsOf = (token: string): string[] => ['--url', url, '--token', token];
  await waiting(flagsOf(tokens.ann), 1);
  expect(await listed(flagsOf(tokens.bob))).toEqual([]);
  expect(await listed(flagsOf(tokens.op))).toHaveLength(1);
  const wrong = await runCommand(['inbox', '--url', url], { env: { MEANWHILE_TOKEN: 'wrong' } });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toMatch(
    /does not know this token: give one of its auth\.tokens with --token, or in MEANWHILE_TOKEN$/,
  );
});

test.each([
  [['inbox', 'a', 'b'], "unexpected argument 'b'"],
  [['inbox', 'http://127.0.0.1:1'], 'give the address of the gateway with --url http://127.0.0.1:1'],
  [['inbox', 'a', '--follow'], '--follow applies to all questions'],
  [['inbox', '--answer', '{}'], '--answer applies to a single question: meanwhile inbox <id>'],
  [['inbox', 'a', '--answer', '{}', '--answer', '{}'], 'only one --answer is allowed'],
  [['inbox', 'a', '--answer', 'nix'], '--answer'],
  [['inbox', '--url', 'demo'], "'demo' is not a URL"],
  [['status', 'http://a', '--url', 'http://b'], "unexpected argument 'http://a': --url already names the gateway"],
  [['watch', 'http://a', 'more'], "unexpected argument 'more'"],
  [['console', 'http://a', 'more'], "unexpected argument 'more'"],
])('W-2: %j is refused', async (args, message) => {
  const { code, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
