/** The audit record of the program: kill -9, an orderly end, and the command that lists, exports and follows it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { runCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { serveProgram, startProgram } from '../../support/program.ts';

interface Line {
  n: number;
  gateway: string;
  kind: string;
  event: string;
  tool?: string;
  outcome?: string;
}

const linesIn = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

const shown = (lines: readonly Line[]): string[] =>
  lines.map(({ kind, event, tool, outcome }) => [kind, event, tool, outcome].filter(Boolean).join(' '));

/** A folder with a config file and a store. */
async function place(meanwhile: object = {}) {
  const server = owned(await startV1Http());
  const folder = await temporaryFolder();
  const config = join(folder, 'meanwhile.json');
  const settings = { port: 0, store: 'audit.db', audit: true, ...meanwhile };
  await writeFile(config, JSON.stringify({ mcpServers: { one: { url: server.url } }, meanwhile: settings }));
  const flags = ['--config', config];
  const audit = async (...args: string[]) => runCommand(['audit', ...flags, ...args]);
  return { flags, audit };
}

test('G-5: audit records survive kill -9, are read without a gateway and can be followed', async () => {
  const { flags, audit } = await place();
  const first = await serveProgram(flags);
  const hub = await hubOverHttp(first.url, 'modern', {}, 'editor');
  await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  const slow = hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 } }).catch(() => {});
  await vi.waitFor(async () => expect(shown(linesIn((await audit('--json')).stdout))).toContain('call began slow'), {
    timeout: 10_000,
    interval: 200,
  });
  first.child.kill('SIGKILL');
  await first.exited;
  await slow;
  const killed = await audit('--json');
  expect(killed).toMatchObject({ code: 0, stderr: '' });
  const before = linesIn(killed.stdout);
  expect(shown(before)).toContain('call ended echo completed');
  expect(shown(before).at(-1)).toBe('call began slow');
  const cannotFollow = await audit('--follow');
  expect(cannotFollow.code).toBe(1);
  expect(cannotFollow.stderr).toContain('--follow requires a running gateway');

  const second = await serveProgram(flags);
  const following = await startProgram(['audit', '--follow', '--json', '--limit', '0', ...flags]);
  const again = await hubOverHttp(second.url, 'v1', {}, 'editor');
  await vi.waitFor(
    async () => {
      await again.call('execute_tool', { server: 'one', tool: 'fail', args: {} });
      expect(following.stdout.length).toBeGreaterThan(0);
    },
    { timeout: 15_000, interval: 500 },
  );
  expect(following.stdout.map((line) => (JSON.parse(line) as Line).tool)).toContain('fail');
  following.child.kill('SIGINT');
  expect(await following.exited).toBe(0);
  const direct = await hubOverHttp(`${second.url}/one`, 'v1', {}, 'editor');
  await direct.call('echo', { text: 'y' });
  // An orderly end writes everything.
  expect(await second.stop()).toBe(0);
  const { stdout } = await audit('--json');
  const after = linesIn(stdout);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(shown(after).at(-1)).toBe('call ended echo completed');
  const [one, two] = new Set(after.map(({ gateway }) => gateway));
  for (const gateway of [one, two]) {
    const numbers = after.filter((line) => line.gateway === gateway).map(({ n }) => n);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  }
  const table = await audit('--tool', 'echo', '--since', '1h', '--limit', '1');
  expect(table.stdout).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}call ended +local \(editor\) +one echo +completed after \d+ ms$/,
  );
});

test('G-5: audit exports any number of records', async () => {
  const { flags, audit } = await place({ audit: { arguments: 'none' } });
  const program = await serveProgram(flags);
  const hub = await hubOverHttp(program.url, 'v1', {}, 'editor');
  for (let index = 0; index < 250; index += 50) {
    const some = Array.from({ length: 50 }, async () =>
      hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } }),
    );
    await Promise.all(some);
  }
  const { stdout } = await audit('--json', '--kind', 'call');
  const ends = linesIn(stdout).filter(({ event }) => event === 'ended');
  expect(ends).toHaveLength(250);
  expect(await program.stop()).toBe(0);
  expect(linesIn((await audit('--json', '--kind', 'call')).stdout)).toEqual(linesIn(stdout));
  expect(linesIn((await audit('--json', '--limit', '3')).stdout)).toHaveLength(3);
});

test('G-5: mistakes on the command line of audit get an error with an explanation', async () => {
  const { audit } = await place();
  for (const [args, message] of [
    [['--kind', 'cal'], /--kind: there is no kind 'cal'.*call/],
    [['--since', 'yesterday'], /--since: expected a time such as 2h/],
    [['--limit', 'all'], /--limit: expected a whole number/],
    [['a', 'b'], /unexpected argument 'b'/],
    [['--stdio', '--store', 'x.db'], /--stdio selects the store/],
  ] as const) {
    const { code, stderr } = await audit(...args);
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(message);
  }
  const none = await audit();
  expect(none.code).toBe(1);
  expect(none.stderr).toContain('no gateway');
});
