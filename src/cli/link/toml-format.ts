/** Codex's TOML file. The parser gives the places of the tables; the text between them is not touched. */

import { isDeepStrictEqual } from 'node:util';
import { getStaticTOMLValue, parseTOML, type AST } from 'toml-eslint-parser';
import { isObject } from '../../lib/values.ts';
import {
  applyEdits,
  checkEntry,
  checkRestored,
  lineEndIn,
  notSafe,
  NotUnderstood,
  splitBom,
  type Edit,
  type ClientEntry,
  type Format,
} from './format.ts';

/** Servers are the tables `[key.name]`. */
export function tomlFormat(key: string): Format {
  const edit = (text: string, name: string, change: (body: string) => string): string => {
    const { bom, body } = splitBom(text);
    const after = change(body);
    checkOthers(body, after, key, name);
    return bom + after;
  };
  const read = (text: string): Record<string, unknown> => serversIn(valueOf(splitBom(text).body), key);
  return {
    read,
    set: (text, name, entry, keep = []) => {
      const after = edit(text, name, (body) => withEntry(body, key, name, entry, keep));
      checkEntry(read(after)[name], entry, read(text)[name], keep);
      return after;
    },
    // Tables are in nothing that could be left empty.
    remove: (text, name) => edit(text, name, (body) => withoutEntry(body, key, name)),
    restore: (text, name, original) => {
      const after = edit(text, name, (body) => withOriginal(body, key, name, splitBom(original).body));
      checkRestored(read(after)[name], read(original)[name]);
      return after;
    },
  };
}

function withEntry(body: string, key: string, name: string, entry: ClientEntry, keep: readonly string[]): string {
  const eol = lineEndIn(body);
  const header = `[${key}.${name}]`;
  const fields = Object.entries(entry).map(([field, value]) => `${field} = ${toml(value)}`);
  const existing = tablesOf(body, key, name);
  if (existing !== undefined) {
    const main = existing.tables.find(({ resolvedKey }) => resolvedKey.length === 2);
    const lines = fields.map((line) => eol + line).join('');
    const added: Edit =
      main === undefined
        ? { at: existing.start, insert: `${header}${lines}${eol}${eol}` }
        : { at: lineEndAt(body, main.key.range[1]), insert: lines };
    return applyEdits(body, [added, ...existing.tables.flatMap((table) => removals(body, table, keep))]);
  }
  const table = [header, ...fields];
  const rest = body === '' || body.endsWith('\n') ? body : body + eol;
  return `${rest}${rest.trim() === '' ? '' : eol}${table.join(eol)}${eol}`;
}

/** Takes the keys out of a table of a server that are not to be kept; a table of such a key as a whole. */
function removals(body: string, table: AST.TOMLTable, keep: readonly string[]): Edit[] {
  const [, , field] = table.resolvedKey;
  if (field !== undefined) return keep.includes(String(field)) ? [] : [removalOf(body, table.range)];
  return table.body.filter(({ key }) => !keep.includes(nameIn(key.keys[0]))).map(({ range }) => removalOf(body, range));
}

const nameIn = (part: AST.TOMLBare | AST.TOMLQuoted | undefined): string =>
  part?.type === 'TOMLQuoted' ? part.value : (part?.name ?? '');

/** The lines of this range, with the line end and empty lines before them. */
function removalOf(body: string, [start, end]: AST.Range): Edit {
  const at = Math.max(0, body.slice(0, start).search(/(?:\r?\n[ \t]*)+$/));
  return { at, remove: lineEndAt(body, end) - at };
}

/** The end of the line with this position. */
function lineEndAt(body: string, position: number): number {
  return position + (/^[^\r\n]*/.exec(body.slice(position))?.[0].length ?? 0);
}

function withOriginal(body: string, key: string, name: string, original: string): string {
  const [now, before] = [tablesOf(body, key, name), tablesOf(original, key, name)];
  if (now === undefined || before === undefined) throw notSafe();
  const insert = original.slice(before.start, before.end);
  return applyEdits(body, [{ at: now.start, remove: now.end - now.start, insert }]);
}

function withoutEntry(body: string, key: string, name: string): string {
  const existing = tablesOf(body, key, name);
  if (existing === undefined) return body;
  const { start, end } = existing;
  // The lines of the table, and an empty one before them.
  const blank = /(?:\r?\n)?$/.exec(body.slice(0, start).replace(/\r?\n$/, ''))?.[0] ?? '';
  const before = blank === '' ? start : start - blank.length;
  const rest = /^[^\n]*(?:\n|$)/.exec(body.slice(end))?.[0] ?? '';
  return applyEdits(body, [{ at: before, remove: end + rest.length - before }]);
}

interface Tables {
  tables: AST.TOMLTable[];
  start: number;
  end: number;
}

/** The table of a server with its sub-tables, and their range; `undefined` if there is no such server. */
function tablesOf(body: string, key: string, name: string): Tables | undefined {
  const all = parsed(body).body[0].body;
  const isOurs = (node: (typeof all)[number]): node is AST.TOMLTable =>
    node.type === 'TOMLTable' && node.resolvedKey[0] === key && node.resolvedKey[1] === name;
  const ours = all.filter(isOurs);
  const [first, last] = [ours[0], ours.at(-1)];
  if (first === undefined || last === undefined) {
    if (Object.hasOwn(serversIn(valueOf(body), key), name)) {
      throw new NotUnderstood(`the server ${name} is not written as a table; write it as [${key}.${name}]`);
    }
    return undefined;
  }
  const inOneRow = all.slice(all.indexOf(first), all.indexOf(last) + 1).every(isOurs);
  if (!inOneRow) throw new NotUnderstood(`the tables of [${key}.${name}] are not next to each other`);
  return { tables: ours, start: first.range[0], end: last.range[1] };
}

function parsed(body: string): ReturnType<typeof parseTOML> {
  try {
    return parseTOML(body);
  } catch (error) {
    // The error of the parser may quote the text, which may contain secrets.
    const { lineNumber, column, message } = error as { lineNumber?: number; column?: number; message: string };
    if (lineNumber === undefined) throw error;
    throw new NotUnderstood(`line ${lineNumber}, column ${(column ?? 0) + 1}: not valid TOML: ${message}`);
  }
}

const valueOf = (body: string): Record<string, unknown> => getStaticTOMLValue(parsed(body));

function serversIn(file: Record<string, unknown>, key: string): Record<string, unknown> {
  const servers = file[key] ?? {};
  if (!isObject(servers)) throw new NotUnderstood(`${key} should be a table`);
  return servers;
}

function checkOthers(before: string, after: string, key: string, name: string): void {
  const others = (text: string): unknown => {
    const { [key]: servers, ...rest } = valueOf(text);
    const { [name]: _entry, ...entries } = isObject(servers) ? servers : {};
    return { rest, entries };
  };
  let same: boolean;
  try {
    same = isDeepStrictEqual(others(before), others(after));
  } catch {
    // Nothing can be added to servers in an inline table, for example.
    throw new NotUnderstood(`${key} is not written as tables; write each server as [${key}.NAME]`);
  }
  if (!same) throw notSafe();
}

function toml(value: ClientEntry[string]): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlString).join(', ')}]`;
  if (!isObject(value) || Object.values(value).some((text) => typeof text !== 'string')) {
    throw new TypeError('an entry of this type cannot be written');
  }
  const fields = Object.entries(value).map(([field, text]) => `${tomlString(field)} = ${tomlString(text)}`);
  return `{ ${fields.join(', ')} }`;
}

/** A basic string has the escapes of JSON; only DEL must be escaped too. */
const tomlString = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);
