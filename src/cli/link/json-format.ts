/** JSON files, with or without comments. Entries are inserted and removed as text: comments, order and layout stay. */

import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, parseTree, type Node } from 'jsonc-parser';
import { JsonError, parseJsonAs } from '../../config/json.ts';
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
  type Format,
} from './format.ts';

/** What the client accepts in its file: nothing more than JSON, also comments, or also a comma after the last element. */
export type JsonDialect = 'json' | 'comments' | 'jsonc';

/** The servers are in the object with this key. */
export function jsonFormat(key: string, dialect: JsonDialect): Format {
  const read = (text: string): Record<string, unknown> => {
    const servers = serversNode(splitBom(text).body, dialect, key);
    return servers === undefined ? {} : (getNodeValue(servers) as Record<string, unknown>);
  };
  const edit = (text: string, name: string, change: (body: string) => string): string => {
    const { bom, body } = splitBom(text);
    const after = change(body);
    checkOthers(body, after, key, name, dialect);
    return bom + after;
  };
  return {
    read,
    set: (text, name, entry, keep = []) => {
      const old = read(text)[name];
      const kept = isObject(old) ? Object.entries(old).filter(([field]) => keep.includes(field)) : [];
      const value = { ...entry, ...Object.fromEntries(kept) };
      const after = edit(text, name, (body) => withEntry(body, dialect, key, name, value));
      checkEntry(read(after)[name], entry, old, keep);
      return after;
    },
    remove: (text, name, original) =>
      edit(text, name, (body) => {
        const after = withoutEntry(body, dialect, key, name);
        const isNew = original !== undefined && serversNode(splitBom(original).body, dialect, key) === undefined;
        return isNew && after !== body ? withoutEmpty(after, dialect, key) : after;
      }),
    restore: (text, name, original) => {
      const after = edit(text, name, (body) => withOriginal(body, dialect, key, name, splitBom(original).body));
      checkRestored(read(after)[name], read(original)[name]);
      return after;
    },
  };
}

function withEntry(body: string, dialect: JsonDialect, key: string, name: string, entry: unknown): string {
  const eol = lineEndIn(body);
  if (body.trim() === '') return `${rendered({ [key]: { [name]: entry } }, { eol, indent: '  ' }, '')}${eol}`;
  const root = rootOf(body, dialect);
  const servers = member(root, key);
  if (servers === undefined) return applyEdits(body, insertion(body, root, root, key, { [name]: entry }));
  const object = objectIn(servers, key);
  const existing = member(object, name);
  if (existing === undefined) return applyEdits(body, insertion(body, root, object, name, entry));
  const property = propertyOf(existing);
  const insert = isOnOwnLine(body, property)
    ? rendered(entry, layoutOf(body, root), indentAt(body, property.offset))
    : JSON.stringify(entry);
  return applyEdits(body, [{ at: existing.offset, remove: existing.length, insert }]);
}

function withoutEntry(body: string, dialect: JsonDialect, key: string, name: string): string {
  const servers = serversNode(body, dialect, key);
  const value = servers && member(servers, name);
  return servers === undefined || value === undefined
    ? body
    : applyEdits(body, removal(body, servers, propertyOf(value)));
}

/** Without the object of the servers if there is nothing in it, not even a comment. */
function withoutEmpty(body: string, dialect: JsonDialect, key: string): string {
  const root = rootOf(body, dialect);
  const servers = member(root, key);
  if (servers === undefined || body.slice(servers.offset + 1, servers.offset + servers.length - 1).trim() !== '') {
    return body;
  }
  return applyEdits(body, removal(body, root, propertyOf(servers)));
}

function withOriginal(body: string, dialect: JsonDialect, key: string, name: string, original: string): string {
  const entryIn = (text: string): Node => {
    const servers = serversNode(text, dialect, key);
    const value = servers && member(servers, name);
    if (value === undefined) throw notSafe();
    return value;
  };
  const [now, before] = [entryIn(body), entryIn(original)];
  const insert = original.slice(before.offset, before.offset + before.length);
  return applyEdits(body, [{ at: now.offset, remove: now.length, insert }]);
}

/** Nothing but the one entry may have changed: compared as values, whatever was done to the text. */
function checkOthers(before: string, after: string, key: string, name: string, dialect: JsonDialect): void {
  const others = (text: string): unknown => {
    const value: unknown = text.trim() === '' ? {} : getNodeValue(rootOf(text, dialect));
    if (!isObject(value)) return value;
    const { [key]: servers, ...rest } = value;
    const { [name]: _entry, ...entries } = isObject(servers) ? servers : {};
    return { rest, entries };
  };
  if (!isDeepStrictEqual(others(before), others(after))) throw notSafe();
}

// --- Reading ---

function rootOf(body: string, dialect: JsonDialect): Node {
  const options = { disallowComments: dialect === 'json', allowTrailingComma: dialect === 'jsonc' };
  try {
    parseJsonAs(body, options);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new NotUnderstood(`line ${error.line}, column ${error.column}: not valid JSON: ${error.message}`);
  }
  const root = parseTree(body, [], { allowTrailingComma: true });
  if (root?.type !== 'object') throw new NotUnderstood('expected a JSON object');
  return root;
}

/** The object of the servers. */
function serversNode(body: string, dialect: JsonDialect, key: string): Node | undefined {
  const servers = body.trim() === '' ? undefined : member(rootOf(body, dialect), key);
  return servers && objectIn(servers, key);
}

/** The value of a key. A duplicate key is an error, because programs differ in which one they read. */
function member(object: Node, key: string): Node | undefined {
  const found = (object.children ?? []).filter(({ children }) => children?.[0]?.value === key);
  if (found.length > 1) throw new NotUnderstood(`"${key}" occurs twice; remove one`);
  return found[0]?.children?.[1];
}

function objectIn(node: Node, key: string): Node {
  if (node.type === 'object') return node;
  throw new NotUnderstood(`"${key}" should be an object`);
}

function propertyOf(value: Node): Node {
  if (value.parent === undefined) throw new Error('the root is not a property');
  return value.parent;
}

// --- Layout ---

interface Layout {
  eol: string;
  /** One level; `undefined` if the whole text is on one line. */
  indent: string | undefined;
}

function layoutOf(body: string, root: Node): Layout {
  const eol = lineEndIn(body);
  const oneLine = !body.trim().includes('\n') && /[^\s{}]/.test(body);
  return { eol, indent: oneLine ? undefined : (levelIn(body, root) ?? '  ') };
}

/** The white space before the first property that is on a line of its own. */
function levelIn(body: string, root: Node): string | undefined {
  const first = root.children?.find((property) => isOnOwnLine(body, property));
  return (first && indentAt(body, first.offset).slice(indentAt(body, root.offset).length)) || undefined;
}

function rendered(value: unknown, { eol, indent }: Layout, outer: string): string {
  return JSON.stringify(value, undefined, indent).replaceAll('\n', eol + outer);
}

/** The white space at the beginning of the line with this position. */
function indentAt(body: string, position: number): string {
  const line = body.slice(body.lastIndexOf('\n', position - 1) + 1);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** Nothing but white space is before it on its line. */
function isOnOwnLine(body: string, { offset }: Node): boolean {
  return body.slice(0, offset).trimEnd().length <= body.lastIndexOf('\n', offset - 1);
}

// --- Editing ---

function insertion(body: string, root: Node, object: Node, key: string, value: unknown): Edit[] {
  const layout = layoutOf(body, root);
  const last = object.children?.at(-1);
  if (last === undefined) return [intoEmpty(body, object, key, value, layout)];
  const end = last.offset + last.length;
  const { comma, lineEnd } = followers(body, end);
  const ownLine = isOnOwnLine(body, last);
  const indent = indentAt(body, last.offset);
  const property = ownLine
    ? `${layout.eol}${indent}${JSON.stringify(key)}: ${rendered(value, layout, indent)}`
    : `${layout.indent === undefined ? '' : ' '}${JSON.stringify(key)}:${JSON.stringify(value)}`;
  // A comment behind the last property stays with it.
  const at = ownLine ? lineEnd : (comma ?? end);
  return comma === undefined
    ? [
        { at: end, insert: ',' },
        { at, insert: property },
      ]
    : [{ at, insert: `${property},` }];
}

function intoEmpty(body: string, object: Node, key: string, value: unknown, layout: Layout): Edit {
  const [start, close] = [object.offset + 1, object.offset + object.length - 1];
  const inside = body.slice(start, close);
  if (layout.indent === undefined) {
    return {
      at: start,
      remove: inside.length,
      insert: `${inside.trimEnd()}${JSON.stringify(key)}:${JSON.stringify(value)}`,
    };
  }
  const outer = indentAt(body, object.offset);
  const inner = outer + layout.indent;
  // There may be comments.
  const kept = inside.trimEnd();
  const property = `${layout.eol}${inner}${JSON.stringify(key)}: ${rendered(value, layout, inner)}`;
  return { at: start, remove: inside.length, insert: `${kept}${property}${layout.eol}${outer}` };
}

function removal(body: string, object: Node, property: Node): Edit[] {
  const siblings = object.children ?? [];
  const index = siblings.indexOf(property);
  const end = property.offset + property.length;
  const { comma } = followers(body, end);
  const after = comma ?? end;
  const before = /(?:\r?\n)?[ \t]*$/.exec(body.slice(0, property.offset))?.[0] ?? '';
  const start = property.offset - before.length;
  if (siblings.length === 1 && body.slice(object.offset + 1, start).trim() === '') {
    const close = object.offset + object.length - 1;
    if (body.slice(after, close).trim() === '') {
      return [{ at: object.offset + 1, remove: close - object.offset - 1 }];
    }
  }
  const edits: Edit[] = [{ at: start, remove: after - start }];
  const previous = siblings[index - 1];
  const isLast = index === siblings.length - 1;
  if (comma === undefined && isLast && previous !== undefined) {
    const { comma: separator } = followers(body, previous.offset + previous.length);
    if (separator !== undefined) edits.push({ at: separator - 1, remove: 1 });
  }
  return edits;
}

/** What follows a property: the end of its comma, and the end of what belongs to it on the same line. */
function followers(body: string, end: number): { comma: number | undefined; lineEnd: number } {
  const next = /(?<space>\s+)|(?<comma>,)|\/\/[^\r\n]*|\/\*[^]*?\*\//y;
  next.lastIndex = end;
  let comma: number | undefined;
  let lineEnd = end;
  for (let found = next.exec(body); found !== null; found = next.exec(body)) {
    const { space, comma: isComma } = found.groups ?? {};
    if (isComma !== undefined) comma = next.lastIndex;
    const isOnLine = !body.slice(end, found.index).includes('\n');
    if (space === undefined && isOnLine) lineEnd = next.lastIndex;
  }
  return { comma, lineEnd: Math.max(lineEnd, comma ?? 0) };
}
