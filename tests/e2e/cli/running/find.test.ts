/** How commands find a running gateway, and what they say if there is none. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { runCommand } from '../../../support/command.ts';
import { configFile, httpGateway, temporaryFolder, type LogLine } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { startProgram, type Program } from '../../../support/program.ts';
import { portToReturnTo } from '../../../support/port-to-return-to.ts';
import { programInTerminal } from '../../../support/terminal.ts';
import { listenRaw } from '../raw-listener.ts';

interface Serving {
  program: Program;
  url: string;
}

async function serve(args: string[], env: Record<string, string>): Promise<Serving> {
  const program = await startProgram(['serve', ...args], { env });
  const url = await expect
    .poll(() => listening(program), { timeout: 15_000 })
    .toBeDefined()
    .then(() => listening(program) ?? '');
  return { program, url };
}

function listening({ stderr }: Program): string | undefined {
  const lines = stderr.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
  return lines.find(({ event }) => event === 'listening')?.data?.['url'] as string | undefined;
}

const NOT_RUNNING = /no gateway is running for this user on this machine; start one with meanwhile serve/;

test('W-1, W-7: commands find the gateway of the same user by its store, on any port, while it runs', async () => {
  const env = { HOME: await temporaryFolder() };
  const none = await runCommand(['console', '--print'], { env });
  expect(none.code).toBe(1);
  expect(none.stderr).toMatch(NOT_RUNNING);
  expect(none.stderr).toContain('or give its address: meanwhile console --url http://HOST:PORT --token TOKEN');
  const { program, url } = await serve(['--port', '0'], env);
  const base = url.replace('/mcp', '');
  const link = await runCommand(['console', '--print'], { env });
  expect(link).toMatchObject({ code: 0, stderr: '' });
  expect(link.stdout).toMatch(new RegExp(`^${base}/console#key=\\S{20,}$`));
  expect((await runCommand(['status'], { env })).stdout).toContain(`${base}  up `);
  // The address may be given as well; the key is that of this gateway.
  expect((await runCommand(['status', base.replace('127.0.0.1', 'localhost')], { env })).code).toBe(0);
  const file = join(env.HOME, '.local/share/meanwhile/meanwhile.db.console.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const other = await runCommand(['status', 'http://127.0.0.1:1'], { env });
  expect(other.code).toBe(1);
  expect(other.stderr).toContain('the gateway at http://127.0.0.1:1 requires a token');
  await program.stop();
  expect((await runCommand(['inbox'], { env })).stderr).toMatch(NOT_RUNNING);
});

test('W-1: commands ignore the launch file of a killed gateway', async () => {
  const env = { HOME: await temporaryFolder() };
  const { program } = await serve(['--port', '0'], env);
  program.child.kill('SIGKILL');
  await program.exited;
  const file = join(env.HOME, '.local/share/meanwhile/meanwhile.db.console.json');
  expect(await readFile(file, 'utf8')).toContain('"key"');
  const { code, stderr } = await runCommand(['inbox', '--json'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(NOT_RUNNING);
});

test('W-1: a gateway with a store in memory is found by its address, from the config file or an argument', async () => {
  const env = { HOME: await temporaryFolder() };
  const port = portToReturnTo();
  const config = await configFile({}, { port });
  await serve(['--config', config], env);
  expect((await runCommand(['status', '--config', config], { env })).code).toBe(0);
  expect((await runCommand(['status', `127.0.0.1:${port}`, '--store', ':memory:'], { env })).code).toBe(0);
});

test('W-7: a token of the config file opens a gateway that has no launch file', async () => {
  const port = portToReturnTo();
  const settings = { port, auth: { tokens: { ann: 'the-token-of-ann-here' } } };
  await httpGateway({}, settings);
  const config = await configFile({}, settings);
  const { code, stdout } = await runCommand(['status', '--config', config]);
  expect(code).toBe(0);
  expect(stdout).toContain('  ann');
  const link = await runCommand(['console', '--print', '--config', config]);
  expect(link.stdout).toBe(`http://127.0.0.1:${port}/console`);
  expect(link.stderr).toBe('Sign in there with your token.');
});

test('W-1: console opens the browser with the link; a browser that does not start is no failure', async () => {
  const { url, console } = await httpGateway({});
  const folder = await temporaryFolder();
  const [browser, opened] = [join(folder, 'browser.sh'), join(folder, 'opened')];
  await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > '${opened}'\n`, { mode: 0o755 });
  const flags = ['--url', url, '--token', console.key];
  const { code } = await runCommand(['console', ...flags], { env: { BROWSER: browser } });
  expect(code).toBe(0);
  await expect.poll(async () => readFile(opened, 'utf8').catch(() => '')).toBe(console.url);
  const failing = await runCommand(['console', ...flags], { env: { BROWSER: join(folder, 'nothing') } });
  expect(failing).toMatchObject({ code: 0, stdout: console.url });
  expect(failing.stderr).toContain('The browser could not be opened (');
});

test('W-10: errors name a fix', async () => {
  const port = portToReturnTo();
  const away = await runCommand(['status', '--url', `http://127.0.0.1:${port}`, '--token', 'x']);
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(
    /no gateway is reachable at http:\S+ \(ECONNREFUSED\); start one with meanwhile serve, or give/,
  );
  const server = owned(await startV1Http());
  for (const { url } of [server, await listenRaw(404, '<html>'), await listenRaw(200, '<html>')]) {
    const old = await runCommand(['watch', '--url', url, '--token', 'x', '--json']);
    expect(old.code).toBe(1);
    expect(old.stderr).toMatch(
      /has no API for this command \(HTTP \d+\): it is not a gateway, or its version is too old; update and restart it/,
    );
    expect(JSON.parse(old.stdout)).toMatchObject({ error: { code: 'refused' } });
  }
});

test('W-2, W-3: commands report a gateway without a history', async () => {
  const { url, console } = await httpGateway({}, { history: { keepMs: 0 } });
  const flags = ['--url', url, '--token', console.key];
  for (const command of ['inbox', 'watch']) {
    const { code, stderr } = await runCommand([command, ...flags]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not record calls and questions \(history\.keepMs is 0\); remove the setting/);
  }
  const status = await runCommand(['status', ...flags]);
  expect(status.code).toBe(0);
  expect(status.stderr).toContain('history.keepMs is 0');
});

test('W-6: watch and inbox --follow find the gateway again after a restart, with its new key', async () => {
  const env = { HOME: await temporaryFolder() };
  const { program } = await serve(['--port', '0'], env);
  const watching = await programInTerminal(['watch'], { env });
  const waiting = await programInTerminal(['inbox', '--follow'], { env });
  await watching.shows('q quits');
  await waiting.shows('waiting for questions');
  await program.stop();
  await watching.shows(NOT_RUNNING);
  await waiting.shows('no gateway');
  const { url } = await serve(['--port', '0'], env);
  await watching.shows('q quits');
  await watching.shows(url.replace('/mcp', ''));
  await waiting.shows(/waiting for questions \d+s Ctrl-C quits/);
  watching.type('q');
  expect((await watching.ended()).code).toBe(0);
  waiting.press('C-c');
  expect((await waiting.ended()).code).toBe(0);
});
