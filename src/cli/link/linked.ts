/** The entries of Meanwhile in the files of clients, for `meanwhile doctor`. */

import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { redactUrl } from '../../lib/redact.ts';
import { quoteWord } from '../server/shell-words.ts';
import { readTextFile } from './files.ts';
import { NotUnderstood, type ClientEntry } from './format.ts';
import { thisMachine } from './machine.ts';
import { ENTRY_NAME, type ClientName } from './names.ts';
import { LinkRecords, type LinkRecord } from './records.ts';

export interface LinkedClient {
  client: ClientName;
  title: string;
  /** What the client starts or connects to, or why that is not known. */
  start: { config: ServerConfig } | { problem: string; fix: string };
}

/** The clients that were linked. */
export async function linkedClients(): Promise<LinkedClient[]> {
  const records = new LinkRecords(thisMachine()).all();
  if (records.length === 0) return [];
  // Loaded on demand, because it imports parsers.
  const { CLIENTS } = await import('./clients.ts');
  const { translate } = await import('./translate.ts');
  const startOf = ({ client, file }: LinkRecord): LinkedClient['start'] => {
    const entry = CLIENTS[client].format.read(readTextFile(file) ?? '')[ENTRY_NAME];
    if (entry === undefined)
      return { problem: `its file no longer has an entry for Meanwhile: ${file}`, fix: linkAgain(client) };
    const translation = translate(client, entry);
    if (translation.kind === 'server') return { config: configOf(translation.entry) };
    const why = translation.kind === 'skipped' ? translation.why : translation.problem;
    return { problem: `the entry for Meanwhile in ${file} cannot be used: ${why}`, fix: linkAgain(client) };
  };
  return records.map((record) => {
    const { client, file } = record;
    const { title } = CLIENTS[client];
    try {
      return { client, title, start: startOf(record) };
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error;
      return { client, title, start: { problem: `${file}: ${error.message}`, fix: 'correct the file' } };
    }
  });
}

const linkAgain = (client: ClientName, flags: readonly string[] = []): string =>
  `link it again: ${['meanwhile', 'link', client, ...flags].map(quoteWord).join(' ')}`;

/** A linked program may have moved, and a linked gateway may not be running. Otherwise linking again would not help. */
export function linkFix(client: ClientName, config: ServerConfig): string | undefined {
  if ('url' in config) {
    const headers = Object.keys(config.headers ?? {}).flatMap((name) => ['--header', `${name}: …`]);
    const again = linkAgain(client, ['--url', redactUrl(config.url), ...headers]);
    return `start the gateway with meanwhile serve, or ${again}`;
  }
  const { command, args = [] } = config;
  const isMissing = (path: string): boolean => isAbsolute(path) && !existsSync(path);
  if (![command, ...args.slice(0, 1)].some(isMissing)) return undefined;
  const file = args[args.indexOf('--config') + 1];
  const flags = [
    ...(args.includes('--all') ? ['--all'] : ['--hub']),
    ...(args.includes('--config') && file !== undefined ? ['--config', file] : []),
  ];
  return `Node or Meanwhile has moved: ${linkAgain(client, flags)}`;
}

function configOf({ url, headers, command, args, env, cwd }: ClientEntry): ServerConfig {
  if (typeof url === 'string') return { url, ...(isTexts(headers) && { headers }) };
  return {
    command: typeof command === 'string' ? command : '',
    ...(Array.isArray(args) && { args }),
    ...(isTexts(env) && { env }),
    ...(typeof cwd === 'string' && { cwd }),
  };
}

const isTexts = (value: ClientEntry[string] | undefined): value is Record<string, string> =>
  typeof value === 'object' && !Array.isArray(value);
