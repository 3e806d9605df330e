import { resolve } from 'node:path';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { configFor, configHint, programPath } from '../config.ts';
import { EXIT_CODES, RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { confirm, make, showChange, type FileChange } from '../link/changes.ts';
import { clientsNamed, presentClients } from '../link/choose.ts';
import { CLIENTS, type Client, type Start } from '../link/clients.ts';
import { readTextFile } from '../link/files.ts';
import { isSameEntry, NotUnderstood, type ClientEntry } from '../link/format.ts';
import { thisMachine } from '../link/machine.ts';
import { ENTRY_NAME, type ClientName } from '../link/names.ts';
import { openValues } from '../link/open-values.ts';
import { exactUndo, textHash, LinkRecords, type LinkRecord } from '../link/records.ts';
import { commandStart, thisProgram, urlStart } from '../link/start.ts';
import { parseHeaders } from '../server/find-server.ts';
import { cleanLine } from '../../lib/clean.ts';
import { Screen } from '../terminal/screen.ts';

interface Link extends FileChange {
  name: ClientName;
  client: Client;
  /** There is an entry already, with other values. */
  isLinked: boolean;
}

/** The outcome for one client. */
type Outcome = { kind: 'change'; link: Link } | { kind: 'linked' } | { kind: 'problem'; problem: string };

export async function link(line: CommandLine): Promise<number> {
  const { operands, flags } = line;
  if (flags.all && flags.hub) throw new UsageError('--all and --hub exclude each other');
  if (flags.header !== undefined && flags.url === undefined) throw new UsageError('--header needs --url');
  const machine = thisMachine();
  const names = operands.length > 0 ? clientsNamed(operands) : presentClients(machine);
  if (names.length === 0) {
    throw new UsageError('no MCP client was found on this machine; name a client to link it anyway');
  }
  const screen = new Screen(flags);
  const startFor = await starter(line, screen);
  const links: Link[] = [];
  let failed = false;
  for (const name of names) {
    const client = CLIENTS[name];
    const file = client.file(machine);
    const outcome = plan(name, client, file, startFor(flagged(flags) ?? client.endpoint));
    if (outcome.kind === 'change') {
      links.push(outcome.link);
      showChange(outcome.link, screen);
    } else if (outcome.kind === 'linked') {
      screen.printOwn(`${screen.style.strong(client.title)}  ${cleanLine(file)}: already linked`);
    } else {
      failed = true;
      screen.note(`meanwhile: ${client.title} is not linked: ${file}: ${outcome.problem}`);
    }
  }
  if (links.length > 0) {
    await confirm(links.length, flags, screen);
    const records = new LinkRecords(machine);
    const linked = links.filter((each) => linkOne(each, records, screen));
    failed ||= linked.length < links.length;
    if (linked.length > 0)
      screen.note('check the entries with meanwhile doctor; undo the changes with meanwhile unlink');
  }
  return failed ? EXIT_CODES.unexpected : RESULT;
}

const flagged = ({ all, hub }: Flags): 'all' | 'hub' | undefined => (all ? 'all' : hub ? 'hub' : undefined);

/** The config file is read to find its mistakes now, and not when a client starts. */
async function starter(line: CommandLine, screen: Screen): Promise<(endpoint: 'all' | 'hub') => Start> {
  const { url, header = [] } = line.flags;
  if (url !== undefined) return (endpoint) => urlStart(url, endpoint, parseHeaders(header));
  const program = thisProgram(programPath());
  const config = await configFor(line);
  const file = config.file === undefined ? undefined : resolve(config.file);
  if (file === undefined) {
    screen.note(
      `there is no config file, so clients get the demo server; ${configHint(config)}; meanwhile import creates one`,
    );
  }
  return (endpoint) => commandStart(program, endpoint, file);
}

function plan(name: ClientName, client: Client, file: string, start: Start): Outcome {
  const entry = client.entryFor(start);
  if (entry === undefined) return { kind: 'problem', problem: 'it can only start programs; link it without --url' };
  try {
    const before = readTextFile(file);
    const existing = client.format.read(before ?? '')[ENTRY_NAME];
    const kept = keptKeys(client, existing, start);
    if (isObject(existing) && isSameEntry(without(existing, kept), entry)) return { kind: 'linked' };
    const after = client.format.set(before ?? '', ENTRY_NAME, entry, kept);
    const change = { title: client.title, file, before, after, isOpen: openIn(entry, start) };
    return { kind: 'change', link: { ...change, name, client, isLinked: existing !== undefined } };
  } catch (error) {
    if (error instanceof NotUnderstood) return { kind: 'problem', problem: error.message };
    throw error;
  }
}

/** Keys of a server that is a command, and of one with a URL. Some clients refuse those of the other kind. */
const COMMAND_KEYS = ['cwd', 'env', 'environment', 'envFile', 'env_vars'];
const URL_SERVER_KEYS = ['auth', 'bearer_token_env_var', 'env_http_headers', 'oauth'];

/** What the person or the client has added to the entry, such as a time limit. */
export function keptKeys(client: Client, existing: unknown, start: Start): string[] {
  const starts: Start[] = [
    { command: '', args: [] },
    { url: '', headers: {} },
  ];
  const owned = new Set(starts.flatMap((each) => Object.keys(client.entryFor(each) ?? {})));
  const unfit = 'command' in start ? URL_SERVER_KEYS : COMMAND_KEYS;
  return Object.keys(isObject(existing) ? existing : {}).filter((key) => !owned.has(key) && !unfit.includes(key));
}

const without = (entry: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));

/** All words of our own command may be shown. */
function openIn(entry: ClientEntry, start: Start): (value: string) => boolean {
  const isOpen = openValues([entry]);
  const words = 'command' in start ? [start.command, ...start.args] : [];
  return (value) => words.includes(value) || isOpen(value);
}

function linkOne(each: Link, records: LinkRecords, screen: Screen): boolean {
  const { name, client, file, before, after = '' } = each;
  // Linked again: what unlink restores is the file before the first time.
  const earlier = each.isLinked ? records.find(name, file) : undefined;
  const untouched = earlier === undefined || exactUndo(earlier, before ?? '') !== undefined;
  try {
    const backup = before === undefined ? null : records.backUp(name, file, before);
    const record: LinkRecord = {
      client: name,
      file,
      backup: earlier === undefined ? backup : earlier.backup,
      ...(untouched && { sha256: textHash(after) }),
      ...(earlier?.madeFolder !== undefined && { madeFolder: earlier.madeFolder }),
    };
    makeRecorded(each, record, earlier, records);
    const kept = backup === null ? '' : `; backup: ${cleanLine(backup)}`;
    screen.printOwn(`${screen.style.good('✓')} ${client.title} is linked: ${client.afterwards}${kept}`);
    return true;
  } catch (error) {
    screen.note(`meanwhile: ${client.title} is not linked: ${file}: ${messageOf(error)}`);
    return false;
  }
}

/** The record comes first: without it unlink would not find a change that was made. */
function makeRecorded(
  change: FileChange,
  record: LinkRecord,
  earlier: LinkRecord | undefined,
  records: LinkRecords,
): void {
  records.save(record);
  let madeFolder: string | undefined;
  try {
    madeFolder = make(change);
  } catch (error) {
    if (earlier === undefined) records.drop(record, true);
    else records.save(earlier);
    throw error;
  }
  if (madeFolder !== undefined) records.save({ ...record, madeFolder });
}
