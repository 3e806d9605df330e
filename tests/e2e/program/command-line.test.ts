import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/gateway.ts';
import { defer } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';

test('O-1: --help and --version go to standard output', async () => {
  for (const flag of ['--help', '-h']) {
    const help = await runCommand([flag]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const word of ['stdio', 'serve', 'demo', 'call', 'doctor', '--config', '--no-color', '--version']) {
      expect(help.stdout).toContain(word);
    }
  }
  const serve = await runCommand(['serve', '--help']);
  for (const word of ['--config', '--port', '--host', '--store', '--log-level', '--log-format']) {
    expect(serve.stdout).toContain(word);
  }
  for (const flag of ['--version', '-v']) {
    expect(await runCommand([flag])).toEqual({ code: 0, stdout: packageJson.version, stderr: '' });
  }
});

const WRONG_LINES: [args: string[], about: string][] = [
  [['sevre'], "no command 'sevre'"],
  [['__proto__'], "no command '__proto__'"],
  [['constructor'], "no command 'constructor'"],
  [['serve', '--prot', '1'], '--prot'],
  [['serve', 'extra'], "unexpected argument 'extra'"],
  [['serve', '--port'], '--port'],
];

test.each(WRONG_LINES)('X-4: a wrong command line %j exits with 2 and a message', async (args, about) => {
  const { code, stdout, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(about);
  expect(stderr).toMatch(/see meanwhile (?:serve )?--help/);
});

const WRONG_VALUES: [args: string[], env: Record<string, string>, about: string][] = [
  [['serve', '--port', 'http'], {}, '--port'],
  [['serve', '--port', '70000'], {}, '--port'],
  [['serve'], { MEANWHILE_PORT: '-1' }, 'MEANWHILE_PORT'],
  [['serve', '--log-level', 'loud'], {}, '--log-level'],
  [['stdio'], { MEANWHILE_LOG_LEVEL: 'loud' }, 'MEANWHILE_LOG_LEVEL'],
  [['serve', '--config', 'nowhere.json'], {}, 'nowhere.json'],
  [['serve'], { MEANWHILE_CONFIG: 'nowhere.json' }, 'MEANWHILE_CONFIG'],
];

test.each(WRONG_VALUES)('X-4: a wrong value %j %j exits with 2 and names it', async (args, env, about) => {
  const { code, stderr } = await runCommand(args, { env });
  expect(code).toBe(2);
  expect(stderr).toContain(about);
});

const WRONG_FILES: [text: string, about: RegExp][] = [
  ['{"mcpServers": {"a": {"url": "http://x/"},,}}', /meanwhile\.json:1:43: not valid JSON: expected a key/],
  ['{"mcpServers": {"a": {"urll": "http://x/"}}}', /meanwhile\.json: mcpServers\.a: .*did you mean 'url'/],
  [
    '{"meanwhile": {"tasks": {"ttlMS": 5}}}',
    /meanwhile\.json: meanwhile\.tasks\.ttlMS: unknown key; did you mean 'ttlMs'/,
  ],
  ['{"meanwhile": {"port": "x"}}', /meanwhile\.json: meanwhile\.port: /],
  ['{"meanwhile": {"tasks": {"ttlMs": 10, "maxTtlMs": 5}}}', /ttlMs \(10\) must not be more than maxTtlMs \(5\)/],
  ['[]', /meanwhile\.json/],
];

test.each(WRONG_FILES)('X-4: a config file with a mistake exits with 2 and its location: %s', async (text, about) => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'meanwhile.json'), text);
  for (const command of ['serve', 'stdio']) {
    const { code, stderr, stdout } = await runCommand([command, '--config', 'meanwhile.json'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(about);
    expect(stdout).toBe('');
  }
});

test('X-1: listening on all addresses without tokens exits with an error that names the fix', async () => {
  const { code, stderr } = await runCommand(['serve', '--host', '0.0.0.0', '--port', '0', '--store', ':memory:']);
  expect(code).not.toBe(0);
  expect(stderr).toContain('meanwhile.auth.tokens');
});

test('X-4: a port in use exits with 1 and an error that names the flag', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  defer(async () => void taken.close());
  await new Promise((resolve) => {
    taken.once('listening', resolve);
  });
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await runCommand(['serve', '--port', String(port), '--store', ':memory:']);
  expect(code).toBe(1);
  expect(stderr).toContain(`port ${port} on 127.0.0.1 is in use; choose another with --port`);
});

test('P-4: a foreign or newer store exits with 1 and a fix, and stays unchanged', async () => {
  const folder = await temporaryFolder();
  const text = join(folder, 'notes.txt');
  await writeFile(text, 'not a database');
  const foreign = join(folder, 'foreign.db');
  const other = new Database(foreign);
  other.exec('CREATE TABLE theirs (id INTEGER)');
  other.close();
  const newer = join(folder, 'newer.db');
  expect((await runCommand(['stdio', '--store', newer])).code).toBe(0);
  const future = new Database(newer);
  future.exec('PRAGMA user_version = 999');
  future.close();

  for (const [store, about] of [
    [text, 'not a database'],
    [foreign, 'the database of another program'],
    [newer, 'schema version 999'],
    [folder, 'cannot be opened'],
  ] as const) {
    for (const command of ['serve', 'stdio']) {
      const { code, stderr } = await runCommand([command, '--port', '0', '--store', store]);
      expect(code, stderr).toBe(1);
      expect(stderr).toContain(store);
      expect(stderr).toContain(about);
      expect(stderr).toContain('use another path for the store');
    }
  }
});
