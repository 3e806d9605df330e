/** Reads the JSON Schemas of tools, which servers write in many ways. */

import { isObject } from '../values.ts';

export type JsonSchema = Record<string, unknown>;

/** Deep enough for real schemas; stops at one that refers to itself. */
const MAX_STEPS = 16;

/** Follows a reference into `root`. */
export function resolve(schema: unknown, root: JsonSchema): JsonSchema {
  let resolved = isObject(schema) ? schema : {};
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { $ref: reference, allOf, ...rest } = resolved;
    if (typeof reference === 'string') resolved = { ...pointedAt(reference, root), ...rest };
    else if (Array.isArray(allOf) && allOf.length === 1 && isObject(allOf[0])) resolved = { ...allOf[0], ...rest };
    else return resolved;
  }
  return {};
}

function pointedAt(reference: string, root: JsonSchema): JsonSchema {
  if (!reference.startsWith('#')) return {};
  let found: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return isObject(found) ? found : {};
}

/** Limit for nested choices and lists. */
const MAX_DEPTH = 4;

/** The schemas of which a value must match one. */
export function alternatives(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema[] {
  const { anyOf, oneOf, type, ...rest } = schema;
  const choice = anyOf ?? oneOf;
  if (Array.isArray(choice) && depth < MAX_DEPTH) {
    return choice.flatMap((each) => alternatives(resolve(each, root), root, depth + 1));
  }
  if (Array.isArray(type)) return type.map((each) => ({ ...rest, type: each as unknown }));
  return [schema];
}

/** The schema of the items of a list. */
export function itemsOf(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  return depth < MAX_DEPTH ? resolve(schema['items'], root) : {};
}

export function propertiesOf(root: JsonSchema): Map<string, JsonSchema> {
  const properties = isObject(root['properties']) ? root['properties'] : {};
  return new Map(Object.entries(properties).map(([name, schema]) => [name, resolve(schema, root)]));
}

export function requiredOf(root: JsonSchema): string[] {
  const { required } = root;
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** The default of an argument; `undefined` if it has none. `null` is a value like any other. */
export function defaultOf(property: JsonSchema | undefined): unknown {
  return property?.['default'];
}

/** Required arguments without a default: schema generators also list those with a default as required. */
export function mandatoryOf(root: JsonSchema): string[] {
  const properties = propertiesOf(root);
  return requiredOf(root).filter((name) => defaultOf(properties.get(name)) === undefined);
}

/** Whether the schema allows other properties. */
export function isOpen(root: JsonSchema): boolean {
  const { additionalProperties, patternProperties } = root;
  if (isObject(patternProperties) || isObject(additionalProperties) || additionalProperties === true) return true;
  return !isObject(root['properties']) && additionalProperties !== false;
}

/** Describes the type in a few words: `integer, 1…100`, `"a" | "b"`, `array of string`. */
export function describeType(schema: JsonSchema, root: JsonSchema, depth = 0): string {
  const options = alternatives(schema, root);
  return [...new Set(options.map((option) => describeOne(option, root, depth)))].join(' | ');
}

function describeOne(schema: JsonSchema, root: JsonSchema, depth: number): string {
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (Array.isArray(schema['enum'])) return schema['enum'].map((each) => JSON.stringify(each)).join(' | ');
  const { type, format } = schema;
  if (type === 'array') {
    const items = describeType(itemsOf(schema, root, depth), root, depth + 1);
    return items === 'any' ? 'array' : `array of ${items}`;
  }
  const name = typeof type === 'string' ? type : 'any';
  return [typeof format === 'string' ? `${name} (${format})` : name, limitsOf(schema)].filter(Boolean).join(', ');
}

export function limitsOf(schema: JsonSchema): string {
  const number = (name: string): number | undefined => {
    const value = schema[name];
    return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
  };
  return [
    range(number('minimum'), number('maximum'), ''),
    range(number('minLength'), number('maxLength'), ' characters'),
    range(number('minItems'), number('maxItems'), ' items'),
  ]
    .filter(Boolean)
    .join(', ');
}

function range(least: number | undefined, most: number | undefined, what: string): string {
  if (least === undefined && most === undefined) return '';
  if (least === undefined) return `at most ${most}${what}`;
  if (most === undefined) return `at least ${least}${what}`;
  return `${least}…${most}${what}`;
}
