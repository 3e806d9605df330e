/** Turns schema issues into messages. Of values that may be secret only the type is shown. */

import { closest } from '../lib/closest.ts';
import type { Issue, JsonSchemaNode } from '../lib/schema/kinds.ts';
import { isObject } from '../lib/values.ts';
import type { Mistake, Path } from './expand.ts';
import { configJsonSchema } from './schema.ts';
import { URL_KEYS } from './server-entries.ts';

/** `file` is the file before variables are expanded, so that no value of a variable is shown. */
export function explain(issues: readonly Issue[], file: unknown): Mistake[] {
  const mistakes = issues.flatMap((issue) => explainIssue(issue, [], file));
  // One per path: a number far out of range violates the general limit and that of the setting.
  return [...new Map(mistakes.map((mistake) => [placeOf(mistake), mistake])).values()];
}

export const placeOf = ({ path }: Mistake): string => JSON.stringify(path);

function explainIssue(issue: Issue, prefix: Path, file: unknown): Mistake[] {
  const path = [...prefix, ...issue.path];
  const value = valueAt(file, path);
  const at = (message: string): Mistake[] => [{ path, message }];
  const got = `got ${show(value, path)}`;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `unknown key${suggestion(key, path, valueAt(file, [...path, key]))}`,
      }));
    case 'invalid_union':
      return path.length === 2 && (path[0] === 'mcpServers' || path[0] === 'servers')
        ? explainServer(issue, path, value, file)
        : explainAlternatives(issue, path, value, file);
    case 'invalid_key':
      return at(issue.issues.find((each) => each.code === 'custom')?.message ?? 'not a valid name');
    case 'invalid_type': {
      const expected = TYPE_NAMES[issue.expected] ?? issue.expected;
      return at(value === undefined ? `missing; expected ${expected}` : `expected ${expected}, ${got}`);
    }
    case 'invalid_value':
      return at(`expected ${issue.values.map((each) => JSON.stringify(each)).join(' or ')}, ${got}`);
    case 'too_small':
      return at(issue.origin === 'string' ? 'must not be empty' : `expected at least ${issue.minimum}, ${got}`);
    case 'too_big':
      return at(`expected at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}, ${got}`);
    case 'custom':
      return at(isPlain(value) && !isSecret(path) ? `${issue.message}, ${got}` : issue.message);
  }
}

/** What is wrong with the alternative that was meant by the type of the value; or which types there are. */
function explainAlternatives(
  { errors }: Extract<Issue, { code: 'invalid_union' }>,
  path: Path,
  value: unknown,
  file: unknown,
): Mistake[] {
  const isOfType = (issues: readonly Issue[]): boolean =>
    !issues.some((issue) => issue.path.length === 0 && issue.code === 'invalid_type');
  const meant = isObject(value) || Array.isArray(value) ? errors.find(isOfType) : undefined;
  if (meant !== undefined) return meant.flatMap((issue) => explainIssue(issue, path, file));
  const expected = errors.flat().flatMap((issue) => {
    if (issue.path.length > 0) return [];
    if (issue.code === 'invalid_type') return TYPE_NAMES[issue.expected] ?? issue.expected;
    return issue.code === 'invalid_value' ? issue.values.map((each) => JSON.stringify(each)) : [];
  });
  return [{ path, message: `expected ${expected.join(' or ')}, got ${show(value, path)}` }];
}

/** The keys of a server entry show which kind was meant. */
function explainServer(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  path: Path,
  value: unknown,
  file: unknown,
): Mistake[] {
  if (!isObject(value)) return [{ path, message: `expected an object, got ${show(value, path)}` }];
  const keys = [...URL_KEYS, 'command'].filter((key) => Object.hasOwn(value, key));
  const command = keys.includes('command');
  if (keys.length > 1) {
    const named = keys.map((key) => JSON.stringify(key)).join(' and ');
    return [{ path, message: `has ${keys.length === 2 ? `both ${named}` : named}; keep one of them` }];
  }
  if (keys.length === 0) {
    const near = Object.keys(value).map((key) => closest(key, ['url', 'command']));
    const hint = near.find((key) => key !== undefined);
    return [{ path, message: `expected "url" or "command"${hint ? `; did you mean '${hint}'?` : ''}` }];
  }
  return (issue.errors[command ? 1 : 0] ?? []).flatMap((each) => explainIssue(each, path, file));
}

const TYPE_NAMES: Record<string, string> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

// --- What may be shown -------------------------------------------------------------------------------------------

const SECRET_STEPS = new Set<string | number>([
  'headers',
  'env',
  'args',
  'tokens',
  'key',
  'content',
  'secret',
  'clientSecret',
  'encryptionKey',
  'token',
]);
const LONGEST_SHOWN = 80;

/** The address of a target may give access to it. */
const isTargetUrl = (path: Path): boolean => path[1] === 'notify' && path.at(-1) === 'url';

const isSecret = (path: Path): boolean => path.some((step) => SECRET_STEPS.has(step)) || isTargetUrl(path);

function show(value: unknown, path: Path): string {
  if (Array.isArray(value)) return 'an array';
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object';
  if (isSecret(path)) return `a ${typeof value}`;
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'nothing';
  const filled = value.includes('${') ? ' with its variables filled in' : '';
  const text = withoutCredentials(value);
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text) + filled;
}

/** Also for text that is not a valid URL, since that is when it is shown. */
function withoutCredentials(text: string): string {
  return text.replace(/^([^:/@]*:\/*)?.*@/s, '$1***@').replace(/([?#]).+$/s, '$1…');
}

/** A path as in `mcpServers.github.url`. */
export function showPath(path: Path): string {
  let text = '';
  for (const [index, step] of path.entries()) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += (text === '' ? '' : '.') + showKey(step, path[index - 1]);
  }
  return text;
}

/** Token and name may have been swapped, so a name as long as a token is not shown in full. */
function showKey(key: string, parent: string | number | undefined): string {
  if (parent === 'tokens' && key.length >= 16) return `${key.slice(0, 3)}…`;
  return /^[\w$-]+$/.test(key) ? key : JSON.stringify(key);
}

// --- Did you mean ------------------------------------------------------------------------------------------------

/** Suggests a similar key of the same place, or else the place where the key belongs. */
function suggestion(key: string, path: Path, value: unknown): string {
  const known = knownKeys(path);
  const near = closest(key, known);
  if (near !== undefined) return `; did you mean '${near}'?`;
  const isServer = isObject(value) && [...URL_KEYS, 'command'].some((each) => Object.hasOwn(value, each));
  const elsewhere = path.length === 0 && isServer ? [showPath(['mcpServers', key])] : placesOf(key, path);
  if (elsewhere.length > 0) return `; did you mean ${elsewhere.map((place) => `'${place}'`).join(' or ')}?`;
  return known.length === 0 ? '' : `; known: ${known.join(', ')}`;
}

function knownKeys(path: Path): string[] {
  return [...new Set(nodesAt(path).flatMap((node) => Object.keys(node.properties ?? {})))];
}

function nodesAt(path: Path): JsonSchemaNode[] {
  let nodes: JsonSchemaNode[] = [configJsonSchema()];
  for (const step of path) nodes = nodes.flatMap((node) => inside(node, step));
  return nodes;
}

function inside(node: JsonSchemaNode, step: string | number): JsonSchemaNode[] {
  const other = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  const next = (typeof step === 'number' ? node.items : node.properties?.[step]) ?? other;
  return next ? alternatives(next) : [];
}

const alternatives = (node: JsonSchemaNode): JsonSchemaNode[] => node.anyOf ?? [node];

/** Where a key of this name exists: below this place, or else anywhere; of several places those that are least deep. */
function placesOf(key: string, path: Path): string[] {
  const below = nodesAt(path).flatMap((node) => placesBelow(node, key));
  const places = [...new Set(below.length > 0 ? below : placesBelow(configJsonSchema(), key))];
  const depth = (place: string): number => place.split('.').length;
  const least = Math.min(...places.map(depth));
  return places.filter((place) => depth(place) === least);
}

function placesBelow({ properties = {}, additionalProperties }: JsonSchemaNode, key: string): string[] {
  const named = Object.entries(properties);
  const ofAnyName = typeof additionalProperties === 'object' ? alternatives(additionalProperties) : [];
  return [
    ...named.filter(([name]) => spoken(name) === spoken(key)).map(([name]) => name),
    ...named.flatMap(([name, child]) => placesBelow(child, key).map((place) => `${name}.${place}`)),
    ...ofAnyName.flatMap((child) => placesBelow(child, key).map((place) => `NAME.${place}`)),
  ];
}

/** Ignores case, hyphens and underscores. */
const spoken = (key: string): string => key.replaceAll(/[-_]/g, '').toLowerCase();
