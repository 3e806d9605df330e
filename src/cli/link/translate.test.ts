import { expect, test } from 'vitest';
import { realFile } from '../../../tests/support/client-files.ts';
import { CLIENTS } from './clients.ts';
import type { ClientEntry } from './format.ts';
import { CLIENT_NAMES, type ClientName } from './names.ts';
import { translate, type Translation } from './translate.ts';

const ofSample = (client: ClientName): Record<string, Translation> =>
  Object.fromEntries(
    Object.entries(CLIENTS[client].format.read(realFile(client))).map(([name, entry]) => [
      name,
      translate(client, entry),
    ]),
  );

const server = (entry: unknown, variables: string[] = [], notes: string[] = []): Translation =>
  ({ kind: 'server', entry, variables, notes }) as Translation;

const disabled = { kind: 'skipped', why: 'it is disabled' };

test('L-1: the servers in the config of each client are translated', () => {
  expect(Object.fromEntries(CLIENT_NAMES.map((client) => [client, ofSample(client)]))).toEqual({
    'claude-code': {
      github: server(
        { url: 'https://api.githubcopilot.com/mcp/', headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } },
        ['GITHUB_TOKEN'],
      ),
      postgres: server({
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-postgres', 'postgresql://localhost/mydb'],
      }),
    },
    'claude-desktop': {
      filesystem: server({
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/ada/Desktop'],
      }),
    },
    cursor: {
      linear: server({ url: 'https://mcp.linear.app/mcp' }),
      db: server(
        {
          command: 'uvx',
          args: ['mcp-server-sqlite', '--db-path', '${HOME}/test.db'],
          env: { API_KEY: 'sk-cursor-0123456789abcdef' },
        },
        ['HOME'],
      ),
    },
    vscode: {
      perplexity: server(
        { command: 'npx', args: ['-y', 'server-perplexity-ask'], env: { PERPLEXITY_API_KEY: '${PERPLEXITY_KEY}' } },
        ['PERPLEXITY_KEY'],
        ['the editor asks for perplexity-key: set PERPLEXITY_KEY in the environment instead'],
      ),
      playwright: server({ url: 'http://localhost:8931/mcp' }),
    },
    windsurf: {
      figma: disabled,
      maps: server(
        {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-google-maps'],
          env: { GOOGLE_MAPS_API_KEY: '${env:MAPS_KEY}' },
        },
        ['MAPS_KEY'],
      ),
    },
    zed: {
      local: server({ command: 'some-command', args: ['arg-1'] }),
      old: server({ command: 'old-command', env: { TOKEN: 't' } }),
      'from-extension': { kind: 'skipped', why: 'it has neither a command nor a URL' },
    },
    codex: {
      context7: server({ command: 'npx', args: ['-y', '@upstash/context7-mcp'], env: { TOKEN: 'c7-secret' } }),
      figma: server(
        { url: 'https://mcp.figma.com/mcp', headers: { 'X-Region': 'eu', Authorization: 'Bearer ${FIGMA_TOKEN}' } },
        ['FIGMA_TOKEN'],
      ),
      'docs server': disabled,
    },
    gemini: {
      weather: server({ url: 'https://example.org/mcp', headers: { 'X-Key': '${WEATHER_KEY}' } }, ['WEATHER_KEY']),
      py: server(
        { command: 'python', args: ['-m', 'my_server'], cwd: './server' },
        [],
        ['its "cwd" is now relative to the folder of meanwhile.json'],
      ),
    },
    opencode: {
      everything: server(
        {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-everything'],
          env: { KEY: '${EVERYTHING_KEY}' },
        },
        ['EVERYTHING_KEY'],
      ),
      remote: disabled,
    },
  });
});

const PROBLEMS: [ClientName, unknown, string][] = [
  ['cursor', 'npx some-server', 'it is not an object'],
  ['cursor', { command: 'x', args: 'y' }, 'its "args" is not a list of strings'],
  ['cursor', { command: 'x', env: { a: {} } }, 'its "env" has values that are not strings'],
  ['cursor', { command: '${workspaceFolder}/run' }, 'it uses ${workspaceFolder}, which only the editor knows'],
  ['vscode', { command: 'x', args: ['${command:pick}'] }, 'it uses ${command:pick}, which only the editor knows'],
  ['windsurf', { serverUrl: 'https://x/', headers: { A: '${file:/a}' } }, 'it uses ${file:/a}'],
  ['gemini', { url: 'ws://x' }, 'its URL does not start with http:// or https://'],
  ['opencode', { command: ['x'], environment: { A: '{file:~/a}' } }, 'it reads a value from a file'],
  ['zed', { command: 'x', args: ['${A}'] }, 'it contains ${…} as text'],
  ['opencode', { command: ['x', '${HOME}/a'] }, 'it contains ${…} as text'],
  ['codex', { command: 'x', args: ['${A}'] }, 'it contains ${…} as text'],
];

test.each(PROBLEMS)('L-1: %s: %j is not imported', (client, entry, problem) => {
  expect(translate(client, entry)).toEqual({ kind: 'problem', problem: expect.stringContaining(problem) as string });
});

test('L-1: environment variables are imported from the keys that Codex uses for them', () => {
  const entry = { url: 'https://x/', env_http_headers: { 'X-A': 'A' } };
  expect(translate('codex', entry)).toEqual(server({ url: 'https://x/', headers: { 'X-A': '${A}' } }, ['A']));
  expect(translate('codex', { command: 'x', env_vars: ['B'], env: { C: 1 } })).toEqual(
    server({ command: 'x', env: { B: '${B:-}', C: '1' } }, ['B']),
  );
});

test('L-1: environment variables of Codex may be objects', () => {
  const entry = { command: 'x', env_vars: [{ name: 'A' }, { name: 'B', source: 'remote' }] };
  expect(translate('codex', entry)).toMatchObject({
    entry: { env: { A: '${A:-}' } },
    notes: ['a variable in its "env_vars" cannot be imported, because it is not from this machine'],
  });
});

test('L-1: a variable that is not set gets an empty default', () => {
  const ofClient = (client: ClientName, entry: unknown): unknown => {
    const { entry: written } = translate(client, entry, (name) => name === 'SET') as { entry: ClientEntry };
    return written;
  };
  expect(ofClient('gemini', { command: '$RUN', args: ['$SET', 'a$B'] })).toEqual({
    command: '${RUN}',
    args: ['${SET}', 'a${B:-}'],
  });
  expect(ofClient('vscode', { command: 'x', env: { A: '${input:key}', B: '${env:C}', D: '${E:-1}' } })).toEqual({
    command: 'x',
    env: { A: '${KEY:-}', B: '${env:C:-}', D: '${E:-1}' },
  });
  expect(ofClient('opencode', { url: 'https://x/{env:A}' })).toEqual({ url: 'https://x/${A:-}' });
});
