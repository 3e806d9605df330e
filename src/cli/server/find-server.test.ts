import { expect, test } from 'vitest';
import { ConfigError } from '../../config/config-error.ts';
import { loadConfig } from '../../config/load.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import type { ProgramConfig } from '../config.ts';
import { findServer } from './find-server.ts';

async function config(): Promise<ProgramConfig> {
  const loaded = await loadConfig({ flags: {}, env: {}, cwd: '/' });
  const servers = new Map<string, ServerConfig>([
    ['files', { command: 'files-server' }],
    ['my files', { command: 'files-server' }],
    ['api', { url: 'https://api.example/mcp', headers: { Authorization: 'Bearer file', 'X-Kept': '1' } }],
  ]);
  return { ...loaded, source: 'named', servers, file: '/etc/meanwhile.json', disabled: ['off'] };
}

const unread = async (): Promise<ProgramConfig> => {
  throw new Error('the config file was read');
};

test('C-3: a server is found by its name in the config file, with its settings', async () => {
  expect(await findServer('files', [], config)).toEqual({
    name: 'files',
    config: { command: 'files-server' },
    inConfigFile: true,
    connectTimeoutMs: 30_000,
  });
});

test('C-3: a server can be a URL with headers', async () => {
  const found = await findServer('https://x.example/mcp', ['Authorization: Bearer a:b', 'X-Empty:'], unread);
  expect(found).toEqual({
    name: 'https://x.example/mcp',
    config: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer a:b', 'X-Empty': '' } },
  });
});

test.each<[string, ServerConfig]>([
  ['npx -y @some/server --flag', { command: 'npx', args: ['-y', '@some/server', '--flag'] }],
  [`node 'my server.js'`, { command: 'node', args: ['my server.js'] }],
  ['./server', { command: './server', args: [] }],
  [`KEY='a b' OTHER= node x.js K=v`, { command: 'node', args: ['x.js', 'K=v'], env: { KEY: 'a b', OTHER: '' } }],
])('C-3: a server can be a command: %s', async (text, expected) => {
  expect(await findServer(text, [], unread)).toEqual({ name: text, config: expected });
});

test('C-3: a name in the config file may contain spaces; other words with spaces are a command', async () => {
  expect(await findServer('my files', [], config)).toMatchObject({ config: { command: 'files-server' } });
  expect(await findServer('npx server', [], config)).toMatchObject({ config: { command: 'npx', args: ['server'] } });
});

test('C-3: a command with spaces works without a readable config file; a name does not', async () => {
  const broken = async (): Promise<ProgramConfig> => {
    throw new ConfigError(['meanwhile.json: not valid JSON']);
  };
  expect(await findServer('npx server', [], broken)).toMatchObject({ config: { command: 'npx', args: ['server'] } });
  await expect(findServer('files', [], broken)).rejects.toThrow('not valid JSON');
});

test('C-3: a word that is not a name in the config file but is a program is run as a program', async () => {
  expect(await findServer('node', [], config)).toEqual({ name: 'node', config: { command: 'node', args: [] } });
});

test('C-3: a server that is disabled in the config file is reported as disabled', async () => {
  await expect(findServer('off', [], config)).rejects.toThrow("'off' is disabled in the config file");
});

test('C-3: a header of the command line replaces that of the config file, regardless of case', async () => {
  const { config: found } = await findServer('api', ['authorization: Bearer mine'], config);
  expect(found).toEqual({
    url: 'https://api.example/mcp',
    headers: { 'X-Kept': '1', authorization: 'Bearer mine' },
  });
});

test('C-3: the error for an unknown name lists the known names and the other two ways to name a server', async () => {
  const error = await findServer('apo', [], config).catch((reason: unknown) => String(reason));
  expect(error).toContain("no server 'apo'");
  expect(error).toContain("did you mean 'api'?");
  expect(error).toContain('files, api');
  expect(error).toContain('/etc/meanwhile.json');
  expect(error).toContain('a URL (https://…)');
  expect(error).toContain('a command in quotes ("npx -y some-server")');
});

test.each([
  ['ftp://x.example', 'starts with http:// or https://'],
  ['http://', 'not a valid URL'],
  ['localhost:8080/mcp', 'http://localhost:8080/mcp'],
  [`node 'x`, 'unclosed quote'],
  ['A=1', 'no command'],
  [' ', 'no command'],
])('C-3: %j is not a server, and the error says why', async (text, about) => {
  await expect(findServer(text, [], unread)).rejects.toThrow(about);
});

test.each([
  ['https://x.example', 'no colon'],
  ['https://x.example', 'Bad Name: secret'],
  ['https://x.example', 'X: secret\nY: z'],
  ['files', 'X: secret'],
])('C-3, X-4: an invalid header for %s is refused without showing its value: %j', async (server, header) => {
  const error = await findServer(server, [header], config).catch((reason: unknown) => String(reason));
  expect(error).toContain('--header');
  expect(error).not.toContain('secret');
});
