/** What a person sees who starts the gateway in a terminal. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/gateway.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import { logLines, serveProgram } from './built.ts';
import { send } from '../../support/raw-http.ts';
import { programInTerminal } from '../../support/terminal.ts';

async function folderWithFile(): Promise<string> {
  const cwd = await temporaryFolder();
  const away = { url: 'http://127.0.0.1:1/mcp' };
  const file = { mcpServers: { files: away, memory: away }, meanwhile: { port: 0, store: ':memory:' } };
  await writeFile(join(cwd, 'meanwhile.json'), JSON.stringify(file));
  return cwd;
}

test('O-1, W-1: on a terminal serve prints a banner to standard error', async () => {
  const cwd = await folderWithFile();
  const terminal = await programInTerminal(['serve'], { cwd, redirect: '> out' });
  const screen = await terminal.shows('Ctrl-C stops');
  const hub = /^ {2}Hub {6}(http:\S+)$/m.exec(screen)?.[1] ?? '';
  expect(screen).toContain(`meanwhile ${packageJson.version}`);
  expect(hub).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  expect(screen).toContain(`  Servers  files   ${hub}/files\n           memory  ${hub}/memory\n`);
  expect(screen).toMatch(/^ {2}Console {2}http:\/\/127\.0\.0\.1:\d+\/console#key=[0-9a-f]{48}$/m);
  expect(screen).toContain('  Config   meanwhile.json (in this folder)\n');
  expect(screen).toContain('  Store    :memory:\n');
  expect(screen).not.toContain('{"');
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
  expect(await readFile(join(cwd, 'out'), 'utf8')).toBe('');
});

test('O-1: the banner shows the config file and the default store', async () => {
  const cwd = await folderWithFile();
  const home = await temporaryFolder();
  await mkdir(join(cwd, 'sub'));
  await writeFile(join(cwd, 'sub', 'mine.json'), '{"mcpServers": {}, "meanwhile": {"port": 0}}');
  const env = { HOME: home };
  const terminal = await programInTerminal(['serve', '--config', 'sub/mine.json'], { cwd, env });
  const screen = await terminal.shows('Ctrl-C stops');
  expect(screen).toContain('  Servers  none yet');
  expect(screen).toContain('  Config   sub/mine.json\n');
  expect(screen).toMatch(/^ {2}Store {4}~\/.*meanwhile\.db$/m);
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('O-1: without a config file the banner shows the demo server and how to create a file', async () => {
  const terminal = await programInTerminal(['serve', '--port', '0', '--store', ':memory:'], { columns: 60 });
  const screen = await terminal.shows('Ctrl-C stops');
  expect(screen).toMatch(/^ {2}Servers {2}demo {2}http:\/\/127\.0\.0\.1:\d+\/mcp\/demo$/m);
  expect(screen).toMatch(/^ {2}Config {3}none; create meanwhile\.json in this folder, or$/m);
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('O-1: --log-level silent prints no banner, and without a terminal only the log is printed', async () => {
  const port = String(portToReturnTo());
  const silent = await programInTerminal(['serve', '--port', port, '--store', ':memory:', '--log-level', 'silent']);
  await vi.waitFor(
    async () => expect((await send(`http://127.0.0.1:${port}/healthz`, { method: 'GET' })).status).toBe(200),
    { timeout: 15_000 },
  );
  silent.press('C-c');
  expect((await silent.ended()).screen.replace('^C', '').trim()).toBe('[exit 0]');

  const piped = await serveProgram(['--config', 'meanwhile.json'], { cwd: await folderWithFile() });
  expect(await piped.stop()).toBe(0);
  expect(logLines(piped).map(({ event }) => event)).toContain('stopping');
});

test('L-3: meanwhile without arguments on a terminal shows the config file and help, and exits', async () => {
  const here = await programInTerminal([], { cwd: await folderWithFile() });
  const { code, screen } = await here.ended();
  expect(code).toBe(0);
  expect(screen).toContain(`meanwhile ${packageJson.version}`);
  expect(screen).toContain('Config: meanwhile.json (in this folder)');
  expect(screen).toContain('Usage: meanwhile <command>');
  expect(screen).not.toContain('{"');

  const elsewhere = await programInTerminal(['--log-level', 'debug']);
  expect((await elsewhere.ended()).screen).toContain('Config: none');
});

test('O-1: meanwhile without arguments runs the gateway on stdio if input or output is a pipe', async () => {
  const piped = await programInTerminal(['--store', ':memory:'], { redirect: '< /dev/null' });
  expect((await piped.ended()).screen).not.toContain('Usage:');
  const read = await programInTerminal(['--store', ':memory:'], { redirect: '| cat' });
  await read.shows('this is an MCP server, waiting for a client');
  read.press('C-d');
  expect((await read.ended()).screen).not.toContain('Usage:');
});
