/** The entries of Meanwhile in the files of clients, for `meanwhile doctor`. */

import type { ServerConfig } from '../../core/ports.ts';
import { readText } from './files.ts';
import { NotUnderstood, type Entry } from './format.ts';
import { thisMachine } from './machine.ts';
import { ENTRY_NAME, type ClientName } from './names.ts';
import { LinkRecords, type LinkRecord } from './records.ts';

export interface LinkedClient {
  client: ClientName;
  title: string;
  /** What the client starts or connects to, or why that is not known. */
  start: { config: ServerConfig } | { problem: string };
}

/** The clients that were linked. */
export async function linkedClients(): Promise<LinkedClient[]> {
  const records = new LinkRecords(thisMachine()).all();
  if (records.length === 0) return [];
  // Loaded on demand: it brings parsers along.
  const { CLIENTS } = await import('./clients.ts');
  const { translate } = await import('./translate.ts');
  const startOf = ({ client, file }: LinkRecord): LinkedClient['start'] => {
    const entry = CLIENTS[client].format.read(readText(file) ?? '')[ENTRY_NAME];
    if (entry === undefined) return { problem: `its file has no entry for Meanwhile any more: ${file}` };
    const translation = translate(client, entry);
    if (translation.kind === 'server') return { config: configOf(translation.entry) };
    const why = translation.kind === 'skipped' ? translation.why : translation.problem;
    return { problem: `the entry for Meanwhile in ${file} cannot be used: ${why}` };
  };
  return records.map((record) => {
    const { client, file } = record;
    const { title } = CLIENTS[client];
    try {
      return { client, title, start: startOf(record) };
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error;
      return { client, title, start: { problem: `${file}: ${error.message}` } };
    }
  });
}

function configOf({ url, headers, command, args, env, cwd }: Entry): ServerConfig {
  if (typeof url === 'string') return { url, ...(isTexts(headers) && { headers }) };
  return {
    command: typeof command === 'string' ? command : '',
    ...(Array.isArray(args) && { args }),
    ...(isTexts(env) && { env }),
    ...(typeof cwd === 'string' && { cwd }),
  };
}

const isTexts = (value: Entry[string] | undefined): value is Record<string, string> =>
  typeof value === 'object' && !Array.isArray(value);
