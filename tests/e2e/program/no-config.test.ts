/** Which config file is used when none is named: the one in the current folder, except on stdio. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { logged, logLines, serveProgram, startProgram } from '../../support/program.ts';
import { v1Stdio } from '../../support/servers.ts';

const FLAGS = ['--port', '0', '--store', ':memory:'];
const UNUSED = 'meanwhile.json is in this folder, but stdio does not use it automatically: add --config meanwhile.json';
const NONE = 'create meanwhile.json in this folder, or use --config FILE';

async function folderWithFile(text?: string): Promise<string> {
  const cwd = await temporaryFolder();
  const file = { mcpServers: { files: v1Stdio() }, meanwhile: { port: 0, store: ':memory:' } };
  await writeFile(join(cwd, 'meanwhile.json'), text ?? JSON.stringify(file));
  return cwd;
}

test('C-3: commands use the meanwhile.json of the current folder', async () => {
  const cwd = await folderWithFile();
  expect(await runCommand(['call', 'files', 'echo', 'text=hi'], { cwd })).toEqual({
    code: 0,
    stdout: 'hi',
    stderr: '',
  });
  const unknown = await runCommand(['tools', 'demo'], { cwd });
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain(`it has files (${join(cwd, 'meanwhile.json')})`);

  const examined = await runCommand(['doctor'], { cwd });
  expect(examined).toMatchObject({
    code: 0,
    stderr: 'meanwhile: examining the servers of meanwhile.json in this folder',
  });
  expect(examined.stdout).toContain('✓ files');
});

test('C-3: --config and MEANWHILE_CONFIG win over the file in the folder', async () => {
  const cwd = await folderWithFile();
  await writeFile(join(cwd, 'other.json'), JSON.stringify({ mcpServers: { other: v1Stdio() } }));
  expect((await runCommand(['tools', 'other', '--config', 'other.json'], { cwd })).code).toBe(0);
  expect((await runCommand(['tools', 'other'], { cwd, env: { MEANWHILE_CONFIG: 'other.json' } })).code).toBe(0);
  expect((await runCommand(['tools', 'files', '--config', 'other.json'], { cwd })).code).toBe(2);
});

test('X-4: the error for a mistake in the folder’s file says why that file is read', async () => {
  for (const args of [['tools', 'files'], ['doctor'], ['serve'], ['store']]) {
    const { code, stderr } = await runCommand(args, { cwd: await folderWithFile('{"mcpServers": []}') });
    expect(code).toBe(2);
    expect(stderr).toContain('meanwhile.json: mcpServers: ');
    expect(stderr).toContain(
      'Meanwhile uses meanwhile.json because it is in this folder; use --config FILE for another file',
    );
  }
  // A server that is a URL or a command needs no file.
  const { command, args } = v1Stdio();
  const cwd = await folderWithFile('{');
  expect((await runCommand(['tools', `${command} ${args[0]}`], { cwd })).code).toBe(0);
});

test('C-3: a folder named meanwhile.json is ignored', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'meanwhile.json'));
  expect((await runCommand(['tools', 'demo'], { cwd })).code).toBe(0);
});

test('O-1: serve uses and logs the file of the folder, and stdio ignores it with a message', async () => {
  const cwd = await folderWithFile();
  const program = await serveProgram([], { cwd });
  expect(await logged(program, 'config_file')).toMatchObject({
    level: 'info',
    data: { file: join(cwd, 'meanwhile.json') },
  });
  const hub = await hubOverHttp(program.url);
  const { body } = await hub.call('list_servers');
  expect((body['servers'] as Json[]).map(({ name }) => name)).toEqual(['files']);

  const stdio = await startProgram(['stdio', '--store', ':memory:'], { cwd });
  expect(await logged(stdio, 'no_config_file')).toMatchObject({
    level: 'warn',
    data: { servers: ['demo'], hint: UNUSED },
  });
});

test('C-3: without a config file there is the demo server, and messages say how to create a file', async () => {
  const unknown = await runCommand(['tools', 'files']);
  expect(unknown.stderr).toContain(`there is no config file, and without one only demo; ${NONE}`);
  const examined = await runCommand(['doctor', '--json']);
  const lead = 'meanwhile: there is no config file, so only the demo server is checked';
  expect(examined).toMatchObject({ code: 0, stderr: `${lead}; ${NONE}` });
  expect(JSON.parse(examined.stdout)).toMatchObject({ servers: [{ server: 'demo' }] });

  const program = await serveProgram(FLAGS);
  expect(await logged(program, 'no_config_file')).toMatchObject({
    level: 'info',
    data: { servers: ['demo'], hint: NONE },
  });
  expect(await program.stop()).toBe(0);
  expect(logLines(program).map(({ event }) => event)).not.toContain('config_file');
  expect(program.stdout).toEqual([]);
});
