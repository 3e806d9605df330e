import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../config/config-error.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { ALL_SERVERS } from '../core/groups.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import type { CommandLine, Flags } from './flags.ts';
import type { Log } from '../lib/log.ts';

/** The config file that is used from the current folder, except on stdio. */
const USUAL_FILE = 'meanwhile.json';

export interface ProgramConfig extends Config {
  /** How the config file was chosen: by a flag or variable, because it is in the current folder, or there is none. */
  source: 'named' | 'folder' | 'none';
  /** The server that the console can add for people who want to see something. */
  demo?: ServerConfig;
  /** A config file in the current folder that is not used: on stdio the folder is chosen by the client program. */
  unusedFile?: string;
}

type ConfigChoice = Pick<ProgramConfig, 'source' | 'unusedFile'>;

/** On stdio the file in the current folder is not used: a client may start its servers in any folder. */
export function chooseConfig({ config }: Pick<Flags, 'config'>, transport: 'http' | 'stdio'): ConfigChoice {
  if (config !== undefined || process.env['MEANWHILE_CONFIG']) return { source: 'named' };
  if (statSync(USUAL_FILE, { throwIfNoEntry: false })?.isFile() !== true) return { source: 'none' };
  return transport === 'stdio' ? { source: 'none', unusedFile: USUAL_FILE } : { source: 'folder' };
}

/** Without a config file the demo server is configured. */
export async function configFor({ flags }: CommandLine, transport: 'http' | 'stdio' = 'http'): Promise<ProgramConfig> {
  const { server = flags.all ? ALL_SERVERS : flags.group } = flags;
  const choice = chooseConfig(flags, transport);
  const used = choice.source === 'folder' ? { ...flags, config: USUAL_FILE } : flags;
  const config = await loadConfig({ flags: used, env: process.env, cwd: process.cwd(), transport, server }).catch(
    (error: unknown) => {
      throw choice.source === 'folder' && error instanceof ConfigError ? withWhy(error) : error;
    },
  );
  const demo = demoServerConfig();
  if (choice.source !== 'none') return { ...config, ...choice, demo };
  return { ...config, ...choice, demo, servers: new Map([...config.servers, ['demo', demo] as const]) };
}

/** Explains to a person who named no file why this one is read. */
function withWhy(error: ConfigError): ConfigError {
  const why = `Meanwhile uses ${USUAL_FILE} because it is in this folder; use --config FILE for another file`;
  return new ConfigError([...error.mistakes, why], { cause: error });
}

/** How to use a config file; `undefined` if one is in use. */
export function configHint({ source, unusedFile }: ConfigChoice): string | undefined {
  if (source !== 'none') return undefined;
  if (unusedFile === undefined) return `create ${USUAL_FILE} in this folder, or use --config FILE`;
  return `${unusedFile} is in this folder, but stdio does not use it automatically: add --config ${unusedFile}`;
}

export function logConfig(config: ProgramConfig, log: Log): void {
  const hint = configHint(config);
  if (hint === undefined) log.info('config_file', { file: config.file });
  else
    log[config.unusedFile === undefined ? 'info' : 'warn']('no_config_file', {
      servers: [...config.servers.keys()],
      hint,
    });
}

function demoServerConfig(): ServerConfig {
  return { command: process.execPath, args: [programPath(), 'demo-server'] };
}

/** The path of this program, to start it again in another role. */
export function programPath(): string {
  return process.argv[1] ?? fileURLToPath(import.meta.url);
}
