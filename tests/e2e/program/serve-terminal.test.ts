import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/gateway.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import { logLines, serveProgram } from '../../support/program.ts';
import { send } from '../../support/raw-http.ts';
import { programInTerminal } from '../../support/tmux.ts';

const LINE = `meanwhile ${packageJson.version} at http://127.0.0.1:`;

async function folderWithFile(): Promise<string> {
  const cwd = await temporaryFolder();
  const away = { url: 'http://127.0.0.1:1/mcp' };
  const file = { mcpServers: { files: away, memory: away }, meanwhile: { port: 0, store: ':memory:' } };
  await writeFile(join(cwd, 'meanwhile.json'), JSON.stringify(file));
  return cwd;
}

test('O-1: on a terminal serve says besides its log, in one line for people, where what is; standard output stays empty', async () => {
  const cwd = await folderWithFile();
  const terminal = await programInTerminal(['serve', '--config', 'meanwhile.json'], {
    cwd,
    columns: 300,
    redirect: '> out',
  });
  const screen = await terminal.shows(LINE);
  const { port } = new URL(/at (http:\S+);/.exec(screen)?.[1] ?? '');
  expect(screen).toContain(
    `${LINE}${port}/mcp; servers: files, memory (each also at /mcp/NAME); config meanwhile.json; store :memory:; Ctrl-C stops`,
  );
  expect(screen).toContain('"event":"listening"');
  await terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
  expect(await readFile(join(cwd, 'out'), 'utf8')).toBe('');
});

test('O-1: without a config file the line says so', async () => {
  const cwd = await folderWithFile();
  const terminal = await programInTerminal(['serve', '--port', '0', '--store', ':memory:'], { cwd, columns: 300 });
  expect(await terminal.shows(LINE)).toContain(
    '; servers: demo (also at /mcp/demo); no config file: meanwhile.json is in this folder, but not used: add --config meanwhile.json;',
  );
  await terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('O-1: who wants silence has it on a terminal too, and without a terminal there is nothing but the log', async () => {
  const port = String(portToReturnTo());
  const silent = await programInTerminal(['serve', '--port', port, '--store', ':memory:', '--log-level', 'silent']);
  await vi.waitFor(
    async () => expect((await send(`http://127.0.0.1:${port}/healthz`, { method: 'GET' })).status).toBe(200),
    {
      timeout: 15_000,
    },
  );
  await silent.press('C-c');
  expect((await silent.ended()).screen.replace('^C', '').trim()).toBe('[exit 0]');

  const piped = await serveProgram(['--config', 'meanwhile.json'], { cwd: await folderWithFile() });
  expect(await piped.stop()).toBe(0);
  expect(logLines(piped).map(({ event }) => event)).toContain('stopping');
});
