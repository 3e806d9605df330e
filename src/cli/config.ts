import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseJson } from '../config/json.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { ServerConfig } from '../core/ports.ts';
import type { CommandLine } from './flags.ts';
import { isObject } from '../lib/values.ts';

/** Without a config file there is one server of our own to try things with. */
export async function configFor({ flags }: CommandLine, door: 'http' | 'stdio' = 'http'): Promise<Config> {
  const { server } = flags;
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd(), door, server });
  if (config.file !== undefined) return config;
  return { ...config, servers: new Map([...config.servers, ['demo', demoServerConfig()]]) };
}

/** What a client wants to know too. */
export interface ClientConfig extends Config {
  /** Names of servers that the file has but leaves out. */
  disabled: readonly string[];
}

export async function clientConfigFor(line: CommandLine): Promise<ClientConfig> {
  const config = await configFor(line);
  return { ...config, disabled: config.file === undefined ? [] : await disabledIn(config.file) };
}

async function disabledIn(file: string): Promise<string[]> {
  const written = parseJson(await readFile(file, 'utf8'));
  const entries = isObject(written) && isObject(written['mcpServers']) ? Object.entries(written['mcpServers']) : [];
  return entries.filter(([, entry]) => isObject(entry) && entry['disabled'] === true).map(([name]) => name);
}

export function demoServerConfig(): ServerConfig {
  return { command: process.execPath, args: [programPath(), 'demo-server'] };
}

/** The program itself, to be started again in another role. */
export function programPath(): string {
  return process.argv[1] ?? fileURLToPath(import.meta.url);
}
