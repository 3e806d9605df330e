import { parseExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';
import { alternatives, describeType, itemsOf, type JsonSchema } from '../../lib/form/json-schema.ts';
import { NUMBER, WHOLE, wholeNumber } from '../../lib/form/numbers.ts';

export type Typed = { value: unknown } | { mistake: string };

/** `changed` says why the value cannot be sent exactly. */
type Found = { value: unknown } | { changed?: string };

/** Converts typed text to the type that the schema wants. */
export function typed(text: string, schema: JsonSchema, root: JsonSchema): Typed {
  const found = find(text, schema, root, 0);
  if ('value' in found) return found;
  return { mistake: found.changed ?? `expected ${describeType(schema, root)}, got '${text}'` };
}

function find(text: string, schema: JsonSchema, root: JsonSchema, depth: number): Found {
  // Any text is a valid string, so other types are tried first.
  const options = alternatives(schema, root).toSorted((a, b) => Number(takesAnyText(a)) - Number(takesAnyText(b)));
  let other: Found = NOT_IT;
  for (const option of options) {
    const found = findAs(text, option, root, depth);
    if ('value' in found) return found;
    if (found.changed !== undefined) other = found;
  }
  return other;
}

const TYPES = new Set<unknown>(['number', 'integer', 'boolean', 'null', 'array', 'object']);

const takesAnyText = (schema: JsonSchema): boolean =>
  !TYPES.has(schema['type']) && !('const' in schema) && !Array.isArray(schema['enum']);

const NOT_IT: Found = {};

function findAs(text: string, schema: JsonSchema, root: JsonSchema, depth: number): Found {
  const { type } = schema;
  const choices = 'const' in schema ? [schema['const']] : schema['enum'];
  if (Array.isArray(choices)) {
    const chosen = choices.find((choice) => choice === text) ?? choices.find((choice) => String(choice) === text);
    return chosen === undefined ? NOT_IT : { value: chosen as unknown };
  }
  switch (type) {
    case 'number':
      return NUMBER.test(text) ? exactly(text, WHOLE.test(text)) : NOT_IT;
    case 'integer':
      return NUMBER.test(text) && !hasFraction(Number(text)) ? exactly(text, true) : NOT_IT;
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : NOT_IT;
    case 'null':
      return text === 'null' ? { value: null } : NOT_IT;
    case 'array':
      return list(text, schema, root, depth);
    case 'object':
      return json(text, isObject);
    default:
      return { value: text };
  }
}

const hasFraction = (value: number): boolean => Number.isFinite(value) && !Number.isInteger(value);

/** The number, unless it cannot be sent exactly. */
function exactly(text: string, whole: boolean): Found {
  if (WHOLE.test(text)) return { value: wholeNumber(text) };
  const value = Number(text);
  if (whole ? Number.isSafeInteger(value) : Number.isFinite(value)) return { value };
  const limit = whole
    ? `whole numbers are exact up to ${Number.MAX_SAFE_INTEGER}, or with all their digits`
    : 'it exceeds the largest number';
  return {
    changed: `${text} would arrive as another value: ${limit}; send it as a text, in quotes: key:='"${text}"', or in --args`,
  };
}

/** A JSON array, or a single item. */
function list(text: string, schema: JsonSchema, root: JsonSchema, depth: number): Found {
  if (text.trimStart().startsWith('[')) return json(text, Array.isArray);
  const item = find(text, itemsOf(schema, root, depth), root, depth + 1);
  return 'value' in item ? { value: [item.value] } : item;
}

function json(text: string, fits: (value: unknown) => boolean): Found {
  try {
    const value = parseExact(text);
    return fits(value) ? { value } : NOT_IT;
  } catch {
    return NOT_IT;
  }
}
