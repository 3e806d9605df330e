import { messageOf } from '../../lib/log.ts';
import { EXIT_CODES, RESULT } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { confirm, make, showChange, type FileChange } from '../link/changes.ts';
import { clientsNamed } from '../link/choose.ts';
import { CLIENTS, type Client } from '../link/clients.ts';
import { readTextFile } from '../link/files.ts';
import { NotUnderstood } from '../link/format.ts';
import { thisMachine, type Machine } from '../link/machine.ts';
import { ENTRY_NAME, type ClientName } from '../link/names.ts';
import { openValues } from '../link/open-values.ts';
import { exactUndo, LinkRecords, type LinkRecord } from '../link/records.ts';
import { cleanLine } from '../../lib/clean.ts';
import { Screen } from '../terminal/screen.ts';

interface Undo extends FileChange {
  name: ClientName;
  record: LinkRecord | undefined;
  /** The file is restored byte for byte to its state before `link`. */
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
        else if (record !== undefined) forget(record, records, title, operands.length > 0, screen);
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
    if (!failed && operands.length === 0 && records.all().length === 0) screen.printOwn('no client is linked');
    return failed ? EXIT_CODES.unexpected : RESULT;
  }
  for (const undo of undos) showChange(undo, screen);
  await confirm(undos.length, flags, screen);
  // In reverse: a folder created for one client may contain that of the next.
  for (const undo of undos.toReversed()) failed = !unlinkOne(undo, records, screen) || failed;
  return failed ? EXIT_CODES.unexpected : RESULT;
}

/** The entry was removed by the person or the client, or the file is missing, possibly only temporarily. */
function forget(record: LinkRecord, records: LinkRecords, title: string, isNamed: boolean, screen: Screen): void {
  if (isNamed || readTextFile(record.file) !== undefined) return records.drop(record, false);
  const way = `meanwhile unlink ${record.client}`;
  screen.note(
    `meanwhile: the config file of ${title} no longer exists: ${record.file}; ${way} removes the record of the link`,
  );
}

/**
 * The files at the time of linking, since a variable may have moved the folder of the client. If the user
 * named a client, also the file that it reads now, even if the entry was written by hand.
 */
function filesOf(name: ClientName, machine: Machine, records: LinkRecords, isNamed: boolean): Set<string> {
  const linked = records.all().filter(({ client }) => client === name);
  return new Set([...linked.map(({ file }) => file), ...(isNamed ? [CLIENTS[name].file(machine)] : [])]);
}

function plan(name: ClientName, client: Client, file: string, record: LinkRecord | undefined): Undo | undefined {
  const current = readTextFile(file);
  if (current === undefined) return undefined;
  const existing = client.format.read(current)[ENTRY_NAME];
  const isOpen = openValues([existing]);
  const common = { name, title: client.title, file, before: current, isOpen, record };
  const original = record && exactUndo(record, current);
  if (original !== undefined) {
    return { ...common, after: original.before, madeFolder: record?.madeFolder, exact: true };
  }
  if (existing === undefined) return undefined;
  const after = withoutLink(client, current, record && textBefore(client, record));
  const isNothingLeft = record?.backup === null && NOTHING.test(after);
  return isNothingLeft
    ? { ...common, after: undefined, madeFolder: record.madeFolder, exact: false }
    : { ...common, after, exact: false };
}

/** An empty object, or nothing at all. */
const NOTHING = /^\s*(?:\{\s*\}\s*)?$/;

/** The text without the entry, or with the one that was there before. */
export function withoutLink({ format }: Client, current: string, original: string | undefined): string {
  return original !== undefined && format.read(original)[ENTRY_NAME] !== undefined
    ? format.restore(current, ENTRY_NAME, original)
    : format.remove(current, ENTRY_NAME, original);
}

/** The file before the first `link`, if that is still known. */
function textBefore({ format }: Client, { backup }: LinkRecord): string | undefined {
  if (backup === null) return '';
  try {
    const text = readTextFile(backup);
    format.read(text ?? '');
    return text;
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

function unlinkOne(undo: Undo, records: LinkRecords, screen: Screen): boolean {
  const { name, title, file, before = '', record, exact } = undo;
  try {
    const backup = exact ? undefined : records.backUp(name, file, before);
    make(undo);
    if (record !== undefined) records.drop(record, exact);
    const kept = backup === undefined ? '' : `; backup: ${cleanLine(backup)}`;
    screen.printOwn(`${screen.style.good('✓')} ${title} is no longer linked${kept}`);
    return true;
  } catch (error) {
    screen.note(`meanwhile: ${title} is not changed: ${file}: ${messageOf(error)}`);
    return false;
  }
}
