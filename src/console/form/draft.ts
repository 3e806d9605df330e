/** What a person has entered so far, and the content that it makes. */

import { valueMistake } from '../../lib/form/check.ts';
import { readEntry } from '../../lib/form/entry.ts';
import type { Field } from '../../lib/form/fields.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';

/** A text; yes or no; the index of a choice; the indexes of several choices. */
export type Entered = string | boolean | number | readonly number[] | undefined;

export interface Draft {
  /** By the name of the field. */
  entered: ReadonlyMap<string, Entered>;
  /** The content as JSON, while the person edits it that way. */
  raw?: string;
}

export interface Reading {
  content: Record<string, unknown>;
  mistakes: Record<string, string>;
}

const REQUIRED = 'an answer is required';

export function emptyDraft(fields: readonly Field[]): Draft {
  return { entered: new Map(fields.map((field) => [field.name, initialOf(field)])) };
}

function initialOf(field: Field): Entered {
  switch (field.kind) {
    case 'text':
      return field.initial === '' ? '' : shownAs(field, field.schema['default']);
    case 'yes or no':
      return field.initial;
    case 'one of':
      return field.initial === undefined ? undefined : indexOf(field, field.initial);
    case 'several of':
      return field.initial.map((value) => indexOf(field, value)).filter((index) => index >= 0);
  }
}

const indexOf = (field: Extract<Field, { kind: 'one of' | 'several of' }>, value: unknown): number =>
  field.choices.findIndex((choice) => choice.value === value);

/** A value as the text in its input. */
function shownAs({ schema }: Field, value: unknown): string {
  if (typeof value !== 'string' || isJson(schema)) return stringifyExact(value, isJson(schema) ? 2 : undefined);
  return schema['format'] === 'date-time' ? localTime(value) : value;
}

/** Inputs for a moment take local time, without a zone. */
function localTime(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, at.getUTCSeconds() === 0 ? 16 : 19);
}

/** Structured values, and those of any type, are entered as JSON. */
export const isJson = (schema: Record<string, unknown>): boolean =>
  schema['type'] === 'object' || schema['type'] === 'array' || schema['type'] === undefined;

export function readDraft(fields: readonly Field[], { entered }: Draft): Reading {
  const content: Record<string, unknown> = {};
  const mistakes: Record<string, string> = {};
  for (const field of fields) {
    const read = readField(field, entered.get(field.name));
    if ('mistake' in read) define(mistakes, field.name, read.mistake);
    else if (read.value !== undefined) define(content, field.name, read.value);
  }
  return { content, mistakes };
}

/** Also for a field called `__proto__`. */
function define<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

type Read = { value: unknown } | { mistake: string };

function readField(field: Field, entered: Entered): Read {
  const value = field.kind === 'text' ? readText(field, entered) : { value: chosen(field, entered) };
  if ('mistake' in value) return value;
  if (value.value === undefined) return field.required ? { mistake: REQUIRED } : value;
  const mistake = valueMistake(field.schema, value.value) ?? shapeMistake(field.schema, value.value);
  return mistake === undefined ? value : { mistake };
}

function readText(field: Extract<Field, { kind: 'text' }>, entered: Entered): Read {
  const text = typeof entered === 'string' ? entered : '';
  if (isJson(field.schema) && text.trim() !== '' && field.schema['type'] !== undefined) {
    try {
      return { value: parseExact(text) };
    } catch (error) {
      return { mistake: `not valid JSON: ${(error as Error).message}` };
    }
  }
  const entry = readEntry(field, text);
  if (entry.kind === 'mistake') return { mistake: entry.mistake };
  return { value: entry.kind === 'value' ? entry.value : undefined };
}

function shapeMistake(schema: Record<string, unknown>, value: unknown): string | undefined {
  return schema['type'] === 'object' && !isObject(value) ? 'expected a JSON object' : undefined;
}

function chosen(field: Exclude<Field, { kind: 'text' }>, entered: Entered): unknown {
  if (field.kind === 'yes or no') return typeof entered === 'boolean' ? entered : undefined;
  if (field.kind === 'one of') return typeof entered === 'number' ? field.choices[entered]?.value : undefined;
  const indexes = Array.isArray(entered) ? (entered as number[]) : [];
  if (indexes.length === 0 && !field.required) return undefined;
  return indexes.toSorted((a, b) => a - b).map((index) => field.choices[index]?.value);
}

/** The fields filled with the values of an object, such as one that was edited as JSON. */
export function draftOf(fields: readonly Field[], content: Record<string, unknown>): Draft {
  const entered = fields.map((field): [string, Entered] => {
    const value = Object.hasOwn(content, field.name) ? content[field.name] : undefined;
    if (value === undefined) return [field.name, field.kind === 'text' ? '' : undefined];
    switch (field.kind) {
      case 'text':
        return [field.name, shownAs(field, value)];
      case 'yes or no':
        return [field.name, typeof value === 'boolean' ? value : undefined];
      case 'one of':
        return [field.name, indexOf(field, value)];
      case 'several of':
        return [
          field.name,
          (Array.isArray(value) ? value : []).map((each) => indexOf(field, each)).filter((index) => index >= 0),
        ];
    }
  });
  return { entered: new Map(entered) };
}

/** Reads content that was entered as JSON. */
export function readRaw(raw: string): { content: Record<string, unknown> } | { mistake: string } {
  try {
    const content = parseExact(raw.trim() === '' ? '{}' : raw);
    return isObject(content) ? { content } : { mistake: 'expected a JSON object, such as {"name": "value"}' };
  } catch (error) {
    return { mistake: `not valid JSON: ${(error as Error).message}` };
  }
}
