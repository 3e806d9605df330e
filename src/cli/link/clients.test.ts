import { expect, test } from 'vitest';
import { presentClients } from './choose.ts';
import { CLIENTS } from './clients.ts';
import type { Machine } from './machine.ts';
import { CLIENT_NAMES } from './names.ts';

/** A machine with these files and folders. */
function machine(
  platform: NodeJS.Platform,
  env: Record<string, string> = {},
  there: Record<string, number> = {},
): Machine {
  const home = { win32: 'C:\\Users\\ada', darwin: '/Users/ada' }[platform as string] ?? '/home/ada';
  const list = (folder: string): string[] =>
    Object.keys(there).flatMap((path) =>
      path.startsWith(`${folder}\\`) ? [path.slice(folder.length + 1).split('\\')[0] ?? ''] : [],
    );
  return { platform, env, home, sizeOf: (path) => there[path], list };
}

const filesOn = (on: Machine): string[] => CLIENT_NAMES.map((name) => CLIENTS[name].file(on));

test('L-1: the config files of the clients on Linux', () => {
  expect(filesOn(machine('linux'))).toEqual([
    '/home/ada/.claude.json',
    '/home/ada/.config/Claude/claude_desktop_config.json',
    '/home/ada/.cursor/mcp.json',
    '/home/ada/.config/Code/User/mcp.json',
    '/home/ada/.codeium/windsurf/mcp_config.json',
    '/home/ada/.config/zed/settings.json',
    '/home/ada/.codex/config.toml',
    '/home/ada/.gemini/settings.json',
    '/home/ada/.config/opencode/opencode.json',
  ]);
});

test('L-1: the config files of the clients on macOS', () => {
  expect(filesOn(machine('darwin'))).toEqual([
    '/Users/ada/.claude.json',
    '/Users/ada/Library/Application Support/Claude/claude_desktop_config.json',
    '/Users/ada/.cursor/mcp.json',
    '/Users/ada/Library/Application Support/Code/User/mcp.json',
    '/Users/ada/.codeium/windsurf/mcp_config.json',
    '/Users/ada/.config/zed/settings.json',
    '/Users/ada/.codex/config.toml',
    '/Users/ada/.gemini/settings.json',
    '/Users/ada/.config/opencode/opencode.json',
  ]);
});

test('L-1: the config files of the clients on Windows', () => {
  expect(filesOn(machine('win32', { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' }))).toEqual([
    'C:\\Users\\ada\\.claude.json',
    'D:\\Roaming\\Claude\\claude_desktop_config.json',
    'C:\\Users\\ada\\.cursor\\mcp.json',
    'D:\\Roaming\\Code\\User\\mcp.json',
    'C:\\Users\\ada\\.codeium\\windsurf\\mcp_config.json',
    'D:\\Roaming\\Zed\\settings.json',
    'C:\\Users\\ada\\.codex\\config.toml',
    'C:\\Users\\ada\\.gemini\\settings.json',
    'C:\\Users\\ada\\.config\\opencode\\opencode.json',
  ]);
});

test('L-1: the packaged Claude Desktop on Windows keeps its config file in its package folder', () => {
  const packages = 'C:\\Users\\ada\\AppData\\Local\\Packages';
  const on = machine(
    'win32',
    {},
    { [`${packages}\\Claude_pzs8sxrjxfjjc`]: 0, 'C:\\Users\\ada\\AppData\\Roaming\\Claude': 0 },
  );
  expect(CLIENTS['claude-desktop'].file(on)).toBe(
    `${packages}\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json`,
  );
});

test('L-1: environment variables that move the folder of a client move its config file', () => {
  const on = machine('linux', {
    CLAUDE_CONFIG_DIR: '/claude',
    CODEX_HOME: '/codex',
    XDG_CONFIG_HOME: '/xdg',
    GEMINI_CLI_HOME: '/gemini',
    VSCODE_PORTABLE: '/portable',
  });
  const files = Object.fromEntries(CLIENT_NAMES.map((name) => [name, CLIENTS[name].file(on)]));
  expect(files).toMatchObject({
    'claude-code': '/claude/.claude.json',
    'claude-desktop': '/xdg/Claude/claude_desktop_config.json',
    vscode: '/portable/user-data/User/mcp.json',
    zed: '/xdg/zed/settings.json',
    codex: '/codex/config.toml',
    gemini: '/gemini/.gemini/settings.json',
    opencode: '/xdg/opencode/opencode.json',
  });
});

test('L-1: if a client has several config files, the one that the client prefers is used', () => {
  const claude = (size: number) => machine('linux', {}, { '/home/ada/.claude/.config.json': size });
  expect(CLIENTS['claude-code'].file(claude(2))).toBe('/home/ada/.claude/.config.json');
  expect(CLIENTS['claude-code'].file(claude(0))).toBe('/home/ada/.claude.json');
  const folder = '/home/ada/.config/opencode';
  const both = machine('linux', {}, { [`${folder}/opencode.json`]: 2, [`${folder}/opencode.jsonc`]: 2 });
  expect(CLIENTS.opencode.file(both)).toBe(`${folder}/opencode.jsonc`);
  expect(CLIENTS.opencode.otherFiles?.(both)).toEqual([`${folder}/opencode.json`]);
  expect(CLIENTS.opencode.file(machine('linux', {}, { [`${folder}/config.json`]: 2 }))).toBe(`${folder}/config.json`);
});

test('L-1: installed clients are detected by their folders and programs', () => {
  expect(presentClients(machine('linux'))).toEqual([]);
  const there = { '/home/ada/.cursor': 0, '/home/ada/.config/Code/User': 0, '/opt/bin/codex': 1 };
  expect(presentClients(machine('linux', { PATH: '/bin:/opt/bin' }, there))).toEqual(['cursor', 'vscode', 'codex']);
});

test('L-1: each client gets an entry in its own format', () => {
  const program = { command: '/n', args: ['/c', 'stdio'] };
  const gateway = { url: 'http://127.0.0.1:8080/mcp', headers: { A: 'b' } };
  const { url, headers } = gateway;
  expect(CLIENT_NAMES.map((name) => [name, CLIENTS[name].entryFor(program), CLIENTS[name].entryFor(gateway)])).toEqual([
    ['claude-code', { type: 'stdio', ...program }, { type: 'http', url, headers }],
    ['claude-desktop', program, undefined],
    ['cursor', program, { url, headers }],
    ['vscode', { type: 'stdio', ...program }, { type: 'http', url, headers }],
    ['windsurf', program, { serverUrl: url, headers }],
    ['zed', program, { url, headers }],
    ['codex', program, { url, http_headers: headers }],
    ['gemini', program, { httpUrl: url, headers }],
    [
      'opencode',
      { type: 'local', command: ['/n', '/c', 'stdio'], enabled: true },
      { type: 'remote', url, headers, enabled: true },
    ],
  ]);
});
