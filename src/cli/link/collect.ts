/** Collects the servers of clients, for `meanwhile import`. */

import { serverNameSchema } from '../../lib/server-name.ts';
import { CLIENTS } from './clients.ts';
import { readTextFile } from './files.ts';
import { isSameEntry, NotUnderstood, type ClientEntry } from './format.ts';
import type { Machine } from './machine.ts';
import { ENTRY_NAME, type ClientName } from './names.ts';
import { translate } from './translate.ts';

export interface Collected {
  /** New entries by name. */
  servers: Map<string, ClientEntry>;
  /** What happened to each server, and what to do about it. */
  remarks: Remark[];
}

export interface Remark {
  /** A problem is a server that should have been imported but was not. */
  kind: 'added' | 'note' | 'left out' | 'problem';
  text: string;
}

/** `existing` are the entries of the config file, which stay. */
export function collect(
  clients: readonly ClientName[],
  machine: Machine,
  existing: Readonly<Record<string, unknown>>,
): Collected {
  const collector = new Collector(existing, machine.env);
  for (const name of clients) {
    const { title, format, file, otherFiles } = CLIENTS[name];
    // A server in one file of a client hides servers of the same name in its other files.
    const seen = new Set<string>();
    for (const path of [file(machine), ...(otherFiles?.(machine) ?? [])]) {
      try {
        for (const [server, entry] of Object.entries(format.read(readTextFile(path) ?? ''))) {
          if (!seen.has(server)) collector.add(server, name, title, entry);
          seen.add(server);
        }
      } catch (error) {
        if (!(error instanceof NotUnderstood)) throw error;
        collector.remarks.push({ kind: 'problem', text: `${title}: ${path}: ${error.message}` });
      }
    }
  }
  return collector;
}

class Collector implements Collected {
  readonly servers = new Map<string, ClientEntry>();
  readonly remarks: Remark[] = [];
  readonly #existing: Readonly<Record<string, unknown>>;
  readonly #env: Machine['env'];
  /** The client that each server is from. */
  readonly #origin = new Map<string, string>();

  constructor(existing: Readonly<Record<string, unknown>>, env: Machine['env']) {
    this.#existing = existing;
    this.#env = env;
  }

  add(given: string, client: ClientName, title: string, raw: unknown): void {
    const remark = (kind: Remark['kind'], text: string): void => {
      this.remarks.push({ kind, text: `${given} (${title})${text}` });
    };
    if (given === ENTRY_NAME) return remark('left out', ': it is Meanwhile itself');
    const translation = translate(client, raw, (variable) => Boolean(this.#env[variable]));
    if (translation.kind === 'skipped') return remark('left out', `: ${translation.why}`);
    if (translation.kind === 'problem') return remark('problem', `: ${translation.problem}`);
    const { entry, variables, notes } = translation;
    if (isMeanwhile(entry)) return remark('left out', ': it is Meanwhile itself');
    const name = nameFor(given);
    const same = this.#sameAs(name, entry);
    if (same !== undefined) return remark('left out', `: it is the same as ${same}`);
    const other = this.#existing[name] === undefined ? this.#origin.get(name) : 'the config file';
    if (other !== undefined) {
      return remark('problem', `: ${other} has another server of this name; rename one of them`);
    }
    this.servers.set(name, entry);
    this.#origin.set(name, title);
    remark('added', name === given ? '' : `: as ${name}, because names may only contain A-Z a-z 0-9 _ . - and spaces`);
    for (const note of notes) remark('note', `: ${note}`);
    const unset = variables.filter((variable) => !this.#env[variable]);
    if (unset.length > 0) {
      remark('note', `: needs ${unset.join(', ')} in the environment of Meanwhile; empty while it is not set`);
    }
  }

  /** A server with the same entry, under this name or another. */
  #sameAs(name: string, entry: ClientEntry): string | undefined {
    if (isSameServer(this.#existing[name], entry)) return `'${name}' in the config file`;
    const known: [string, unknown][] = [...this.servers, ...Object.entries(this.#existing)];
    const found = known.find(([, each]) => isSameServer(each, entry))?.[0];
    return found === undefined
      ? undefined
      : `'${found}'${this.#origin.has(found) ? ` of ${this.#origin.get(found)}` : ' in the config file'}`;
  }
}

/** Whether a variable has an empty default depends on whether it was set at that time. */
function isSameServer(one: unknown, other: unknown): boolean {
  const plain = (entry: unknown): unknown =>
    entry === undefined ? entry : JSON.parse(JSON.stringify(entry).replaceAll(':-}', '}'));
  return isSameEntry(plain(one), plain(other));
}

/** Programs that run a package, and the words of those that do other things as well. */
const RUNNERS = new Set(['npx', 'bunx', 'pnpx', 'npm', 'pnpm', 'yarn', 'bun']);
const RUN_WORDS = new Set(['exec', 'dlx', 'x']);

/** Meanwhile under another name. */
export function isMeanwhile({ command, args }: ClientEntry): boolean {
  if (typeof command !== 'string') return false;
  const words = Array.isArray(args) ? args : [];
  const program = nameOf(command);
  if (program === 'meanwhile') return true;
  const first = words.find((word) => !word.startsWith('-') && !RUN_WORDS.has(word)) ?? '';
  if (RUNNERS.has(program)) return /^meanwhile(?:@.+)?$/.test(first);
  return [command, first].some((word) => /[\\/]meanwhile[\\/]dist[\\/]cli\.js$/.test(word));
}

const nameOf = (path: string): string =>
  path
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.(?:exe|cmd)$/i, '') ?? '';

function nameFor(given: string): string {
  if (serverNameSchema.safeParse(given).success) return given;
  const name = given
    .replaceAll(/[^\w. -]+/g, '-')
    .slice(0, 64)
    .trim();
  return serverNameSchema.safeParse(name).success ? name : 'server';
}
