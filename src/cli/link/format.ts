import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../lib/values.ts';

/** The servers in the config file of a client, read and edited as text, so that the rest stays unchanged. */
export interface Format {
  /** The entries by name. All of these throw `NotUnderstood`. */
  read: (text: string) => Record<string, unknown>;
  /** Adds an entry, or replaces the one of that name except for the keys to keep. */
  set: (text: string, name: string, entry: ClientEntry, keep?: readonly string[]) => string;
  /** Also removes the containing object if it is empty and not in the original text. */
  remove: (text: string, name: string, original?: string) => string;
  /** Replaces the entry by the one in the original text, as it is written there. */
  restore: (text: string, name: string, original: string) => string;
}

export type ClientEntry = Record<string, string | boolean | string[] | Record<string, string>>;

/** The file has mistakes or an unexpected structure. Such a file is not changed. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/** Whether two values mean the same in a file. Parsers make objects without a prototype. */
export function isSameEntry(one: unknown, other: unknown): boolean {
  const plain = (value: unknown): unknown => (value === undefined ? value : JSON.parse(JSON.stringify(value)));
  return isDeepStrictEqual(plain(one), plain(other));
}

/** Throws unless the entry is in the file now, with the values of the old one for the keys to keep. */
export function checkEntry(now: unknown, entry: ClientEntry, old: unknown, keep: readonly string[]): void {
  const kept = isObject(old) ? keep.filter((key) => Object.hasOwn(old, key)) : [];
  const isRight =
    isObject(now) &&
    Object.keys(now).length === Object.keys(entry).length + kept.length &&
    Object.entries(entry).every(([key, value]) => isSameEntry(now[key], value)) &&
    kept.every((key) => isDeepStrictEqual(now[key], (old as Record<string, unknown>)[key]));
  if (!isRight) throw notSafe();
}

/** Throws unless the entry is the one before. */
export function checkRestored(now: unknown, old: unknown): void {
  if (!isDeepStrictEqual(now, old)) throw notSafe();
}

export const notSafe = (): NotUnderstood => new NotUnderstood('it cannot be changed safely');

/** The line end that a text uses. */
export const lineEndIn = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

/** Editors on Windows may put this before the text. */
export function splitBom(text: string): { bom: string; body: string } {
  return text.startsWith('\uFEFF') ? { bom: '\uFEFF', body: text.slice(1) } : { bom: '', body: text };
}

export interface Edit {
  at: number;
  remove?: number;
  insert?: string;
}

/** Positions are those in the given text; of two edits at one place the first comes first. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((a, b) => a.at - b.at)
    .reduceRight((done, { at, remove = 0, insert = '' }) => done.slice(0, at) + insert + done.slice(at + remove), text);
}
