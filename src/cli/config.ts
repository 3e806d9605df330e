import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { ServerConfig } from '../core/ports.ts';
import type { CommandLine } from './flags.ts';

/** Without a config file there is one server of our own to try things with. */
export async function configFor({ flags }: CommandLine, door: 'http' | 'stdio' = 'http'): Promise<Config> {
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd(), door });
  if (config.file !== undefined) return config;
  return { ...config, servers: new Map([...config.servers, ['demo', demoServerConfig()]]) };
}

export function demoServerConfig(): ServerConfig {
  return { command: process.execPath, args: [programPath(), 'demo-server'] };
}

/** The program itself, to be started again in another role. */
export function programPath(): string {
  return process.argv[1] ?? fileURLToPath(import.meta.url);
}
