/** File, environment and flags → one validated value. A flag beats the environment, which beats the file. */

import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import type { ServerConfig } from '../core/ports.ts';
import { messageOf } from '../lib/log.ts';
import { isObject } from '../lib/values.ts';
import { parseJsonWithComments } from './comments.ts';
import { ConfigError } from './error.ts';
import { expand, type Mistake } from './expand.ts';
import { JsonError } from './json.ts';
import { explain, placeOf, showPath } from './mistakes.ts';
import { defaultStorePath, type Environment } from './paths.ts';
import { type Config, fileSchema, type ServerEntry, type Settings } from './schema.ts';
import { type Here, wholeCommands } from './whole-commands.ts';

export interface Flags {
  config?: string;
  port?: string;
  host?: string;
  store?: string;
  'log-level'?: string;
}

export interface ConfigSources {
  flags: Flags;
  env: Environment;
  cwd: string;
  /** Programs on standard input are many at once, one for each client, and need a store each. */
  door?: 'http' | 'stdio';
  /** The one server that such a program shows, if not all of them. */
  server?: string | undefined;
}

/** A value and how it was given, so that a mistake in it can say so. */
interface Given {
  value: string;
  by: string;
}

/** By the name of the setting. A map, because what is looked up in it comes from the file. */
type Overrides = Map<string, Given>;

const OVERRIDABLE = [
  ['host', 'host', 'MEANWHILE_HOST'],
  ['port', 'port', 'MEANWHILE_PORT'],
  ['store', 'store', 'MEANWHILE_STORE'],
  ['logLevel', 'log-level', 'MEANWHILE_LOG_LEVEL'],
] as const satisfies readonly (readonly [keyof Settings, keyof Flags, string])[];

export async function loadConfig({ flags, env, cwd, door = 'http', server }: ConfigSources): Promise<Config> {
  const given = (flag: keyof Flags, variable: string): Given | undefined => {
    const fromFlag = flags[flag];
    if (fromFlag !== undefined) return { value: fromFlag, by: `--${flag}` };
    const fromEnv = env[variable];
    // An empty variable is how many tools say "not set".
    return fromEnv ? { value: fromEnv, by: variable } : undefined;
  };
  const overrides: Overrides = new Map();
  for (const [setting, flag, variable] of OVERRIDABLE) {
    const override = given(flag, variable);
    if (override) overrides.set(setting, override);
  }
  const source = given('config', 'MEANWHILE_CONFIG');
  const file = source && resolve(cwd, source.value);
  const written = source && file !== undefined ? await readConfigFile(file, source, label(file, cwd)) : {};
  const folder = file === undefined ? cwd : dirname(file);
  const { value, mistakes } = understand(written, overrides, { env, cwd, folder });
  if (!value) {
    throw new ConfigError(mistakes.map((mistake) => line(mistake, overrides, file && label(file, cwd))));
  }

  const { store, ...settings } = value.meanwhile;
  return {
    settings: {
      ...settings,
      store:
        storePath(store, overrides.has('store') ? cwd : folder) ??
        defaultStorePath(env, door, projectOf(file ?? cwd, server)),
    },
    ownStore: store !== undefined,
    servers: new Map(Object.entries(value.mcpServers).map(([name, entry]) => [name, serverConfig(entry, folder)])),
    ...(file !== undefined && { file }),
  };
}

type Understood =
  | { value: ReturnType<typeof fileSchema.parse>; mistakes?: never }
  | { value?: never; mistakes: Mistake[] };

function understand(written: unknown, overrides: Overrides, here: Here): Understood {
  const enabled = withoutDisabled(written);
  const expanded = expand(enabled, here.env);
  const parsed = fileSchema.safeParse(override(expanded.value, overrides));
  const wrong = parsed.success ? [] : explain(parsed.error.issues, override(enabled, overrides));
  // A string with a variable that is not set is wrong already; what the schema says of it would only confuse.
  const known = new Set(expanded.mistakes.map(placeOf));
  const more = [...wrong, ...wholeCommands(expanded.value, enabled, here)];
  const mistakes = [...expanded.mistakes, ...more.filter((mistake) => !known.has(placeOf(mistake)))];
  if (parsed.success && mistakes.length === 0) return { value: parsed.data };
  return { mistakes };
}

async function readConfigFile(file: string, source: Given, name: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = missing ? 'there is no such file' : `cannot be read: ${messageOf(error)}`;
    throw new ConfigError([`${file}: ${reason} (given by ${source.by})`], { cause: error });
  }
  try {
    return parseJsonWithComments(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ConfigError([`${name}:${error.line}:${error.column}: not valid JSON: ${error.message}`], {
      cause: error,
    });
  }
}

/** Before anything is checked: a server that is left out may miss its variables. */
function withoutDisabled(written: unknown): unknown {
  if (!isObject(written) || !isObject(written['mcpServers'])) return written;
  const enabled = Object.entries(written['mcpServers']).filter(
    ([, entry]) => !(isObject(entry) && entry['disabled'] === true),
  );
  return { ...written, mcpServers: Object.fromEntries(enabled) };
}

function override(value: unknown, overrides: Overrides): unknown {
  if (!isObject(value) || !(value['meanwhile'] === undefined || isObject(value['meanwhile']))) return value;
  const settings: Record<string, unknown> = { ...value['meanwhile'] };
  for (const [key, { value: text }] of overrides) {
    settings[key] = key === 'port' && /^\d+$/.test(text) ? Number(text) : text;
  }
  return { ...value, meanwhile: settings };
}

function line({ path, message }: Mistake, overrides: Overrides, file: string | undefined): string {
  const given = path[0] === 'meanwhile' && path.length === 2 ? overrides.get(String(path[1])) : undefined;
  if (given) return `${given.by}: ${message}`;
  return [file, showPath(path), message].filter(Boolean).join(': ');
}

function projectOf(place: string, server: string | undefined): string {
  return server === undefined ? place : `${place}\n${server}`;
}

function storePath(store: string | undefined, base: string): string | undefined {
  return store === undefined || store === ':memory:' ? store : resolve(base, store);
}

function serverConfig(entry: ServerEntry, folder: string): ServerConfig {
  if ('url' in entry) return { url: entry.url, ...(entry.headers && { headers: entry.headers }) };
  return {
    command: entry.command,
    ...(entry.args && { args: entry.args }),
    ...(entry.env && { env: entry.env }),
    ...(entry.cwd !== undefined && { cwd: resolve(folder, entry.cwd) }),
  };
}

/** Short for a file below the current folder, in full for any other. */
function label(file: string, cwd: string): string {
  const short = relative(cwd, file);
  return short.startsWith('..') || isAbsolute(short) ? file : short;
}
