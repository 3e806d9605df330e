import { cleanLine } from '../clean.ts';
import { isObject } from '../values.ts';
import type { JsonSchema } from './json-schema.ts';

export interface Choice {
  value: unknown;
  label: string;
}

/** The ways to write a choice: `enum`, with `enumNames`, and `oneOf` or `anyOf` of `const` and `title`. */
export function choicesOf(schema: JsonSchema): Choice[] | undefined {
  const { enum: values, enumNames: names } = schema;
  if (Array.isArray(values)) {
    const labels = Array.isArray(names) ? names : [];
    return values.map((value, index) => choice(value, labels[index]));
  }
  return titledIn(schema)?.map((each) => choice(each['const'], each['title']));
}

/** The values alone. */
export function choiceValues(schema: JsonSchema): unknown[] | undefined {
  return Array.isArray(schema['enum']) ? schema['enum'] : titledIn(schema)?.map((each) => each['const']);
}

function titledIn(schema: JsonSchema): JsonSchema[] | undefined {
  const titled = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(titled) || !titled.every((each) => isObject(each) && 'const' in each)) return undefined;
  return titled as JsonSchema[];
}

function choice(value: unknown, label: unknown): Choice {
  const text =
    typeof label === 'string' && label !== '' ? label : typeof value === 'string' ? value : JSON.stringify(value);
  return { value, label: cleanLine(text) };
}
