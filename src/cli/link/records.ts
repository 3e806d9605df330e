/** Records of the changes by `link`, so that `unlink` can undo exactly those; stored with backups in the data folder. */

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import * as z from 'zod';
import { dataFolder } from '../../config/paths.ts';
import { Failure } from '../failure.ts';
import { NotUnderstood } from './format.ts';
import { readTextFile, replaceFile } from './files.ts';
import { join, type Machine } from './machine.ts';
import { CLIENT_NAMES, type ClientName } from './names.ts';

const recordSchema = z.object({
  client: z.enum(CLIENT_NAMES),
  file: z.string(),
  /** The hash of the file as `link` left it. Not known if something else changed the file between two links. */
  sha256: z.string().optional(),
  /** The file before the first `link`; `null` if there was none. */
  backup: z.string().nullable(),
  /** The first folder that was made for the file. */
  madeFolder: z.string().optional(),
});

const fileSchema = z.object({ links: z.array(z.unknown()) });

/** Of each file. */
const KEPT_BACKUPS = 5;

export type LinkRecord = z.infer<typeof recordSchema>;

const recordIn = (link: unknown): LinkRecord | undefined => recordSchema.safeParse(link).data;

export const textHash = (text: string): string => createHash('sha256').update(text).digest('hex');

export class LinkRecords {
  readonly #machine: Machine;
  readonly #folder: string;
  readonly #file: string;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#folder = dataFolder({ ...machine.env, HOME: machine.home }, machine.platform);
    this.#file = join(machine, this.#folder, 'links.json');
  }

  all(): LinkRecord[] {
    return this.#links().flatMap((link) => recordIn(link) ?? []);
  }

  /** Including records in unknown formats of other versions. */
  #links(): unknown[] {
    const text = readTextFile(this.#file);
    if (text === undefined) return [];
    try {
      return fileSchema.parse(JSON.parse(text)).links;
    } catch (error) {
      const what = `${this.#file}, the list of linked clients, is damaged; remove it`;
      throw new Failure('unexpected', `${what} and name the clients: meanwhile unlink CLIENT`, {}, { cause: error });
    }
  }

  find(client: ClientName, file: string): LinkRecord | undefined {
    return this.all().find((record) => record.client === client && record.file === file);
  }

  save(record: LinkRecord): void {
    this.#write([...this.#others(record), record]);
  }

  /** Also removes its backup if `unlink` has just restored it. */
  drop(record: LinkRecord, restored: boolean): void {
    this.#write(this.#others(record));
    if (restored && record.backup !== null) rmSync(record.backup, { force: true });
  }

  /** Returns the path of the backup. */
  backUp(label: string, file: string, text: string): string {
    const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const path = join(this.#machine, this.#folder, 'backups', `${label}-${time}-${basename(file)}`);
    replaceFile(path, text);
    this.#removeOldBackups(label, basename(file));
    return path;
  }

  /** Keeps the backups that `unlink` needs. */
  #removeOldBackups(label: string, name: string): void {
    const folder = join(this.#machine, this.#folder, 'backups');
    const needed = new Set(this.all().map(({ backup }) => backup));
    const paths = this.#machine
      .list(folder)
      .filter((each) => each.startsWith(`${label}-2`) && each.endsWith(`Z-${name}`))
      .toSorted()
      .map((each) => join(this.#machine, folder, each));
    for (const path of paths.slice(0, -KEPT_BACKUPS)) if (!needed.has(path)) rmSync(path, { force: true });
  }

  #others({ client, file }: LinkRecord): unknown[] {
    const isOther = (record: LinkRecord | undefined): boolean => record?.client !== client || record.file !== file;
    return this.#links().filter((link) => isOther(recordIn(link)));
  }

  #write(links: unknown[]): void {
    replaceFile(this.#file, `${JSON.stringify({ links }, undefined, 2)}\n`);
  }
}

/** The text before the first `link`, if the file is as `link` left it and the backup is there. */
export function exactUndo(record: LinkRecord, current: string): { before: string | undefined } | undefined {
  if (textHash(current) !== record.sha256) return undefined;
  if (record.backup === null) return { before: undefined };
  try {
    const before = readTextFile(record.backup);
    return before === undefined ? undefined : { before };
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}
