import { isObject } from '../../lib/values.ts';
import { headerValue } from './modern-headers.ts';

/** An argument that travels as a header, too, so that what lies between client and server can route by it. */
export interface HeaderDeclaration {
  path: string[];
  name: string;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Which arguments a tool wants as headers: those whose schema says `x-mcp-header`, at any depth of `properties`. */
export function headerDeclarations(schema: unknown, path: string[] = []): HeaderDeclaration[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([key, child]) => {
    const name = isObject(child) ? child['x-mcp-header'] : undefined;
    const here = [...path, key];
    const own = typeof name === 'string' && TOKEN.test(name) ? [{ path: here, name }] : [];
    return [...own, ...headerDeclarations(child, here)];
  });
}

/** The headers of one call. What is absent, or no simple value, has none. */
export function paramHeaders(declarations: HeaderDeclaration[], args: Record<string, unknown>): Record<string, string> {
  const headers = declarations.flatMap(({ path, name }) => {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
    const text = simple(value);
    return text === undefined ? [] : [[`mcp-param-${name.toLowerCase()}`, headerValue(text)]];
  });
  return Object.fromEntries(headers) as Record<string, string>;
}

function simple(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
