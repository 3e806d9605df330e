import { resolve } from 'node:path';
import { messageOf } from '../../lib/log.ts';
import { EXIT_CODES, Failure, RESULT } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { confirm, make, showChange } from '../link/changes.ts';
import { clientsNamed } from '../link/choose.ts';
import { collect, type Remark } from '../link/collect.ts';
import { readTextFile } from '../link/files.ts';
import { NotUnderstood, type Format } from '../link/format.ts';
import { jsonFormat } from '../link/json-format.ts';
import { thisMachine } from '../link/machine.ts';
import { openValues } from '../link/open-values.ts';
import { LinkRecords } from '../link/records.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { Screen } from '../terminal/screen.ts';

export async function importServers({ operands, flags }: CommandLine): Promise<number> {
  const machine = thisMachine();
  const screen = new Screen(flags);
  const clients = clientsNamed(operands);
  const file = resolve(flags.config ?? (process.env['MEANWHILE_CONFIG'] || 'meanwhile.json'));
  const { before, format, existing } = target(file);
  const { servers, remarks } = collect(clients, machine, existing);
  for (const remark of remarks) screen.printOwn(shown(remark, screen));
  const failed = remarks.some(({ kind }) => kind === 'problem');
  if (servers.size === 0) {
    screen.note(failed ? 'nothing was imported' : 'there is nothing to import');
    return failed ? EXIT_CODES.unexpected : RESULT;
  }
  const after = naming(file, () =>
    [...servers].reduce((text, [name, entry]) => format.set(text, name, entry), before ?? ''),
  );
  const change = { title: 'Config file', file, before, after, isOpen: openValues(servers.values()) };
  showChange(change, screen);
  await confirm(1, flags, screen);
  try {
    const backup = before === undefined ? undefined : new LinkRecords(machine).backUp('config', file, before);
    make(change);
    const kept = backup === undefined ? '' : `; backup: ${cleanLine(backup)}`;
    screen.printOwn(`${screen.style.good('✓')} ${count(servers.size)} imported${kept}`);
  } catch (error) {
    throw new Failure('unexpected', `${file}: ${messageOf(error)}`, {}, { cause: error });
  }
  screen.note(
    'check them with meanwhile doctor; add Meanwhile to the clients with meanwhile link\n' +
      'the clients still have their own entries for these servers: remove them, or the clients list each tool twice',
  );
  return failed ? EXIT_CODES.unexpected : RESULT;
}

const count = (servers: number): string => (servers === 1 ? '1 server was' : `${servers} servers were`);

interface Target {
  before: string | undefined;
  format: Format;
  existing: Record<string, unknown>;
}

/** A file of VS Code, which may be used as the config file too, has its servers under another key. */
function target(file: string): Target {
  return naming(file, () => {
    const before = readTextFile(file);
    const [usual, ofVscode] = [jsonFormat('mcpServers', 'jsonc'), jsonFormat('servers', 'jsonc')] as const;
    const existing = usual.read(before ?? '');
    const others = Object.keys(existing).length === 0 ? ofVscode.read(before ?? '') : {};
    return Object.keys(others).length > 0
      ? { before, format: ofVscode, existing: others }
      : { before, format: usual, existing };
  });
}

/** Says which file is not understood. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof NotUnderstood) throw new Failure('config', `${file}: ${error.message}`, {}, { cause: error });
    throw error;
  }
}

const SIGNS: Record<Remark['kind'], string> = { added: '+', note: '!', 'left out': '-', problem: '✗' };

function shown({ kind, text }: Remark, { style }: Screen): string {
  const paint = { added: style.good, note: style.warning, 'left out': style.faint, problem: style.bad }[kind];
  return `${paint(SIGNS[kind])} ${clean(text)}`;
}
