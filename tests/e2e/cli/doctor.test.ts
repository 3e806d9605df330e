import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { startProgram } from '../../support/program.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { programInTerminal } from '../../support/terminal.ts';
import { listenRaw } from './raw-listener.ts';

test('C-3: doctor describes each server of the config file and its capabilities', async () => {
  const [old, modern] = [owned(await startTasksV1Http()), owned(await startTasksV2Http())];
  const config = await configFile({
    old: { url: old.url },
    modern: { url: modern.url },
    child: v1Stdio(),
    'new-child': v2Stdio(),
  });
  const { code, stdout } = await runCommand(['doctor', '--config', config]);
  expect(code).toBe(0);
  const line = (name: string): string => stdout.split('\n').find((each) => each.startsWith(`✓ ${name} `)) ?? '';
  expect(line('old')).toMatch(
    /http, protocol 2025-11-25 \(legacy\), .*1\d tools, tasks \(2025-11-25, list, cancel\), round trip [\d.]+ ms$/,
  );
  expect(line('modern')).toMatch(
    /http, protocol 2026-07-28 \(modern\), .*1\d tools, tasks \(2026-07-28, cancel\), round trip [\d.]+ ms$/,
  );
  expect(line('child')).toMatch(/command, protocol 2025-11-25 \(legacy\), .*no tasks/);
  expect(line('new-child')).toMatch(/command, protocol 2026-07-28 \(modern\), .*no tasks/);
  expect(stdout).toMatch(
    /✓ child .*\n {2}capabilities: .*tools.*resources|✓ child .*\n {2}capabilities: .*resources.*tools/,
  );
});

test('C-3: doctor reports each problem with a fix and exits with 1', async () => {
  const locked = await listenRaw(401);
  const lost = await listenRaw(404);
  const config = await configFile({
    fine: v1Stdio(),
    away: { url: 'http://127.0.0.1:1/mcp' },
    locked: { url: locked.url },
    lost: { url: lost.url },
    missing: { command: 'no-such-program' },
    dying: v1Stdio({ TEST_EXIT_AT_START: '1' }),
  });
  const { code, stdout } = await runCommand(['doctor', '--config', config]);
  expect(code).toBe(1);
  const about = (name: string): string =>
    stdout.split(/^(?=[✓✗] )/m).find((each) => each.startsWith(`✗ ${name}`)) ?? '';
  expect(stdout).toContain('✓ fine');
  expect(about('away')).toMatch(/problem: .*ECONNREFUSED[\s\S]*fix: no program listens there/);
  expect(about('locked')).toMatch(/problem: .*401[\s\S]*fix: .*--header 'Authorization/);
  expect(about('lost')).toMatch(/problem: [\s\S]*fix: .*many servers are at \/mcp/);
  expect(about('missing')).toMatch(/problem: .*no-such-program[\s\S]*fix: check that the program is installed/);
  expect(about('dying')).toMatch(
    /problem: .*exited with code 1[\s\S]*fix: run the command by hand to see why it exits/,
  );

  const json = await runCommand(['doctor', '--config', config, '--json']);
  expect(json.code).toBe(1);
  const { servers } = JSON.parse(json.stdout) as { servers: { server: string; ok: boolean; problems: unknown[] }[] };
  expect(servers.map(({ server, ok }) => [server, ok])).toEqual([
    ['fine', true],
    ['away', false],
    ['locked', false],
    ['lost', false],
    ['missing', false],
    ['dying', false],
  ]);
  expect(servers[0]).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25', tasks: null, problems: [] });
});

test('C-3: doctor accepts names, URLs and commands; without any it examines the demo server', async () => {
  const { url } = owned(await startTasksV1Http());
  const { command, args } = v2Stdio();
  const { code, stdout } = await runCommand(['doctor', url, `${command} ${args[0]}`, 'demo']);
  expect(code).toBe(0);
  expect(stdout.match(/^✓ /gm)).toHaveLength(3);
  expect((await runCommand(['doctor'])).stdout).toContain('✓ demo');
});

test('C-3: doctor reports that there are no servers to examine', async () => {
  const { code, stderr } = await runCommand(['doctor', '--config', await configFile({})]);
  expect(code).toBe(2);
  expect(stderr).toContain('there are no servers');
});

/** A program that reads what it is told, and never says a word. */
const SILENT = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] };
const TELL_START = 'process.stdin.resume(); fs.writeFileSync(process.env.TEST_START_LOG, "started")';

test('C-3: --timeout of doctor applies to each server: a silent one gets a problem and a fix, others their report', async () => {
  const config = await configFile({ silent: SILENT, fine: v1Stdio() });
  const { code, stdout } = await runCommand(['doctor', '--config', config, '--timeout', '3']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✓ fine {2}.*tools/m);
  expect(stdout).toMatch(
    /^✗ silent\n {2}problem: no MCP response within 3s\n {2}fix: the program started but does not answer/m,
  );
  // As they become known, not as the file has them.
  expect(stdout.indexOf('fine')).toBeLessThan(stdout.indexOf('silent'));

  const json = await runCommand(['doctor', '--config', config, '--timeout', '3s', '--json']);
  expect(json.code).toBe(1);
  const { servers } = JSON.parse(json.stdout) as { servers: { server: string; ok: boolean }[] };
  expect(servers.map(({ server, ok }) => [server, ok])).toEqual([
    ['silent', false],
    ['fine', true],
  ]);
});

test('C-3: an interrupted doctor prints the results so far', async () => {
  const config = await configFile({ silent: SILENT, fine: v1Stdio() });
  const program = await startProgram(['doctor', '--config', config, '--timeout', '10m']);
  await expect.poll(() => program.stdout.join('\n'), { timeout: 10_000 }).toContain('✓ fine');
  program.child.kill('SIGINT');
  expect(await program.exited).toBe(130);
  expect(program.stderr).toEqual(['meanwhile: interrupted; not checked: silent']);

  const log = join(await temporaryFolder(), 'started');
  const json = await startProgram(['doctor', `TEST_START_LOG='${log}' ${SILENT.command} -e '${TELL_START}'`, '--json']);
  await expect.poll(async () => readFile(log, 'utf8').catch(() => ''), { timeout: 10_000 }).toBe('started');
  json.child.kill('SIGINT');
  expect(await json.exited).toBe(130);
  expect(JSON.parse(json.stdout.join('\n'))).toMatchObject({
    servers: [{ ok: false, problems: [{ problem: 'interrupted before the check finished' }] }],
  });
});

test('C-3: doctor lists a disabled server and does not count it as a failure', async () => {
  const file = join(await temporaryFolder(), 'meanwhile.json');
  const off = { url: 'http://127.0.0.1:1/mcp', disabled: true };
  await writeFile(file, JSON.stringify({ mcpServers: { off, fine: v1Stdio() }, meanwhile: { store: ':memory:' } }));
  const { code, stdout } = await runCommand(['doctor', '--config', file]);
  expect(code).toBe(0);
  expect(stdout).toContain('- off  disabled in the config file');
  const json = await runCommand(['doctor', '--config', file, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ servers: [{ server: 'fine' }, { server: 'off', disabled: true }] });
  const called = await runCommand(['call', 'off', 'echo', '--config', file]);
  expect(called.code).toBe(2);
  expect(called.stderr).toContain(`'off' is disabled in the config file (${file})`);
});

test('C-3, M-1, M-6: doctor reports patterns that match no tool or no server', async () => {
  const filtered = { ...v1Stdio(), include: ['echo', 'xyz'], exclude: ['hold_*'] };
  const config = await configFile({ filtered }, { groups: { none: { servers: ['x-*'] } } });
  const { code, stdout, stderr } = await runCommand(['doctor', '--config', config]);
  expect(code).toBe(1);
  expect(stdout).toContain(', 1 tool,');
  for (const pattern of ['xyz', 'hold_*']) expect(stdout).toContain(`problem: the pattern '${pattern}' of its include`);
  expect(stderr).toContain("meanwhile.groups.none.servers[0]: the pattern 'x-*' matches no server; known: filtered");
});

test('C-3: on a narrow terminal doctor breaks its lines between words', async () => {
  const config = await configFile({ fine: v1Stdio(), away: { url: 'http://127.0.0.1:1/mcp' } });
  const terminal = await programInTerminal(['doctor', '--config', config], { columns: 40 });
  const { screen } = await terminal.ended();
  for (const whole of ['protocol', 'capabilities:', 'ECONNREFUSED', 'round trip', '2025-11-25', 'correct']) {
    expect(screen).toMatch(new RegExp(`(?:^|[ (])${whole.replace(' ', '\\s+')}(?:[ ,)]|$)`, 'm'));
  }
});
