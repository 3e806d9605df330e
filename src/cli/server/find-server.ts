import { ConfigError } from '../../config/config-error.ts';
import type { HttpServerConfig, ServerConfig } from '../../core/ports/server-config.ts';
import { configHint, type ProgramConfig } from '../config.ts';
import { findProgram } from '../../lib/find-program.ts';
import { serverNameSchema } from '../../lib/server-name.ts';
import { didYouMean } from '../did-you-mean.ts';
import { UsageError } from '../flags.ts';
import type { ClientName } from '../link/names.ts';
import { splitWords } from './shell-words.ts';

/** A server named on the command line. */
export interface FoundServer {
  /** As typed. */
  name: string;
  config: ServerConfig;
  /** The name is from the config file, so it contains no secret. */
  inConfigFile?: true;
  connectTimeoutMs?: number;
  /** It is the entry of Meanwhile in the file of this client. */
  linkedIn?: ClientName;
}

const OTHER_WAYS = 'or give a URL (https://…), or a command in quotes ("npx -y some-server")';

/** `text` is a name in the config file, a URL or a command. The config file is read only if it may be a name. */
export async function findServer(
  text: string,
  headerLines: readonly string[],
  loadConfig: () => Promise<ProgramConfig>,
): Promise<FoundServer> {
  const headers = parseHeaders(headerLines);
  if (/^https?:\/\//i.test(text)) return { name: text, config: withHeaders({ url: httpUrl(text) }, headers) };
  const asCommand = (): FoundServer => ({ name: text, config: withHeaders(commandOf(text), headers) });
  if (!serverNameSchema.safeParse(text).success) return asCommand();

  const hasSpaces = text.includes(' ');
  const loaded = await loadConfig().catch((error: unknown) => {
    if (hasSpaces && error instanceof ConfigError) return undefined;
    throw error;
  });
  // Text with spaces is rarely a name, so a broken config file must not prevent a command.
  if (loaded === undefined) return asCommand();
  const { servers, settings, file, disabled } = loaded;
  const config = servers.get(text);
  if (config !== undefined) {
    return configuredServer(text, withHeaders(config, headers), settings);
  }
  if (disabled.includes(text)) throw new UsageError(`'${text}' is disabled in the config file (${file})`);
  if (hasSpaces) return asCommand();
  const program = findProgram(text);
  if (program === undefined) throw new UsageError(unknownServer(text, loaded));
  return { name: text, config: withHeaders({ command: program, args: [] }, headers) };
}

export function configuredServer(
  name: string,
  config: ServerConfig,
  { servers }: ProgramConfig['settings'],
): FoundServer {
  return { name, config, inConfigFile: true, connectTimeoutMs: servers.connectTimeoutMs };
}

function unknownServer(text: string, config: ProgramConfig): string {
  const known = [...config.servers.keys()];
  const hint = configHint(config);
  const names = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  const where =
    hint === undefined
      ? `${names} (${config.file})`
      : `there is no config file, and without one only ${known.join(', ')}; ${hint}`;
  return `no server '${text}' in the config file${didYouMean(text, known)}, and no such program\n${where}\n${OTHER_WAYS}`;
}

function httpUrl(text: string): string {
  if (URL.canParse(text)) return text;
  throw new UsageError(`'${text}' is not a valid URL`);
}

function commandOf(text: string): ServerConfig {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1];
  if (scheme !== undefined) throw new UsageError(`a server's URL starts with http:// or https://, not ${scheme}://`);
  if (/^[\w.-]+:\d+(?:\/\S*)?$/.test(text)) {
    throw new UsageError(`'${text}' is neither a server name nor a command; did you mean the URL http://${text} ?`);
  }
  const words = splitWords(text);
  if (words === undefined) throw new UsageError('the command has an unclosed quote');
  const isAssignment = (word: string): boolean => /^[A-Za-z_]\w*=/.test(word);
  const first = words.findIndex((word) => !isAssignment(word));
  const [command, ...args] = first < 0 ? [] : words.slice(first);
  if (!command) throw new UsageError(`there is no command in '${text}'`);
  const env = words
    .slice(0, first)
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);
  return { command, args, ...(env.length > 0 && { env: Object.fromEntries(env) as Record<string, string> }) };
}

/** Errors do not show the values, which are often secrets. */
export function parseHeaders(lines: readonly string[]): Record<string, string> {
  const headers = lines.map((line): [string, string] => {
    const [, name, value] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*)$/s.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new UsageError("--header: expected 'Name: value', as in --header 'Authorization: Bearer …'");
    }
    if (/[^\t\x20-\x7e\u0080-\u00ff]/.test(value)) {
      throw new UsageError(`--header: the value of ${name} has a character that is not allowed in a header`);
    }
    return [name, value];
  });
  return Object.fromEntries(headers);
}

function withHeaders(config: ServerConfig, headers: Record<string, string>): ServerConfig {
  if (Object.keys(headers).length === 0) return config;
  if (!('url' in config)) throw new UsageError('--header is for servers with a URL; this one is a command');
  // Header names are case-insensitive: those of the command line replace those of the file.
  const replaced = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const kept = Object.entries(config.headers ?? {}).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...config, headers: { ...Object.fromEntries(kept), ...headers } } satisfies HttpServerConfig;
}
