import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseJsonWithComments } from '../config/comments.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { isDisabled, renameServers, serverEntries } from '../config/server-entries.ts';
import type { ServerConfig } from '../core/ports.ts';
import type { CommandLine } from './flags.ts';
import type { Log } from '../lib/log.ts';

/** The file that people write; it is used only when it is named. */
const USUAL_FILE = 'meanwhile.json';

export interface ProgramConfig extends Config {
  /** A config file in this very folder that nobody named, although there is no other. */
  unusedFile?: string;
}

/** Without a config file there is one server of our own to try things with. */
export async function configFor({ flags }: CommandLine, door: 'http' | 'stdio' = 'http'): Promise<ProgramConfig> {
  const { server } = flags;
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd(), door, server });
  if (config.file !== undefined) return config;
  const servers = new Map([...config.servers, ['demo', demoServerConfig()] as const]);
  return { ...config, servers, ...(existsSync(USUAL_FILE) && { unusedFile: USUAL_FILE }) };
}

/** What helps whoever has no config file in use, and may think that there is one. `undefined` if there is. */
export function configHint({ file, unusedFile }: Pick<ProgramConfig, 'file' | 'unusedFile'>): string | undefined {
  if (file !== undefined) return undefined;
  if (unusedFile === undefined) return 'give yours with --config FILE';
  return `${unusedFile} is in this folder, but not used: add --config ${unusedFile}`;
}

export function logWithoutConfig(config: ProgramConfig, log: Log): void {
  const hint = configHint(config);
  const level = config.unusedFile === undefined ? 'info' : 'warn';
  if (hint !== undefined) log[level]('no_config_file', { servers: [...config.servers.keys()], hint });
}

/** What a client wants to know too. */
export interface ClientConfig extends ProgramConfig {
  /** Names of servers that the file has but leaves out. */
  disabled: readonly string[];
}

export async function clientConfigFor(line: CommandLine): Promise<ClientConfig> {
  const config = await configFor(line);
  return { ...config, disabled: config.file === undefined ? [] : await disabledIn(config.file) };
}

async function disabledIn(file: string): Promise<string[]> {
  const { file: written } = renameServers(parseJsonWithComments(await readFile(file, 'utf8')));
  return serverEntries(written)
    .filter(([, entry]) => isDisabled(entry))
    .map(([name]) => name);
}

export function demoServerConfig(): ServerConfig {
  return { command: process.execPath, args: [programPath(), 'demo-server'] };
}

/** The program itself, to be started again in another role. */
export function programPath(): string {
  return process.argv[1] ?? fileURLToPath(import.meta.url);
}
