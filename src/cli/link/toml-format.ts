/** Codex's TOML file. The parser gives the places of the tables; the text between them is not touched. */

import { isDeepStrictEqual } from 'node:util';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { isObject } from '../../lib/values.ts';
import { applyEdits, lineEndIn, NotUnderstood, splitBom, type Entry, type Format } from './format.ts';

/** Servers are the tables `[key.name]`. */
export function tomlFormat(key: string): Format {
  const edit = (text: string, name: string, change: (body: string) => string): string => {
    const { bom, body } = splitBom(text);
    const after = change(body);
    checkOthers(body, after, key, name);
    return bom + after;
  };
  return {
    read: (text) => serversIn(valueOf(splitBom(text).body), key),
    set: (text, name, entry) => edit(text, name, (body) => withEntry(body, key, name, entry)),
    remove: (text, name) => edit(text, name, (body) => withoutEntry(body, key, name)),
  };
}

function withEntry(body: string, key: string, name: string, entry: Entry): string {
  const eol = lineEndIn(body);
  const table = [`[${key}.${name}]`, ...Object.entries(entry).map(([field, value]) => `${field} = ${toml(value)}`)];
  const existing = tablesOf(body, key, name);
  if (existing !== undefined) {
    const { start, end } = existing;
    return applyEdits(body, [{ at: start, remove: end - start, insert: table.join(eol) }]);
  }
  const rest = body === '' || body.endsWith('\n') ? body : body + eol;
  return `${rest}${rest.trim() === '' ? '' : eol}${table.join(eol)}${eol}`;
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

/** The range of the table of a server with its sub-tables; `undefined` if there is no such server. */
function tablesOf(body: string, key: string, name: string): { start: number; end: number } | undefined {
  const all = parsed(body).body[0].body;
  const isOurs = (node: (typeof all)[number]): boolean =>
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
  return { start: first.range[0], end: last.range[1] };
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
  if (!same) throw new NotUnderstood('it cannot be changed safely');
}

function toml(value: Entry[string]): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlString).join(', ')}]`;
  const fields = Object.entries(value).map(([field, text]) => `${tomlString(field)} = ${tomlString(text)}`);
  return `{ ${fields.join(', ')} }`;
}

/** A basic string has the escapes of JSON; only DEL must be escaped too. */
const tomlString = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);
