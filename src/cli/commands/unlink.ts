import { messageOf } from '../../lib/log.ts';
import { EXIT_CODES, RESULT } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { confirm, make, openValues, showChange, type Change } from '../link/changes.ts';
import { clientsNamed } from '../link/choose.ts';
import { CLIENTS, type Client } from '../link/clients.ts';
import { readText } from '../link/files.ts';
import { NotUnderstood, type Entry } from '../link/format.ts';
import { thisMachine, type Machine } from '../link/machine.ts';
import { ENTRY_NAME, type ClientName } from '../link/names.ts';
import { exactUndo, LinkRecords, type LinkRecord } from '../link/records.ts';
import { cleanLine } from '../terminal/clean.ts';
import { Screen } from '../terminal/screen.ts';

interface Undo extends Change {
  name: ClientName;
  record: LinkRecord | undefined;
  /** The file becomes what it was before `link`, byte for byte. */
  exact: boolean;
}

export async function unlink({ operands, flags }: CommandLine): Promise<number> {
  const machine = thisMachine();
  const records = new LinkRecords(machine);
  const screen = new Screen(flags);
  const undos: Undo[] = [];
  let failed = false;
  for (const name of clientsNamed(operands)) {
    const { title } = CLIENTS[name];
    let found = false;
    for (const file of filesOf(name, machine, records, operands.length > 0)) {
      try {
        const record = records.find(name, file);
        const undo = plan(name, CLIENTS[name], file, record);
        if (undo !== undefined) undos.push(undo);
        // The person or the client took the entry out.
        else if (record !== undefined) records.drop(record, false);
        found ||= undo !== undefined;
      } catch (error) {
        if (!(error instanceof NotUnderstood)) throw error;
        [found, failed] = [true, true];
        screen.note(`meanwhile: ${title} is not changed: ${file}: ${error.message}`);
      }
    }
    if (operands.length > 0 && !found) screen.printOwn(`${screen.style.strong(title)}  is not linked`);
  }
  if (undos.length === 0) {
    if (!failed && operands.length === 0) screen.printOwn('no client is linked');
    return failed ? EXIT_CODES.unexpected : RESULT;
  }
  for (const undo of undos) showChange(undo, screen);
  await confirm(undos.length, flags, screen);
  // In reverse: a folder that was made for one client may contain that of the next.
  for (const undo of undos.toReversed()) failed = !unlinkOne(undo, records, screen) || failed;
  return failed ? EXIT_CODES.unexpected : RESULT;
}

/**
 * The files at the time of linking, since a variable may have moved the folder of the client. For a client that was named
 * also its file now, whoever wrote the entry.
 */
function filesOf(name: ClientName, machine: Machine, records: LinkRecords, isNamed: boolean): Set<string> {
  const linked = records.all().filter(({ client }) => client === name);
  return new Set([...linked.map(({ file }) => file), ...(isNamed ? [CLIENTS[name].file(machine)] : [])]);
}

function plan(name: ClientName, client: Client, file: string, record: LinkRecord | undefined): Undo | undefined {
  const current = readText(file);
  if (current === undefined) return undefined;
  const existing = client.format.read(current)[ENTRY_NAME];
  const isOpen = openValues(existing);
  const common = { name, title: client.title, file, before: current, isOpen, record };
  const original = record && exactUndo(record, current);
  if (original !== undefined) {
    return { ...common, after: original.before, madeFolder: record?.madeFolder, exact: true };
  }
  if (existing === undefined) return undefined;
  const replaced = record && entryBefore(client, record);
  const after =
    replaced === undefined
      ? client.format.remove(current, ENTRY_NAME)
      : client.format.set(current, ENTRY_NAME, replaced);
  return { ...common, after, exact: false };
}

/** An entry of this name that was there before. */
function entryBefore(client: Client, { backup }: LinkRecord): Entry | undefined {
  const text = backup === null ? undefined : readText(backup);
  return text === undefined ? undefined : (client.format.read(text)[ENTRY_NAME] as Entry | undefined);
}

function unlinkOne(undo: Undo, records: LinkRecords, screen: Screen): boolean {
  const { name, title, file, before = '', record, exact } = undo;
  try {
    const backup = exact ? undefined : records.backUp(name, file, before);
    make(undo);
    if (record !== undefined) records.drop(record, exact);
    const kept = backup === undefined ? '' : `; the file before: ${cleanLine(backup)}`;
    screen.printOwn(`${screen.style.good('✓')} ${title} is not linked any more${kept}`);
    return true;
  } catch (error) {
    screen.note(`meanwhile: ${title} is not changed: ${file}: ${messageOf(error)}`);
    return false;
  }
}
