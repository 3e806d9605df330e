/** File, environment and flags → one validated value. A flag beats the environment, which beats the file. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { ServerAuth, ServerConfig } from '../core/ports/server-config.ts';
import { codeOf, messageOf } from '../lib/log.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import { isObject } from '../lib/values.ts';
import { ConfigError } from './config-error.ts';
import { checkAnswers } from './answers.ts';
import { expand, type Mistake } from './expand.ts';
import { JsonError, parseJsonWithComments } from './json.ts';
import { checkGroups } from './groups.ts';
import { checkModels } from './models.ts';
import { explain, placeOf, showPath } from './mistakes.ts';
import { defaultStorePath, type Environment } from './paths.ts';
import { type Config, fileSchema, type ServerEntry, type Settings } from './schema.ts';
import { renameServers, splitDisabled } from './server-entries.ts';
import { type Here, wholeCommands } from './whole-commands.ts';

export interface ConfigFlags {
  config?: string;
  port?: string;
  host?: string;
  advertise?: string;
  store?: string;
  'log-level'?: string;
  'log-format'?: string;
  'dry-run'?: boolean;
}

export interface ConfigSources {
  flags: ConfigFlags;
  env: Environment;
  cwd: string;
  /** Each client on stdio has a gateway process of its own, with a store of its own. */
  transport?: 'http' | 'stdio';
  /** The server or group that a stdio gateway serves; the hub if not given. */
  server?: string | undefined;
}

/** A value and the flag or variable that set it, for error messages. */
interface Given {
  value: string;
  by: string;
}

/** By the name of the setting. A map, because names from the file are looked up in it. */
type Overrides = Map<string, Given>;

const OVERRIDABLE = [
  ['host', 'host', 'MEANWHILE_HOST'],
  ['port', 'port', 'MEANWHILE_PORT'],
  ['advertise', 'advertise', 'MEANWHILE_ADVERTISE'],
  ['store', 'store', 'MEANWHILE_STORE'],
  ['logLevel', 'log-level', 'MEANWHILE_LOG_LEVEL'],
  ['logFormat', 'log-format', 'MEANWHILE_LOG_FORMAT'],
] as const satisfies readonly (readonly [keyof Settings, keyof ConfigFlags, string])[];

export async function loadConfig({ flags, env, cwd, transport = 'http', server }: ConfigSources): Promise<Config> {
  const given = (flag: Exclude<keyof ConfigFlags, 'dry-run'>, variable: string): Given | undefined => {
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
  const { file: written, table } = renameServers(
    source && file !== undefined ? await readConfigFile(file, source, label(file, cwd)) : {},
  );
  const folder = file === undefined ? cwd : dirname(file);
  const { enabled, disabled } = splitDisabled(written);
  const { value, mistakes } = understand(enabled, disabled, overrides, { env, cwd, folder });
  const lines = (list: readonly Mistake[]): string[] =>
    list.map(({ path: [first, ...rest], message }) => {
      const path = first === undefined ? [] : [first === 'mcpServers' ? table : first, ...rest];
      return line({ path, message }, overrides, file && label(file, cwd));
    });
  if (!value) throw new ConfigError(lines(mistakes));
  const { rules, auth } = value.meanwhile;
  const principals = auth.issuers.length > 0 ? undefined : ['local', ...Object.keys(auth.tokens)];
  const inRules =
    rules.length === 0
      ? { mistakes: [], warnings: [] }
      : (await import('./rules.ts')).checkRules(rules, {
          servers: [...value.servers.keys()],
          disabled,
          principals,
        });
  const { access, quotas } = value.meanwhile;
  const inAccess =
    access === undefined && quotas === undefined
      ? { mistakes: [], warnings: [] }
      : await checkWhom(access, quotas, { servers: [...value.servers.keys()], disabled, principals });
  const useless = [...inRules.mistakes, ...inAccess.mistakes];
  if (useless.length > 0) throw new ConfigError(lines(useless));

  // Many clients show the stderr of a stdio server to their users.
  const { store, logLevel = transport === 'stdio' ? 'warn' : 'info', ...settings } = value.meanwhile;
  return {
    settings: {
      ...settings,
      ...(flags['dry-run'] && { answersDryRun: true }),
      logLevel,
      auth: authOf(settings.auth, folder),
      store:
        storePath(store, overrides.has('store') ? cwd : folder) ??
        defaultStorePath(env, transport, projectOf(file ?? cwd, server)),
    },
    ownStore: store !== undefined,
    servers: value.servers,
    disabled,
    warnings: lines([
      ...value.warnings,
      ...inRules.warnings,
      ...inAccess.warnings,
      ...(transport === 'http' ? namelessIn(value.meanwhile) : []),
    ]),
    ...(file !== undefined && { file }),
    ...(COLLECTORS.some((name) => env[name]) && { otel: otelVariables(env) }),
  };
}

async function checkWhom(
  access: Meanwhile['access'],
  quotas: Meanwhile['quotas'],
  about: Parameters<typeof import('./access.ts').checkAccess>[1],
): Promise<{ mistakes: Mistake[]; warnings: Mistake[] }> {
  const { checkAccess, checkQuotas } = await import('./access.ts');
  const found = [access && checkAccess(access, about), quotas && checkQuotas(quotas, about)].filter(
    (each) => each !== undefined,
  );
  return { mistakes: found.flatMap(({ mistakes }) => mistakes), warnings: found.flatMap(({ warnings }) => warnings) };
}

function authOf(auth: Settings['auth'], folder: string): Settings['auth'] {
  const { encryptionKeyFile: file } = auth;
  return { ...auth, ...(file !== undefined && { encryptionKeyFile: resolve(folder, file) }) };
}

/** Each of these names a collector for traces. */
const COLLECTORS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

function otelVariables(env: Environment): Record<string, string> {
  const own = Object.entries(env).filter(([name, value]) => name.startsWith('OTEL_') && value !== undefined);
  return Object.fromEntries(own) as Record<string, string>;
}

type Understood =
  | { value: { meanwhile: Meanwhile; servers: Config['servers']; warnings: Mistake[] }; mistakes?: never }
  | { value?: never; mistakes: Mistake[] };

type FileValue = ReturnType<typeof fileSchema.parse>;

type Meanwhile = Omit<FileValue['meanwhile'], 'models'> & Pick<Settings, 'models'>;

function understand(enabled: unknown, disabled: readonly string[], overrides: Overrides, here: Here): Understood {
  const expanded = expand(enabled, here.env);
  const parsed = fileSchema.safeParse(override(expanded.value, overrides));
  const wrong = parsed.success ? [] : explain(parsed.issues, override(enabled, overrides));
  // A string with an unset variable is reported already; a second error about it would only confuse.
  const known = new Set(expanded.mistakes.map(placeOf));
  const more = [...wrong, ...wholeCommands(expanded.value, enabled, here)];
  const mistakes = [...expanded.mistakes, ...more.filter((mistake) => !known.has(placeOf(mistake)))];
  if (!parsed.success || mistakes.length > 0) return { mistakes };
  const { servers, mistakes: inServers } = serverConfigs(parsed.data, here);
  const { meanwhile } = parsed.data;
  const names = Object.keys(parsed.data.mcpServers);
  const groups = checkGroups(meanwhile.groups, names, disabled);
  const answers = checkAnswers(meanwhile.answers, names);
  const principals = Object.keys(meanwhile.auth.tokens);
  const { models, ...inModels } = checkModels(meanwhile.models, enabled, { servers: names, principals });
  const found = [...inServers, ...groups.mistakes, ...answers.mistakes, ...inModels.mistakes];
  if (found.length > 0) return { mistakes: found };
  const warnings = [...groups.warnings, ...answers.warnings, ...inModels.warnings, ...uselessIn(meanwhile)];
  return { value: { meanwhile: { ...meanwhile, models }, servers, warnings } };
}

/** Settings that do nothing beside the others. */
function uselessIn({ advertise, store }: Pick<FileValue['meanwhile'], 'advertise' | 'store'>): Mistake[] {
  if (advertise === undefined || isPostgresUrl(store ?? '')) return [];
  const message = 'has no effect: only gateways that share a postgres:// store reach each other';
  return [{ path: ['meanwhile', 'advertise'], message }];
}

/** Tokens are issued for an address, and nobody can reach a gateway at `0.0.0.0`. */
function namelessIn({ auth, host, publicUrl }: Pick<Meanwhile, 'auth' | 'host' | 'publicUrl'>): Mistake[] {
  if (auth.issuers.length === 0 || publicUrl !== undefined || !['0.0.0.0', '::'].includes(host)) return [];
  const message = `missing: clients would request tokens for the address ${host}, which none of them uses; set it to the URL at which clients reach the gateway`;
  return [{ path: ['meanwhile', 'publicUrl'], message }];
}

async function readConfigFile(file: string, source: Given, name: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const reason = codeOf(error) === 'ENOENT' ? 'there is no such file' : `cannot be read: ${messageOf(error)}`;
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
  if (store === undefined || store === ':memory:' || isPostgresUrl(store)) return store;
  return resolve(base, store);
}

function serverConfigs(file: FileValue, { folder }: Here): { servers: Config['servers']; mistakes: Mistake[] } {
  const servers: Config['servers'] = new Map();
  const mistakes: Mistake[] = [];
  for (const [name, entry] of Object.entries(file.mcpServers)) {
    try {
      servers.set(name, serverConfig(entry, folder));
    } catch (error) {
      mistakes.push({ path: ['mcpServers', name, 'envFile'], message: `cannot be read: ${messageOf(error)}` });
    }
  }
  return { servers, mistakes };
}

/** Throws if the `envFile` of the entry cannot be read. */
function serverConfig(entry: ServerEntry, folder: string): ServerConfig {
  const { share, include, exclude } = entry;
  const options: Pick<ServerConfig, 'share' | 'include' | 'exclude'> = {
    ...(share === 'principal' && { share }),
    ...(include && { include }),
    ...(exclude && { exclude }),
  };
  if (!('command' in entry)) {
    const url = entry.url ?? entry.httpUrl ?? entry.serverUrl ?? '';
    const { auth } = entry;
    return {
      url,
      ...(entry.headers && { headers: entry.headers }),
      ...(auth !== undefined && { auth: auth && serverAuth(auth, folder) }),
      ...options,
    };
  }
  const { command, args, cwd, envFile } = entry;
  const env = envFile === undefined ? entry.env : { ...readEnvFile(resolve(folder, envFile)), ...entry.env };
  return {
    command,
    ...(args && { args }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd: resolve(folder, cwd) }),
    ...options,
  };
}

function serverAuth(auth: ServerAuth, folder: string): ServerAuth {
  const { privateKeyFile: file } = auth;
  return { ...auth, ...(file !== undefined && { privateKeyFile: resolve(folder, file) }) };
}

function readEnvFile(file: string): Record<string, string> {
  return parseEnv(readFileSync(file, 'utf8').replace(/^\uFEFF/, '')) as Record<string, string>;
}

/** Relative for a file below the current folder, otherwise absolute. */
function label(file: string, cwd: string): string {
  const short = relative(cwd, file);
  return short.startsWith('..') || isAbsolute(short) ? file : short;
}
