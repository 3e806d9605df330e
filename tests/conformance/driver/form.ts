import { isObject } from '../../../src/lib/values.ts';
import type { Json } from './way.ts';

/** A form as its user finds it, filled in with the defaults, and sends it off. */
export function untouchedForm(form: Json = {}): Json {
  const fields = isObject(form['properties']) ? Object.entries(form['properties']) : [];
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (isObject(field) && 'default' in field ? [[name, field['default']]] : [])),
  );
}

/** Something that fits each required field of a tool. */
export function plainArguments(schema: Json): Json {
  const fields = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  return Object.fromEntries(required.map((name) => [name, plainValue(fields[name])]));
}

const PLAIN: Record<string, unknown> = { string: 'x', number: 1, integer: 1, boolean: true, array: [], object: {} };

function plainValue(field: unknown): unknown {
  return isObject(field) ? (PLAIN[String(field['type'])] ?? null) : null;
}
