/** Turns the form of a server into fields that a person fills in one after the other. */

import { formMistake } from '../../core/interaction/form.ts';
import { NUMBER, WHOLE, wholeNumber } from '../arguments/typed.ts';
import { cleanLine } from '../terminal/clean.ts';
import { limitsOf, requiredOf, type Schema } from '../json-schema.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';

export interface Choice {
  value: unknown;
  label: string;
}

interface FieldBase {
  name: string;
  title: string;
  /** Description, limits, and whether it is optional. */
  help: string;
  required: boolean;
  schema: Schema;
}

export interface TextField extends FieldBase {
  kind: 'text';
  placeholder?: string;
  initial: string;
}

export interface YesNoField extends FieldBase {
  kind: 'yes or no';
  initial?: boolean;
}

export interface OneOfField extends FieldBase {
  kind: 'one of';
  choices: Choice[];
  initial?: unknown;
}

export interface SeveralOfField extends FieldBase {
  kind: 'several of';
  choices: Choice[];
  initial: unknown[];
}

export type Field = TextField | YesNoField | OneOfField | SeveralOfField;

export function fieldsOf(form: Schema): Field[] {
  const properties = isObject(form['properties']) ? form['properties'] : {};
  const required = new Set(requiredOf(form));
  return Object.entries(properties).map(([name, schema]) =>
    fieldOf(name, isObject(schema) ? schema : {}, required.has(name)),
  );
}

/** Title and help on one line. */
export function captionOf({ title, help }: Field): string {
  if (help === '') return title;
  return help.startsWith('(') ? `${title} ${help}` : `${title}: ${help}`;
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const { title, default: initial, items } = schema;
  const base: FieldBase = {
    name,
    title: cleanLine(typeof title === 'string' && title !== '' ? title : name),
    help: helpOf(schema, required),
    required,
    schema,
  };
  const choices = choicesOf(schema);
  if (choices !== undefined)
    return { ...base, kind: 'one of', choices, ...(isChoice(initial, choices) && { initial }) };
  const several = schema['type'] === 'array' && isObject(items) ? choicesOf(items) : undefined;
  if (several !== undefined) {
    const chosen = Array.isArray(initial) ? initial.filter((value) => isChoice(value, several)) : [];
    return { ...base, kind: 'several of', choices: several, initial: chosen };
  }
  if (schema['type'] === 'boolean') {
    return { ...base, kind: 'yes or no', ...(typeof initial === 'boolean' && { initial }) };
  }
  const placeholder = PLACEHOLDERS.get(String(schema['format']));
  const text = typeof initial === 'string' ? cleanLine(initial) : initial === undefined ? '' : JSON.stringify(initial);
  return { ...base, kind: 'text', initial: text, ...(placeholder !== undefined && { placeholder }) };
}

const PLACEHOLDERS = new Map([
  ['date', 'YYYY-MM-DD'],
  ['date-time', 'YYYY-MM-DD hh:mm'],
  ['email', 'name@example.com'],
  ['uri', 'https://…'],
]);

const TYPE_NAMES = new Map([
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['array', 'a list as JSON'],
  ['object', 'an object as JSON'],
]);

function helpOf(schema: Schema, required: boolean): string {
  const { description, type, items } = schema;
  const chosen = isObject(items) && choicesOf(items) !== undefined;
  const rules = [
    chosen ? '' : (TYPE_NAMES.get(String(type)) ?? ''),
    limitsOf(schema),
    required ? '' : 'optional',
  ].filter(Boolean);
  return [
    typeof description === 'string' ? cleanLine(description) : '',
    rules.length === 0 ? '' : `(${rules.join(', ')})`,
  ]
    .filter(Boolean)
    .join(' ');
}

/** The ways to write a choice: `enum`, with `enumNames`, and `oneOf` or `anyOf` of `const` and `title`. */
function choicesOf(schema: Schema): Choice[] | undefined {
  const { enum: values, enumNames: names } = schema;
  if (Array.isArray(values)) {
    const labels = Array.isArray(names) ? names : [];
    return values.map((value, index) => choice(value, labels[index]));
  }
  const titled = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(titled) || !titled.every((each) => isObject(each) && 'const' in each)) return undefined;
  return titled.map((each: Schema) => choice(each['const'], each['title']));
}

function choice(value: unknown, label: unknown): Choice {
  const text =
    typeof label === 'string' && label !== '' ? label : typeof value === 'string' ? value : JSON.stringify(value);
  return { value, label: cleanLine(text) };
}

const isChoice = (value: unknown, choices: readonly Choice[]): boolean => choices.some((each) => each.value === value);

// --- What the person gave ----------------------------------------------------------------------------------------

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
export function mistakeIn({ name, schema }: Field, value: unknown): string | undefined {
  const properties = Object.fromEntries([[name, schema]]);
  const mistake = formMistake({ type: 'object', properties }, Object.fromEntries([[name, value]]));
  return mistake?.replace(`'${name}': `, '');
}

function valueOf(schema: Schema, text: string, typedText: string): unknown {
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
