import { alternatives, describeType, itemsOf, type Schema } from '../json-schema.ts';

export type Typed = { value: unknown } | { mistake: string };

/** What somebody typed, as the type that the schema wants. */
export function typed(text: string, schema: Schema, root: Schema, depth = 0): Typed {
  // Everything is a text, so the other types come first.
  const options = alternatives(schema, root).toSorted((a, b) => Number(takesAnyText(a)) - Number(takesAnyText(b)));
  for (const option of options) {
    const found = typedAs(text, option, root, depth);
    if ('value' in found) return found;
  }
  return { mistake: `expected ${describeType(schema, root)}, got '${text}'` };
}

const TYPES = new Set<unknown>(['number', 'integer', 'boolean', 'null', 'array', 'object']);

const takesAnyText = (schema: Schema): boolean =>
  !TYPES.has(schema['type']) && !('const' in schema) && !Array.isArray(schema['enum']);

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const NOT_IT: Typed = { mistake: '' };

function typedAs(text: string, schema: Schema, root: Schema, depth: number): Typed {
  const { type } = schema;
  const choices = 'const' in schema ? [schema['const']] : schema['enum'];
  if (Array.isArray(choices)) {
    const chosen = choices.find((choice) => choice === text) ?? choices.find((choice) => String(choice) === text);
    return chosen === undefined ? NOT_IT : { value: chosen as unknown };
  }
  switch (type) {
    case 'number':
      return NUMBER.test(text) ? { value: Number(text) } : NOT_IT;
    case 'integer':
      return NUMBER.test(text) && Number.isInteger(Number(text)) ? { value: Number(text) } : NOT_IT;
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : NOT_IT;
    case 'null':
      return text === 'null' ? { value: null } : NOT_IT;
    case 'array':
      return list(text, schema, root, depth);
    case 'object':
      return json(text, (value) => typeof value === 'object' && value !== null && !Array.isArray(value));
    default:
      return { value: text };
  }
}

/** JSON, or a single item as it is. */
function list(text: string, schema: Schema, root: Schema, depth: number): Typed {
  if (text.trimStart().startsWith('[')) return json(text, Array.isArray);
  const item = typed(text, itemsOf(schema, root, depth), root, depth + 1);
  return 'value' in item ? { value: [item.value] } : item;
}

function json(text: string, fits: (value: unknown) => boolean): Typed {
  try {
    const value: unknown = JSON.parse(text);
    return fits(value) ? { value } : NOT_IT;
  } catch {
    return NOT_IT;
  }
}
