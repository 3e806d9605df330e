import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { programInTerminal } from '../../support/terminal.ts';

test('C-3: on a terminal a line shows the tool, the time, a bar and the progress message', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'slow', 'ms=6000', 'steps=4']);
  await terminal.shows(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] slow \ds █{5}░{15} {2}25% step 1$/m);
  await terminal.shows(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] slow \ds █{10}░{10} {2}50% step 2$/m);
  const { code, screen } = await terminal.ended();
  expect(code).toBe(0);
  // Nothing of the line is left.
  expect(screen.trim().split('\n')).toEqual(['done', '', '[exit 0]']);
});

test('C-3: a question is asked on the terminal, and its answer goes to the server', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'ask_twice']);
  await terminal.shows('asks: What is your name?');
  await terminal.shows(/● Answer \(one field\)/);
  terminal.press('Enter');
  await terminal.shows(/◆ {2}Name \(at least 1 characters\)/);
  terminal.press('Enter');
  await terminal.shows('an answer is required');
  terminal.type('Ada');
  terminal.press('Enter');
  await terminal.shows(/asks: How old are you\?[\s\S]*● Answer/);
  terminal.press('Enter');
  await terminal.shows(/◆ {2}Age \(a whole number, 0…150\)/);
  terminal.type('200');
  terminal.press('Enter');
  await terminal.shows('expected at most 150');
  terminal.press('C-u');
  terminal.type('36');
  terminal.press('Enter');
  const { code, screen } = await terminal.ended();
  expect(screen).toContain('Hello Ada, 36');
  expect(code).toBe(0);
});

test('C-3: a question can be declined; Esc returns from the fields and then cancels', async () => {
  const { url } = owned(await startV1Http());
  const declining = await programInTerminal(['call', url, 'ask']);
  await declining.shows('● Answer');
  declining.press('Down');
  await declining.shows('● Decline');
  declining.press('Enter');
  expect((await declining.ended()).screen).toMatch(/^declined$/m);

  const leaving = await programInTerminal(['call', url, 'ask']);
  await leaving.shows('● Answer');
  leaving.press('Enter');
  await leaving.shows('◆  Name');
  leaving.type('Bo');
  leaving.press('Escape');
  await leaving.shows(/■ {2}Name[\s\S]*● Answer/);
  leaving.press('Escape');
  const { code, screen } = await leaving.ended();
  expect(screen).toMatch(/^cancelled$/m);
  expect(code).toBe(0);
});

test('C-3: a withdrawn question closes its form with a message', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'withdraw', 'ms=3000']);
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  terminal.type('Ada');
  await terminal.shows('The server withdrew its question.');
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/^withdrew$/m);
  expect(code).toBe(0);
});

test('C-3: a question that was lost with the connection is not reported as withdrawn', async () => {
  const server = owned(await startTasksV1Http());
  const terminal = await programInTerminal(['call', server.url, 'ask']);
  await terminal.shows('● Answer');
  await server.stop();
  const screen = await terminal.shows('The question was lost with the connection.');
  expect(screen).not.toContain('withdrew its question');
});

test('C-3: the progress line shows a lost connection until it is restored', async () => {
  const server = owned(await startTasksV2Http());
  const terminal = await programInTerminal(['call', server.url, 'hold', 'text=kept']);
  await terminal.shows(/hold \ds/);
  await server.stop();
  await terminal.shows(/hold \d+s .*connection lost, reconnecting/);
  const again = owned(await startTasksV2Http({ port: server.port, state: server.state }));
  await expect.poll(() => terminal.screen(), { timeout: 15_000 }).not.toContain('reconnecting');
  again.state.release();
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/^kept$/m);
  expect(code).toBe(0);
});

test.each(['a command', 'a URL'])(
  'C-3: a question of a server (%s) that is gone is not reported as withdrawn',
  async (kind) => {
    const server = owned(await startV1Http());
    const { command, args } = v1Stdio();
    const folder = await temporaryFolder();
    const [pid, wrapper] = [join(folder, 'pid'), join(folder, 'server.sh')];
    await writeFile(wrapper, `#!/bin/sh\necho $$ > '${pid}'\nexec '${command}' '${args[0]}'\n`, { mode: 0o755 });
    const terminal = await programInTerminal(['call', kind === 'a URL' ? server.url : wrapper, 'ask']);
    await terminal.shows('● Answer');
    if (kind === 'a URL') await server.close();
    else process.kill(Number(await readFile(pid, 'utf8')), 'SIGKILL');
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    expect(screen).toContain('lost ');
    expect(screen).not.toContain('withdrew its question');
  },
);

test('C-3: stdio started by hand on a terminal prints that it waits for a client', async () => {
  const terminal = await programInTerminal(['stdio', '--log-level', 'silent', '--store', ':memory:']);
  await terminal.shows(
    'meanwhile: this is an MCP server, waiting for a client on standard input; see meanwhile --help',
  );
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('C-3: the URL of a question is shown, opened with BROWSER on request, and then confirmed', async () => {
  const { url } = owned(await startV1Http());
  const folder = await temporaryFolder();
  const browser = join(folder, 'browser.sh');
  const opened = join(folder, 'opened');
  await writeFile(browser, `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${opened}'\n`, { mode: 0o755 });
  const link = "https://example.com/authorize?state=1&x=$(id)'";
  const terminal = await programInTerminal(['call', url, 'ask_url', `url=${link}`], { env: { BROWSER: browser } });
  await terminal.shows('asks: Please sign in');
  await terminal.shows('This page is at example.com');
  await terminal.shows('● Open it in the browser');
  terminal.press('Enter');
  await terminal.shows('● Done');
  await expect.poll(async () => readFile(opened, 'utf8').catch(() => '')).toBe(`1\n${new URL(link).href}\n`);
  terminal.press('Enter');
  expect((await terminal.ended()).screen).toMatch(/^signed in$/m);
});

test('C-3: a URL that is not http or https cannot be opened', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'ask_url', 'url=file:///etc/passwd'], {
    env: { BROWSER: '/bin/false' },
  });
  const shown = await terminal.shows('● I will open it myself');
  expect(shown).toContain('file:///etc/passwd');
  expect(shown).not.toContain('Open it');
  terminal.press('Down', 'Enter');
  expect((await terminal.ended()).screen).toMatch(/^declined$/m);
});

test('C-3: a sampling request is shown in full, and is answered or rejected', async () => {
  const { url } = owned(await startV1Http());
  const answering = await programInTerminal(['call', url, 'sample', 'prompt=Why?', '--json']);
  const shown = await answering.shows('● Write the response yourself');
  for (const part of ['system: Be brief.', 'user: Why?', 'at most 64 tokens', 'model: small']) {
    expect(shown).toContain(part);
  }
  answering.press('Enter');
  await answering.shows('The answer');
  answering.type('Because.');
  answering.press('Enter', 'Enter');
  const { code, screen } = await answering.ended();
  expect(code).toBe(0);
  expect(screen).toContain(String.raw`\"text\":\"Because.\"`);

  const rejecting = await programInTerminal(['call', url, 'sample', 'prompt=Why?']);
  await rejecting.shows('● Write the response yourself');
  rejecting.press('Down', 'Enter');
  const rejected = await rejecting.ended();
  expect(rejected.screen).toContain('Rejected.');
  expect(rejected.screen).toContain('the user rejected the request');
  expect(rejected.code).toBe(1);
});

test('C-3, X-4: control characters of a server cannot move the cursor or clear the screen', async () => {
  const { url } = owned(await startV1Http());
  const nasty = JSON.stringify('\u001B[2J\u001B[Hgone\u0007\u001B]0;owned\u0007 really');
  const asked = await programInTerminal(['call', url, 'ask', `message:=${nasty}`]);
  expect(await asked.shows('● Answer')).toContain('asks: gone really');
  asked.press('Escape');
  await asked.ended();
  const printed = await programInTerminal(['call', url, 'echo', `text:=${nasty}`]);
  expect((await printed.ended()).screen.trim().split('\n')).toEqual(['gone really', '', '[exit 0]']);
});

test('C-3: with redirected standard output the questions appear on the terminal and the result in the file', async () => {
  const { url } = owned(await startV1Http());
  const file = join(await temporaryFolder(), 'result.txt');
  const terminal = await programInTerminal(['call', url, 'ask'], { redirect: `> '${file}'` });
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  terminal.type('Ada');
  terminal.press('Enter');
  expect((await terminal.ended()).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe('Hello Ada\n');
});

test('C-3: on a terminal --answer is used first, and an invalid one leaves the question to the person', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal([
    'call',
    url,
    'ask_twice',
    '--answer',
    '{"name":"Ada"}',
    '--answer',
    '{"age":"old"}',
  ]);
  await terminal.shows('answered with --answer');
  await terminal.shows("does not fit the question: 'age': expected a number");
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Age');
  terminal.type('36');
  terminal.press('Enter');
  expect((await terminal.ended()).screen).toContain('Hello Ada, 36');
});

test('C-3: NO_COLOR turns off colours in the progress line, questions and lists', async () => {
  const { url } = owned(await startV1Http());
  const hasColours = (screen: string): boolean =>
    screen.split('\u001B[').some((part, index) => index > 0 && /^[\d;]*[1-9][\d;]*m/.test(part));
  for (const [env, expected] of [
    [{}, true],
    [{ NO_COLOR: '1' }, false],
  ] as const) {
    const asked = await programInTerminal(['call', url, 'ask'], { env: { ...env } });
    await asked.shows('● Answer');
    expect(hasColours(asked.output())).toBe(expected);
    const working = await programInTerminal(['call', url, 'slow', 'ms=60000'], { env: { ...env } });
    await working.shows(/slow \ds/);
    expect(hasColours(working.output())).toBe(expected);
    const listed = await programInTerminal(['tools', url], { env: { ...env } });
    await listed.ended();
    expect(hasColours(listed.output())).toBe(expected);
  }
}, 40_000);
