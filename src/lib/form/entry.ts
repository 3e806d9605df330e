/** What a person gave for a field. */

import { parseExact } from '../exact-json.ts';
import { valueMistake } from './check.ts';
import type { Field, TextField } from './fields.ts';
import type { JsonSchema } from './json-schema.ts';
import { NUMBER, WHOLE, wholeNumber } from './numbers.ts';

export type Entry = { kind: 'value'; value: unknown } | { kind: 'empty' } | { kind: 'mistake'; mistake: string };

/** Converts the text typed into a field to its value. */
export function readEntry(field: TextField, typedText: string): Entry {
  const text = typedText.trim();
  if (text === '') return field.required ? { kind: 'mistake', mistake: 'an answer is required' } : { kind: 'empty' };
  const value = valueOf(field.schema, text, typedText);
  const mistake = mistakeIn(field, value);
  return mistake === undefined ? { kind: 'value', value } : { kind: 'mistake', mistake };
}

/** Why a value does not fit, from the validator of all answers. */
export function mistakeIn({ schema }: Pick<Field, 'schema'>, value: unknown): string | undefined {
  return valueMistake(schema, value);
}

function valueOf(schema: JsonSchema, text: string, typedText: string): unknown {
  switch (schema['type']) {
    case 'number':
    case 'integer':
      // Anything else stays a string, which the validator refuses.
      if (WHOLE.test(text)) return wholeNumber(text);
      return NUMBER.test(text) ? Number(text) : text;
    case 'array':
    case 'object':
      return jsonOrText(text);
    default:
      return schema['format'] === 'date-time' ? withZone(text) : schema['format'] === undefined ? typedText : text;
  }
}

function jsonOrText(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/** People type `2026-01-02 15:30` in local time; the format needs a `T` and a time zone. */
function withZone(text: string): string {
  const [, day, time, seconds = ':00', zone] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*(Z|[+-]\d\d:\d\d)?$/i.exec(text) ?? [];
  if (day === undefined || time === undefined) return text;
  const moment = `${day}T${time}${seconds}`;
  return moment + (zone?.toUpperCase() ?? localZone(new Date(moment)));
}

function localZone(moment: Date): string {
  const minutes = -moment.getTimezoneOffset();
  if (Number.isNaN(minutes)) return '';
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}
