import { isObject } from '../../lib/values.ts';
import { isBigNumber } from '../../lib/exact-json.ts';
import { headerValue } from './modern-headers.ts';

/** An argument that is also sent as a header, so that intermediaries can route by it. */
export interface HeaderDeclaration {
  path: string[];
  name: string;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Keywords whose value is an object of schemas, and keywords whose value is not a schema. */
const NAMING = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']);
const DATA = new Set(['const', 'default', 'enum', 'examples']);
const SIMPLE = new Set<unknown>(['string', 'integer', 'boolean']);

/** An `x-mcp-header` in a schema, and where it is. */
interface HeaderAnnotation {
  path: string[];
  /** The path consists only of properties: otherwise it is not certain which value is meant. */
  reachable: boolean;
  name: unknown;
  type: unknown;
}

function annotations(schema: unknown, path: string[] = [], reachable = true): HeaderAnnotation[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => annotations(each, path, false));
  if (!isObject(schema)) return [];
  const { 'x-mcp-header': name, type } = schema;
  const own = name === undefined ? [] : [{ path, reachable: reachable && path.length > 0, name, type }];
  const below = Object.entries(schema).flatMap(([keyword, value]) => {
    if (DATA.has(keyword)) return [];
    if (!NAMING.has(keyword) || !isObject(value)) return annotations(value, path, false);
    const stays = reachable && keyword === 'properties';
    return Object.entries(value).flatMap(([key, child]) => annotations(child, [...path, key], stays));
  });
  return [...own, ...below];
}

/** Why a tool must not be offered: its headers cannot be sent. */
export function headerMistake(schema: unknown): string | undefined {
  const seen = new Set<string>();
  for (const { path, reachable, name, type } of annotations(schema)) {
    const at = `x-mcp-header at '${path.join('.')}'`;
    if (!reachable) return `${at}: only properties of the arguments can be headers`;
    if (typeof name !== 'string' || !TOKEN.test(name)) return `${at}: ${JSON.stringify(name)} cannot name a header`;
    if (!SIMPLE.has(type)) return `${at}: only a string, an integer or a boolean can be a header`;
    if (seen.has(name.toLowerCase())) return `${at}: another argument already uses the header '${name}'`;
    seen.add(name.toLowerCase());
  }
  return undefined;
}

/** The arguments that a tool expects as headers; none if they are invalid. */
export function headerDeclarations(schema: unknown): HeaderDeclaration[] {
  if (headerMistake(schema) !== undefined) return [];
  return annotations(schema).map(({ path, name }) => ({ path, name: String(name) }));
}

/** The headers of one call. Absent and non-primitive arguments have none. */
export function paramHeaders(declarations: HeaderDeclaration[], args: Record<string, unknown>): Record<string, string> {
  const headers = declarations.flatMap(({ path, name }) => {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
    const text = simple(value);
    return text === undefined ? [] : [[`mcp-param-${name.toLowerCase()}`, headerValue(text)]];
  });
  return Object.fromEntries(headers) as Record<string, string>;
}

function simple(value: unknown): string | undefined {
  if (isBigNumber(value)) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
