import { symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { listenRaw } from './raw-listener.ts';

const ECHO = ['echo', 'text=hello'];

test('C-3: a server is a name in the config file, which --config or the environment names', async () => {
  const { url } = owned(await startV1Http());
  const config = await configFile({ web: { url }, old: v1Stdio(), new: v2Stdio() });
  for (const name of ['web', 'old', 'new']) {
    expect(await runCommand(['call', name, ...ECHO, '--config', config])).toMatchObject({ code: 0, stdout: 'hello' });
  }
  const byEnvironment = await runCommand(['call', 'web', ...ECHO], { env: { MEANWHILE_CONFIG: config } });
  expect(byEnvironment).toMatchObject({ code: 0, stdout: 'hello' });
});

test('C-3: without a config file the demo server is available', async () => {
  const { code, stdout } = await runCommand(['call', 'demo', 'slow_report', 'topic=tea', 'seconds=0']);
  expect(code).toBe(0);
  expect(stdout).toContain('Report on tea');
});

test('C-3: a server is a quoted command, with variables before it', async () => {
  const { command, args } = v1Stdio();
  const log = join(await temporaryFolder(), 'a log');
  const text = `TEST_START_LOG='${log}' '${command}' "${args[0]}"`;
  expect(await runCommand(['call', text, ...ECHO])).toMatchObject({ code: 0, stdout: 'hello' });
});

test('C-3: an unknown server name gets an error with suggestions and the other forms', async () => {
  const config = await configFile({ files: v1Stdio() });
  const { code, stderr } = await runCommand(['tools', 'fils', '--config', config]);
  expect(code).toBe(2);
  for (const part of [
    "no server 'fils'",
    "did you mean 'files'?",
    config,
    'a URL (https://…)',
    'a command in quotes',
  ]) {
    expect(stderr).toContain(part);
  }
});

test('C-3: a broken config file is an error only for commands that need it', async () => {
  const { url } = owned(await startV1Http());
  const config = join(await temporaryFolder(), 'meanwhile.json');
  await writeFile(config, '{');
  const byName = await runCommand(['tools', 'files', '--config', config, '--json']);
  expect(byName.code).toBe(2);
  expect(JSON.parse(byName.stdout)).toMatchObject({ error: { code: 'config' } });
  expect((await runCommand(['tools', url, '--config', config])).code).toBe(0);
});

test('C-3: --header headers are sent with every request', async () => {
  const listener = await listenRaw();
  const { code } = await runCommand([
    'tools',
    listener.url,
    '--header',
    'Authorization: Bearer abc',
    '--header',
    'X-Two: 2',
  ]);
  expect(code).toBe(1);
  expect(listener.requests.length).toBeGreaterThan(0);
  for (const headers of listener.requests) expect(headers).toMatchObject({ authorization: 'Bearer abc', 'x-two': '2' });
});

test('C-3, X-4: the error of a server that requires authorization names the header and hides secrets', async () => {
  const listener = await listenRaw();
  const { code, stderr } = await runCommand(['tools', `${listener.url}?key=secret`, '--header', 'X-Key: secret']);
  expect(code).toBe(1);
  expect(stderr).toContain('the header X-Key was not accepted');
  expect(stderr).not.toContain('secret');
});

test('C-3: a server is a single word: a program on the PATH or a file in the folder', async () => {
  const { command, args } = v1Stdio();
  const folder = await temporaryFolder();
  const script = `#!/bin/sh\nexec '${command}' '${args[0]}'\n`;
  await writeFile(join(folder, 'my-server'), script, { mode: 0o755 });
  const onPath = await runCommand(['call', 'my-server', ...ECHO], {
    env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
  });
  expect(onPath).toMatchObject({ code: 0, stdout: 'hello' });
  expect(await runCommand(['call', 'my-server', ...ECHO], { cwd: folder })).toMatchObject({ code: 0, stdout: 'hello' });
  expect((await runCommand(['call', 'my-server', ...ECHO])).code).toBe(2);
});

test('C-3: a command with spaces works in a folder with a broken meanwhile.json', async () => {
  const { command, args } = v1Stdio();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'meanwhile.json'), '{ "mcpServers": ');
  await symlink(args[0] ?? '', join(folder, 'server.mjs'));
  const env = { PATH: `${dirname(command)}:${process.env['PATH'] ?? ''}` };
  const ran = await runCommand(['call', 'node server.mjs', ...ECHO], { cwd: folder, env });
  expect(ran).toMatchObject({ code: 0, stdout: 'hello' });
  expect((await runCommand(['call', 'server', ...ECHO], { cwd: folder, env })).code).toBe(2);
});

test('C-3: serve at a port in use prints only that error', async () => {
  const { port } = new URL((await listenRaw()).url);
  const { code, stderr } = await runCommand(['serve', '--port', port, '--store', ':memory:']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^meanwhile: port \d+ on 127\.0\.0\.1 is in use; .*$/);
});
