/** The server entries of a config file before validation. */

import { isObject } from '../lib/values.ts';

/** Keys that clients use for the URL of a server. */
export const URL_KEYS = ['url', 'httpUrl', 'serverUrl'] as const;

type Entries = [name: string, entry: Record<string, unknown>][];

export function serverEntries(file: unknown): Entries {
  const servers = isObject(file) && isObject(file['mcpServers']) ? Object.entries(file['mcpServers']) : [];
  return servers.flatMap(([name, entry]): Entries => (isObject(entry) ? [[name, entry]] : []));
}

/**
 * VS Code lists servers under `servers`, next to `inputs` for values that it asks the user for. The rest of the program
 * knows only `mcpServers`.
 */
export function renameServers(file: unknown): { file: unknown; table: 'mcpServers' | 'servers' } {
  if (!isObject(file) || !isObject(file['servers']) || 'mcpServers' in file) return { file, table: 'mcpServers' };
  const { servers, inputs: _inputs, ...rest } = file;
  return { file: { ...rest, mcpServers: servers }, table: 'servers' };
}

const isDisabled = (entry: unknown): boolean =>
  isObject(entry) && (entry['disabled'] === true || entry['enabled'] === false);

/** Disabled servers are removed before the file is checked: their variables may not be set. */
export function splitDisabled(file: unknown): { enabled: unknown; disabled: string[] } {
  if (!isObject(file) || !isObject(file['mcpServers'])) return { enabled: file, disabled: [] };
  const entries = Object.entries(file['mcpServers']);
  const enabled = entries.filter(([, entry]) => !isDisabled(entry));
  const disabled = entries.filter(([, entry]) => isDisabled(entry)).map(([name]) => name);
  return { enabled: { ...file, mcpServers: Object.fromEntries(enabled) }, disabled };
}
