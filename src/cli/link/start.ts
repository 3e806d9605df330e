/** How a client starts this program: with a stable, absolute path. */

import { realpathSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join, sep } from 'node:path';
import { UsageError } from '../flags.ts';
import type { Start } from './clients.ts';

export interface ProgramPaths {
  node: string;
  cli: string;
}

/** Folders of one-time package runners: npx, pnpm dlx, yarn dlx, bunx. */
const ONE_TIME_FOLDER = /^(?:_npx|dlx|dlx-.*|bunx-.*)$/;

export function thisProgram(
  cli: string,
  execPath: string = process.execPath,
  path = process.env['PATH'] ?? '',
): ProgramPaths {
  const real = realpathSync(cli);
  const folders = real.split(sep);
  if (folders.some((folder) => ONE_TIME_FOLDER.test(folder))) {
    throw new UsageError(
      'this copy is in a package cache, such as that of npx, which may be cleared at any time; clients would not find it then\n' +
        'install it first (npm install -g meanwhile), or link a running gateway with --url http://127.0.0.1:8080',
    );
  }
  // pnpm has a folder for each version, and a path without the version that leads there.
  const isStable = folders.includes('.pnpm') && isAbsolute(cli) && basename(cli) === basename(real);
  return { node: stableNode(execPath, path), cli: isStable ? cli : real };
}

/**
 * The path of the running Node is often that of one version, such as `/opt/homebrew/Cellar/node/24.1.0/bin/node`, which an
 * update removes. The link to it on the PATH stays.
 */
function stableNode(execPath: string, path: string): string {
  const candidates = path
    .split(delimiter)
    // fnm makes such a folder for each shell.
    // A relative folder is another one for the client.
    .filter((folder) => isAbsolute(folder) && !folder.includes('fnm_multishells'))
    .map((folder) => join(folder, process.platform === 'win32' ? 'node.exe' : 'node'));
  return candidates.find((candidate) => isSameFile(candidate, execPath)) ?? execPath;
}

function isSameFile(file: string, other: string): boolean {
  try {
    return realpathSync(file) === realpathSync(other);
  } catch {
    return false;
  }
}

export function commandStart({ node, cli }: ProgramPaths, endpoint: 'all' | 'hub', config: string | undefined): Start {
  const all = endpoint === 'all' ? ['--all'] : [];
  return { command: node, args: [cli, 'stdio', ...all, ...(config === undefined ? [] : ['--config', config])] };
}

/** Without a path the URL is that of a gateway, and the endpoint is added. */
export function urlStart(text: string, endpoint: 'all' | 'hub', headers: Record<string, string>): Start {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new UsageError(`--url: '${text}' must be an http:// or https:// URL`);
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = endpoint === 'all' ? '/mcp/all' : '/mcp';
  return { url: url.href, ...(Object.keys(headers).length > 0 && { headers }) };
}
