import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLIENT_NAMES } from '../../../../src/cli/link/names.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { realFile } from '../../../support/client-files.ts';
import { newHome } from '../../../support/client-home.ts';

const VARIABLES = ['GITHUB_TOKEN', 'PERPLEXITY_KEY', 'MAPS_KEY', 'FIGMA_TOKEN', 'WEATHER_KEY', 'EVERYTHING_KEY'];

test('L-1: import collects the servers of all clients into a config file that the gateway reads', async () => {
  const { run, write, home, read } = await newHome();
  for (const client of CLIENT_NAMES) await write(client, realFile(client));
  await run('link', 'cursor', 'codex', '--yes');
  const linked = await read('cursor');
  const { code, stdout, stderr } = await run('import', '--yes');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('✓ 15 servers were imported');
  expect(stdout).toContain('- figma (Windsurf): it is disabled');
  expect(stdout).toContain('! github (Claude Code): needs GITHUB_TOKEN in the environment of Meanwhile; empty while');
  expect(stdout).toContain('! perplexity (VS Code): the editor asks for perplexity-key');
  expect(stderr).toContain('add Meanwhile to the clients with meanwhile link');
  // Secrets are in the file, which is private, and not on the screen.
  expect(stdout).not.toMatch(/sk-cursor|c7-secret/);
  expect(stdout).toContain('"API_KEY": "***"');
  expect(stdout).toContain('"Authorization": "Bearer ${GITHUB_TOKEN:-}"');
  const file = join(home, 'meanwhile.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const env = { HOME: home, ...Object.fromEntries(VARIABLES.map((name) => [name, `value of ${name}`])) };
  const { servers } = await loadConfig({ flags: { config: file }, env, cwd: home });
  expect(servers.size).toBe(15);
  expect(servers.get('db')).toMatchObject({ env: { API_KEY: 'sk-cursor-0123456789abcdef' } });
  expect(servers.get('figma')).toMatchObject({ headers: { Authorization: 'Bearer value of FIGMA_TOKEN' } });
  expect(servers.has('meanwhile')).toBe(false);
  // The files of the clients are only read.
  expect(await read('cursor')).toBe(linked);

  const again = await run('import', '--yes');
  expect(again).toMatchObject({ code: 0, stderr: 'there is nothing to import' });
  expect(again.stdout).toContain("- github (Claude Code): it is the same as 'github' in the config file");
});

test('L-1: import extends a config file, keeps its comments and reports conflicting names', async () => {
  const { run, write, home } = await newHome();
  const file = join(home, 'my.json');
  const text =
    '{\n  // mine\n  "mcpServers": {\n    "db": { "command": "my-db" }, // stays\n  },\n  "meanwhile": { "port": 0 },\n}\n';
  await writeFile(file, text);
  await write('cursor', realFile('cursor'));
  await write(
    'claude-desktop',
    JSON.stringify({ mcpServers: { lin: { url: 'https://mcp.linear.app/mcp' }, 'a/b': { command: 'c' } } }),
  );
  await write('gemini', JSON.stringify({ mcpServers: { linear: { httpUrl: 'https://other.example/mcp' } } }));
  const { code, stdout } = await run('import', '--yes', '--config', file);
  expect(code).toBe(1);
  expect(stdout).toContain('✗ db (Cursor): the config file has another server of this name; rename one of them');
  expect(stdout).toContain("- linear (Cursor): it is the same as 'lin' of Claude Desktop");
  expect(stdout).toContain('+ a/b (Claude Desktop): as a-b, because');
  expect(await readFile(file, 'utf8')).toBe(
    text.replace(
      '// stays\n',
      '// stays\n    "lin": {\n      "url": "https://mcp.linear.app/mcp"\n    },\n    "a-b": {\n      "command": "c"\n    },\n' +
        '    "linear": {\n      "url": "https://other.example/mcp"\n    },\n',
    ),
  );
});

test('L-1: import reports a file that it cannot parse and imports the servers of the others', async () => {
  const { run, write, home, fileOf } = await newHome();
  await write('cursor', '{ "mcpServers": ');
  await write('zed', realFile('zed'));
  const { code, stdout } = await run('import', '--yes');
  expect(code).toBe(1);
  expect(stdout).toContain(`✗ Cursor: ${fileOf('cursor')}: line 1`);
  expect(stdout).toContain('✓ 2 servers were imported');
  await writeFile(join(home, 'meanwhile.json'), '[1]');
  expect(await run('import', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected a JSON object') as string,
  });
  expect(await readFile(join(home, 'meanwhile.json'), 'utf8')).toBe('[1]');
});

test('L-1: import hides arguments that may be secret, and writes nothing without confirmation', async () => {
  const { run, write, home } = await newHome();
  const args = [
    '--api-key',
    'hidden1',
    '--token=hidden2',
    'https://u:hidden3@x.example/',
    '--name=shown',
    '/plain/path',
  ];
  await write('cursor', JSON.stringify({ mcpServers: { a: { command: 'run-it', args } } }));
  const { code, stdout, stderr } = await run('import');
  expect(code).toBe(6);
  expect(stderr).toContain('nothing was changed');
  expect(stdout).toMatch(/"run-it"[^]*"--api-key"[^]*"--name=shown"[^]*"\/plain\/path"/);
  expect(stdout).not.toContain('hidden');
  await expect(stat(join(home, 'meanwhile.json'))).rejects.toThrow('ENOENT');
});
