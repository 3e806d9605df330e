/** The MCP clients that Meanwhile can be added to: the file that each of them reads, and the shape of its entries. */

import type { ClientEntry, Format } from './format.ts';
import { jsonFormat } from './json-format.ts';
import { appData, folderIn, hasProgram, join, xdgConfig, type Machine } from './machine.ts';
import type { ClientName } from './names.ts';
import { tomlFormat } from './toml-format.ts';

/** How a client reaches Meanwhile. */
export type Start = { command: string; args: string[] } | { url: string; headers?: Record<string, string> };

export interface Client {
  title: string;
  /** The file with the servers of the user. */
  file: (machine: Machine) => string;
  /** Other files whose servers the client uses as well. */
  otherFiles?: (machine: Machine) => string[];
  /** Whether the client seems to be installed. */
  isPresent: (machine: Machine) => boolean;
  format: Format;
  /** Clients with tool search get all tools of the servers, others only the few hub tools. */
  endpoint: 'all' | 'hub';
  /** `undefined` if its file cannot name a server of this kind. */
  entryFor: (start: Start) => ClientEntry | undefined;
  /** How to make the client read its file again. */
  afterwards: string;
}

const isThere = (machine: Machine, ...path: string[]): boolean => machine.sizeOf(join(machine, ...path)) !== undefined;

const withHeaders = (key: string, headers: Record<string, string> | undefined): ClientEntry =>
  headers === undefined ? {} : { [key]: headers };

/** An entry as most clients have it, with the name of the client for a URL. */
const entryWith =
  (
    urlKey: 'url' | 'serverUrl' | 'httpUrl',
    types: { stdio: ClientEntry; http: ClientEntry } = { stdio: {}, http: {} },
  ) =>
  (start: Start): ClientEntry =>
    'command' in start
      ? { ...types.stdio, command: start.command, args: start.args }
      : { ...types.http, [urlKey]: start.url, ...withHeaders('headers', start.headers) };

const TYPED = { stdio: { type: 'stdio' }, http: { type: 'http' } };

// --- Claude Code ---

function claudeCodeFile(machine: Machine): string {
  const moved = machine.env['CLAUDE_CONFIG_DIR'];
  const legacy = join(machine, moved || join(machine, machine.home, '.claude'), '.config.json');
  // Its first versions used this file; it still prefers one that is there.
  return (machine.sizeOf(legacy) ?? 0) > 0 ? legacy : join(machine, moved || machine.home, '.claude.json');
}

const claudeCode: Client = {
  title: 'Claude Code',
  file: claudeCodeFile,
  isPresent: (machine) =>
    isThere(machine, claudeCodeFile(machine)) ||
    isThere(machine, machine.env['CLAUDE_CONFIG_DIR'] || join(machine, machine.home, '.claude')) ||
    hasProgram(machine, 'claude'),
  format: jsonFormat('mcpServers', 'json'),
  endpoint: 'all',
  entryFor: entryWith('url', TYPED),
  afterwards: 'new sessions have it; in a running one, use /mcp',
};

// --- Claude Desktop ---

function claudeDesktopFolder(machine: Machine): string {
  if (machine.platform === 'win32') {
    // Windows shows another AppData folder to packaged programs, which the installer has made of this one since 2026.
    const packages = join(
      machine,
      folderIn(machine, 'LOCALAPPDATA') ?? join(machine, machine.home, 'AppData', 'Local'),
      'Packages',
    );
    const packaged = machine.list(packages).find((name) => name.startsWith('Claude_'));
    if (packaged !== undefined) return join(machine, packages, packaged, 'LocalCache', 'Roaming', 'Claude');
  }
  return join(machine, appData(machine), 'Claude');
}

const claudeDesktop: Client = {
  title: 'Claude Desktop',
  file: (machine) => join(machine, claudeDesktopFolder(machine), 'claude_desktop_config.json'),
  isPresent: (machine) => isThere(machine, claudeDesktopFolder(machine)),
  format: jsonFormat('mcpServers', 'json'),
  endpoint: 'hub',
  // It reads only commands from its file; servers with a URL are connectors of the account.
  entryFor: (start) => ('command' in start ? entryWith('url')(start) : undefined),
  afterwards: 'quit Claude Desktop and start it again',
};

// --- Editors ---

const cursor: Client = {
  title: 'Cursor',
  file: (machine) => join(machine, machine.home, '.cursor', 'mcp.json'),
  isPresent: (machine) => isThere(machine, machine.home, '.cursor'),
  format: jsonFormat('mcpServers', 'jsonc'),
  endpoint: 'hub',
  entryFor: entryWith('url'),
  afterwards: 'restart Cursor and enable meanwhile in its settings',
};

function vscodeFolder(machine: Machine): string {
  const portable = folderIn(machine, 'VSCODE_PORTABLE');
  if (portable !== undefined) return join(machine, portable, 'user-data', 'User');
  return join(machine, folderIn(machine, 'VSCODE_APPDATA') ?? appData(machine), 'Code', 'User');
}

const vscode: Client = {
  title: 'VS Code',
  file: (machine) => join(machine, vscodeFolder(machine), 'mcp.json'),
  isPresent: (machine) => isThere(machine, vscodeFolder(machine)),
  format: jsonFormat('servers', 'jsonc'),
  endpoint: 'hub',
  entryFor: entryWith('url', TYPED),
  afterwards: 'start meanwhile with "MCP: List Servers"',
};

const windsurf: Client = {
  title: 'Windsurf',
  file: (machine) => join(machine, machine.home, '.codeium', 'windsurf', 'mcp_config.json'),
  isPresent: (machine) => isThere(machine, machine.home, '.codeium', 'windsurf'),
  format: jsonFormat('mcpServers', 'jsonc'),
  endpoint: 'hub',
  entryFor: entryWith('serverUrl'),
  afterwards: 'refresh the MCP servers in Cascade',
};

function zedFolder(machine: Machine): string {
  if (machine.platform === 'win32') return join(machine, appData(machine), 'Zed');
  if (machine.platform === 'darwin') return join(machine, machine.home, '.config', 'zed');
  return join(machine, folderIn(machine, 'FLATPAK_XDG_CONFIG_HOME') ?? xdgConfig(machine), 'zed');
}

const zed: Client = {
  title: 'Zed',
  file: (machine) => join(machine, zedFolder(machine), 'settings.json'),
  isPresent: (machine) => isThere(machine, zedFolder(machine)),
  format: jsonFormat('context_servers', 'jsonc'),
  endpoint: 'hub',
  entryFor: entryWith('url'),
  afterwards: 'Zed uses it immediately',
};

// --- Agents in a terminal ---

const codexFolder = (machine: Machine): string => machine.env['CODEX_HOME'] || join(machine, machine.home, '.codex');

const codex: Client = {
  title: 'Codex',
  file: (machine) => join(machine, codexFolder(machine), 'config.toml'),
  isPresent: (machine) => isThere(machine, codexFolder(machine)) || hasProgram(machine, 'codex'),
  format: tomlFormat('mcp_servers'),
  endpoint: 'hub',
  entryFor: (start) =>
    'command' in start
      ? { command: start.command, args: start.args }
      : { url: start.url, ...withHeaders('http_headers', start.headers) },
  afterwards: 'new sessions have it',
};

const geminiFolder = (machine: Machine): string =>
  join(machine, machine.env['GEMINI_CLI_HOME'] || machine.home, '.gemini');

const gemini: Client = {
  title: 'Gemini CLI',
  file: (machine) => join(machine, geminiFolder(machine), 'settings.json'),
  isPresent: (machine) => isThere(machine, geminiFolder(machine)) || hasProgram(machine, 'gemini'),
  format: jsonFormat('mcpServers', 'comments'),
  endpoint: 'hub',
  entryFor: entryWith('httpUrl'),
  afterwards: 'new sessions have it',
};

/** It merges these, and writes to the first that exists. */
const OPENCODE_FILES = ['opencode.jsonc', 'opencode.json', 'config.json'];

const opencodeFolder = (machine: Machine): string => join(machine, xdgConfig(machine), 'opencode');

function opencodeFiles(machine: Machine): string[] {
  const files = OPENCODE_FILES.map((name) => join(machine, opencodeFolder(machine), name));
  return files.filter((file) => machine.sizeOf(file) !== undefined);
}

const opencode: Client = {
  title: 'opencode',
  file: (machine) => opencodeFiles(machine)[0] ?? join(machine, opencodeFolder(machine), 'opencode.json'),
  otherFiles: (machine) => opencodeFiles(machine).slice(1),
  isPresent: (machine) => isThere(machine, opencodeFolder(machine)) || hasProgram(machine, 'opencode'),
  format: jsonFormat('mcp', 'jsonc'),
  endpoint: 'hub',
  entryFor: (start) =>
    'command' in start
      ? { type: 'local', command: [start.command, ...start.args], enabled: true }
      : { type: 'remote', url: start.url, ...withHeaders('headers', start.headers), enabled: true },
  afterwards: 'new sessions have it',
};

export const CLIENTS: Record<ClientName, Client> = {
  'claude-code': claudeCode,
  'claude-desktop': claudeDesktop,
  cursor,
  vscode,
  windsurf,
  zed,
  codex,
  gemini,
  opencode,
};
