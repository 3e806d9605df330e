/** Turns the form of a server into fields that a person fills in: on a terminal, or on a page. */

import { cleanLine } from '../clean.ts';
import { isObject } from '../values.ts';
import { choicesOf, type Choice } from './choices.ts';
import { limitsOf, requiredOf, type JsonSchema } from './json-schema.ts';

interface FieldBase {
  name: string;
  title: string;
  /** Description, limits, and whether it is optional. */
  help: string;
  required: boolean;
  schema: JsonSchema;
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

export function fieldsOf(form: JsonSchema): Field[] {
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

function fieldOf(name: string, schema: JsonSchema, required: boolean): Field {
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

function helpOf(schema: JsonSchema, required: boolean): string {
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

const isChoice = (value: unknown, choices: readonly Choice[]): boolean => choices.some((each) => each.value === value);
