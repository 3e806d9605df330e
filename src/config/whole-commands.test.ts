import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'meanwhile-config-'));
  for (const folder of ['bin', 'own', 'My Tools']) await mkdir(join(cwd, folder));
  for (const file of ['bin/npx', 'own/uvx', 'bin/with space', 'bin/with', 'server', 'My Tools/run me', 'My']) {
    await writeFile(join(cwd, file), '');
    await chmod(join(cwd, file), 0o755);
  }
});
afterEach(() => rm(cwd, { recursive: true }));

async function mistakes(entry: unknown, more: Record<string, string> = {}): Promise<readonly string[]> {
  await writeFile(join(cwd, 'm.json'), JSON.stringify({ mcpServers: { a: entry } }));
  try {
    await loadConfig({ flags: { config: 'm.json' }, env: { PATH: join(cwd, 'bin'), ...more }, cwd });
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

const LEAD = 'm.json: mcpServers.a.command: only the program belongs here; its arguments belong in "args"';

it.each([
  [{ command: 'npx -y some-server' }, ': "command": "npx", "args": ["-y", "some-server"]'],
  [{ command: 'npx -y', args: ['some-server'] }, ': "command": "npx", "args": ["-y", …]'],
  [{ command: './server --stdio' }, ': "command": "./server", "args": […]'],
  [{ command: 'uvx some-server', env: { PATH: '../own' }, cwd: 'bin' }, ': "command": "uvx", "args": ["some-server"]'],
  [{ command: 'npx -y some-server ${KEY}' }, ': "command": "npx", "args": ["-y", "some-server", …]'],
  [{ command: '${LINE}' }, ''],
])(
  'C-3, B-1: a whole command line in "command" is a mistake, and the message shows how to split it: %j',
  async (entry, split) => {
    expect(await mistakes(entry, { KEY: 'hunter2', LINE: 'npx hunter2' })).toEqual([LEAD + split]);
  },
);

it.each([
  [{ command: 'npx', args: ['-y', 'some-server'] }],
  [{ command: 'with space' }],
  [{ command: './My Tools/run me' }],
  // Neither is there: what was meant is not certain, and the server may be installed later.
  [{ command: 'uvx some-server' }],
  [{ command: '/opt/My Tools/server' }],
  [{ command: './bin something' }],
  [{ command: `nothing ${'x'.repeat(5000)}` }],
])('B-1: a command with spaces is accepted if it may be the name of a program: %j', async (entry) => {
  expect(await mistakes(entry)).toEqual([]);
});

it('C-3: a whole command line is reported along with other mistakes, and once per place', async () => {
  expect(await mistakes({ command: 'npx -y x', arg: [] })).toEqual([
    expect.stringContaining('mcpServers.a.arg: unknown key'),
    expect.stringContaining(LEAD),
  ]);
  expect(await mistakes({ command: 'npx ${MISSING}' })).toEqual([expect.stringContaining('MISSING is not set')]);
});

it('B-1: a relative command without cwd is resolved against the working folder, not the config file', async () => {
  await mkdir(join(cwd, 'etc'));
  await writeFile(join(cwd, 'etc', 'tool'), '');
  const file = join(cwd, 'etc', 'm.json');
  const load = async (entry: object) => {
    await writeFile(file, JSON.stringify({ mcpServers: { a: entry } }));
    return loadConfig({ flags: { config: file }, env: {}, cwd });
  };
  await expect(load({ command: './server --stdio' })).rejects.toThrow('only the program belongs here');
  const { servers } = await load({ command: './tool --stdio' });
  expect(servers.get('a')).toEqual({ command: './tool --stdio' });
  await expect(load({ command: './tool --stdio', cwd: '.' })).rejects.toThrow('only the program belongs here');
});
