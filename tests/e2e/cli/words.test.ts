/** What the program says when something is wrong: the reason, in words, and a fix that fits. */
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { v1Stdio } from '../../support/servers.ts';
import { listenRaw } from './raw-listener.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';

describe('the error of a server that cannot be reached', () => {
  test('C-3: contains its address, its name and the reason in words', async () => {
    const config = await configFile({ away: { url: 'http://127.0.0.1:1/sse' }, lost: { ...v1Stdio(), cwd: '/nope' } });
    const { stderr } = await runCommand(['tools', 'away', '--config', config]);
    expect(stderr).toContain(
      'cannot reach away (http://127.0.0.1:1/sse): connection refused (ECONNREFUSED)\nno program',
    );
    const { stdout } = await runCommand(['doctor', '--config', config]);
    expect(stdout).toContain('problem: http://127.0.0.1:1/sse cannot be reached: connection refused (ECONNREFUSED)');
    expect(stdout).toMatch(/the folder '\/nope' .* was not found\n {2}fix: create the folder, or correct "cwd"/);
  });

  test('C-3: contains only the status of an error page', async () => {
    const page = `<!DOCTYPE html>\n<title>Oops</title>\n${'<p>a secret line</p>\n'.repeat(50)}`;
    const { url } = await listenRaw(404, page);
    const { code, stderr } = await runCommand(['tools', url]);
    expect(code).toBe(1);
    const { origin } = new URL(url);
    expect(stderr.split('\n')[0]).toBe(`meanwhile: cannot reach ${url}: HTTP 404 Not Found from ${origin}`);
    for (const status of [404, 502]) {
      const { url: at } = await listenRaw(status, page);
      const { stdout } = await runCommand(['doctor', at]);
      expect(stdout).toContain(`HTTP ${status}`);
      expect(stdout).not.toMatch(/<|secret/);
    }
  });

  test('C-3: is that of the gateway, without advice for another server', async () => {
    const { url } = await httpGateway({ broken: { command: 'no-such-program' } });
    const broken = await runCommand(['tools', `${url}/broken`]);
    expect(broken).toMatchObject({ code: 1 });
    expect(broken.stderr).toBe(
      `meanwhile: cannot reach ${url}/broken: server 'broken' cannot be reached: command 'no-such-program' was not found`,
    );
    const unknown = await runCommand(['tools', `${url}/nix`]);
    expect(unknown.stderr).toBe(`meanwhile: cannot reach ${url}/nix: no server 'nix'; known: broken; groups: all`);
  });

  test('C-3: has different advice for a wrong token than for a missing one', async () => {
    const { url } = await httpGateway({}, { auth: { tokens: { me: TOKEN } } });
    const none = await runCommand(['tools', url]);
    expect(none.stderr).toContain(
      `cannot reach ${url}: the server requires authorization (HTTP 401): send a known token`,
    );
    expect(none.stderr).toContain("add a header with your credentials, as in --header 'Authorization: Bearer …'");
    const wrong = await runCommand(['tools', url, '--header', 'Authorization: Bearer wrong']);
    expect(wrong.stderr).toContain('the header Authorization was not accepted');
    expect(wrong.stderr).not.toContain('add a header');
    expect((await runCommand(['tools', url, '--header', `Authorization: Bearer ${TOKEN}`])).code).toBe(0);
  });

  test('C-3, B-4: quotes the error of a program that exits', async () => {
    const file = join(await temporaryFolder(), 'dying.mjs');
    await writeFile(
      file,
      `const cause = Object.assign(new Error('deep'), { code: 'E_DEEP' });
       throw Object.assign(new TypeError('the shop is closed', { cause }), { code: 'E_SHOP' });`,
    );
    const { stderr } = await runCommand(['tools', `node ${file}`]);
    expect(stderr).toContain(
      'process exited with code 1; its last output: TypeError: the shop is closed\nrun the command',
    );
  });

  test('C-3, B-4: quotes text that a program prints to standard output', async () => {
    const { stderr } = await runCommand(['tools', 'echo hello there']);
    expect(stderr).toContain('it printed to standard output, which is reserved for messages: "hello there"');
  });
});

test('O-1: help and version are commands, and serve, stdio and demo have their own help', async () => {
  const [flag, word] = [await runCommand(['--help']), await runCommand(['help'])];
  expect(word).toEqual(flag);
  expect(await runCommand(['version'])).toEqual(await runCommand(['--version']));
  expect(await runCommand(['help', 'call'])).toEqual(await runCommand(['call', '--help']));
  for (const command of ['serve', 'stdio', 'demo']) {
    const { code, stdout } = await runCommand([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: meanwhile \\[?${command}`));
    expect(stdout.split('\n').length).toBeLessThan(24);
  }
});

test.each([
  [['s', 't', '{"topic":"tea"}'], `give a JSON object with --args: --args '{"topic":"tea"}'`],
  [['npx', 'some-server', 'echo', 'text=x'], 'put the command in quotes: meanwhile call "npx some-server …" …'],
])('C-3: a call in another syntax gets a hint to the right one: %j', async (args, hint) => {
  const { code, stderr } = await runCommand(['call', ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(hint);
});

describe('the error after --timeout of a call', () => {
  // Long enough for a busy machine to get the call to its server.
  const CALL = ['slow', 'ms=60000', '--timeout', '4s', '--json'];

  test('C-3: says that the call was cancelled', async () => {
    const server = owned(await startV1Http());
    const { code, stdout } = await runCommand(['call', server.url, ...CALL]);
    expect(code).toBe(5);
    const message = 'timed out after 4s; the call was cancelled';
    expect(JSON.parse(stdout)).toEqual({ error: { code: 'timeout', message, confirmed: true } });
  });

  test('C-3: names the cancelled task', async () => {
    const server = owned(await startTasksV2Http());
    const { stdout } = await runCommand(['call', server.url, ...CALL]);
    const message = 'timed out after 4s; the call was cancelled';
    const taskId: unknown = expect.any(String);
    expect(JSON.parse(stdout)).toEqual({ error: { code: 'timeout', message, confirmed: true, taskId } });
  });

  test('C-3: says that the server may continue if it got no confirmed cancel', async () => {
    const server = owned(await startV2Http());
    const { code, stderr } = await runCommand(['call', server.url, ...CALL]);
    expect(code).toBe(5);
    expect(stderr).toContain('the call was abandoned; the server may continue it');
  });
});

test('C-3: tasks commands at a hub suggest the hub tools', async () => {
  const { url } = await httpGateway({});
  const list = await runCommand(['tasks', 'list', url]);
  expect(list.code).toBe(1);
  expect(list.stderr).toContain(`which offers its tasks through tools: node `);
  expect(list.stderr).toMatch(new RegExp(`call ${url} list_tasks$`));
  const one = await runCommand(['tasks', 'result', url, 'abc']);
  expect(one.stderr).toMatch(new RegExp(`call ${url} get_task_result task_id=abc$`));
});
