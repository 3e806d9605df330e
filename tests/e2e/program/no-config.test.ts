import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/gateway.ts';
import { logged, logLines, runProgram, serveProgram, startProgram } from '../../support/program.ts';

const UNUSED = 'meanwhile.json is in this folder, but not used: add --config meanwhile.json';

async function folderWithFile(): Promise<string> {
  const cwd = await temporaryFolder();
  const meanwhile = { port: 0, store: ':memory:' };
  await writeFile(join(cwd, 'meanwhile.json'), JSON.stringify({ mcpServers: {}, meanwhile }));
  return cwd;
}

test('C-3: an unknown server beside a config file that is not used gets a message that names the file', async () => {
  const cwd = await folderWithFile();
  for (const args of [
    ['tools', 'files'],
    ['doctor', 'files'],
  ]) {
    const { code, stderr } = await runProgram(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`there is no config file, and without one only demo; ${UNUSED}`);
  }
  const elsewhere = await runProgram(['tools', 'files']);
  expect(elsewhere.stderr).toContain('without one only demo; give yours with --config FILE');
});

test('C-3: doctor says that it examines only the demo server, and why', async () => {
  const lead = 'meanwhile: there is no config file, so only the demo server is examined';
  const unused = await runProgram(['doctor'], { cwd: await folderWithFile() });
  expect(unused).toMatchObject({ code: 0, stderr: `${lead}; ${UNUSED}` });
  expect(unused.stdout).toContain('✓ demo');
  const none = await runProgram(['doctor', '--json']);
  expect(none).toMatchObject({ code: 0, stderr: `${lead}; give yours with --config FILE` });
  expect(JSON.parse(none.stdout)).toMatchObject({ servers: [{ server: 'demo' }] });
});

test('O-1: a gateway without a config file logs that there is only the demo server', async () => {
  const flags = ['--port', '0', '--store', ':memory:'];
  const none = await serveProgram(flags);
  expect(await logged(none, 'no_config_file')).toMatchObject({
    level: 'info',
    data: { servers: ['demo'], hint: 'give yours with --config FILE' },
  });
  const cwd = await folderWithFile();
  const unused = await serveProgram(flags, { cwd });
  expect(await logged(unused, 'no_config_file')).toMatchObject({ level: 'warn', data: { hint: UNUSED } });
  const stdio = await startProgram(['stdio', '--store', ':memory:'], { cwd });
  expect(await logged(stdio, 'no_config_file')).toMatchObject({ level: 'warn', data: { hint: UNUSED } });

  const named = await serveProgram(['--config', 'meanwhile.json'], { cwd });
  expect(await named.stop()).toBe(0);
  expect(logLines(named).map(({ event }) => event)).not.toContain('no_config_file');
  expect(named.stdout).toEqual([]);
});
