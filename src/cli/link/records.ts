/** What `link` did to the files of clients, so that `unlink` can undo exactly that: kept with backups in the data folder. */

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import * as z from 'zod';
import { dataFolder } from '../../config/paths.ts';
import { NotUnderstood } from './format.ts';
import { readText, replaceFile } from './files.ts';
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

const fileSchema = z.object({ links: z.array(recordSchema) });

export type LinkRecord = z.infer<typeof recordSchema>;

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export class LinkRecords {
  readonly #machine: Machine;
  readonly #folder: string;
  readonly #file: string;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#folder = dataFolder({ ...machine.env, HOME: machine.home }, machine.platform);
    this.#file = join(machine, this.#folder, 'links.json');
  }

  /** None if the file is missing or damaged: `unlink` can do without. */
  all(): LinkRecord[] {
    try {
      return fileSchema.parse(JSON.parse(readText(this.#file) ?? '{"links":[]}')).links;
    } catch {
      return [];
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
    return path;
  }

  #others({ client, file }: LinkRecord): LinkRecord[] {
    return this.all().filter((record) => record.client !== client || record.file !== file);
  }

  #write(links: LinkRecord[]): void {
    replaceFile(this.#file, `${JSON.stringify({ links }, undefined, 2)}\n`);
  }
}

/** The text before the first `link`, if the file is as `link` left it and the backup is there. */
export function exactUndo(record: LinkRecord, current: string): { before: string | undefined } | undefined {
  if (hashOf(current) !== record.sha256) return undefined;
  if (record.backup === null) return { before: undefined };
  try {
    const before = readText(record.backup);
    return before === undefined ? undefined : { before };
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}
