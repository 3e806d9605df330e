/**
 * Checks the content of an answer against the form a server asked for. Forms are flat objects of texts, numbers, yes/no
 * and choices; what goes beyond that is let through, because only the server can judge it. Patterns are left to the server
 * too: one of its regular expressions could stop the whole gateway.
 */

import { isBigNumber, nearestNumber } from '../exact-json.ts';
import { isObject } from '../values.ts';
import { choiceValues } from './choices.ts';
import { requiredOf, type JsonSchema } from './json-schema.ts';

/** How many choices an error names. */
const SHOWN_CHOICES = 20;

/** What is wrong with one field. */
export interface FieldMistake {
  field: string;
  kind: 'missing' | 'unknown' | 'value';
  /** For a person who sees the field. */
  mistake: string;
}

/** What is wrong with the content, or `undefined` if nothing is. */
export function formMistake(form: JsonSchema, content: Record<string, unknown>): string | undefined {
  for (const mistake of eachMistake(form, content)) return inWords(mistake);
  return undefined;
}

/** Everything that is wrong with the content, with one message for each field. */
export function formMistakes(form: JsonSchema, content: Record<string, unknown>): FieldMistake[] {
  return [...eachMistake(form, content)];
}

function inWords({ field, kind, mistake }: FieldMistake): string {
  switch (kind) {
    case 'missing':
      return `'${field}' is missing`;
    case 'unknown':
      return `unknown field '${field}'`;
    case 'value':
      return `'${field}': ${mistake}`;
  }
}

function* eachMistake(form: JsonSchema, content: Record<string, unknown>): Generator<FieldMistake> {
  const fields = isObject(form['properties']) ? form['properties'] : {};
  for (const field of new Set(requiredOf(form))) {
    if (!Object.hasOwn(content, field)) yield { field, kind: 'missing', mistake: 'an answer is required' };
  }
  for (const [field, value] of Object.entries(content)) {
    const schema = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (schema === undefined && form['additionalProperties'] === false) {
      yield { field, kind: 'unknown', mistake: 'the form has no such field' };
    }
    const mistake = isObject(schema) ? valueMistake(schema, value) : undefined;
    if (mistake !== undefined) yield { field, kind: 'value', mistake };
  }
}

/** Why a value does not fit the schema of its field, or `undefined` if it does. */
export function valueMistake(field: JsonSchema, value: unknown): string | undefined {
  const choices = choiceValues(field);
  if (choices !== undefined) return choices.includes(value) ? undefined : notAChoice(choices);
  switch (field['type']) {
    case 'string':
      return typeof value === 'string' && !isBigNumber(value) ? textMistake(field, value) : 'expected a string';
    case 'number':
    case 'integer':
      return numberMistake(field, nearestNumber(value));
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'expected true or false';
    case 'array':
      return Array.isArray(value) ? selectionMistake(field, value) : 'expected a list';
    default:
      return undefined;
  }
}

function textMistake(field: JsonSchema, value: string): string | undefined {
  const { length } = Array.from(value);
  const [least, most] = [limit(field, 'minLength'), limit(field, 'maxLength')];
  if (least !== undefined && length < least) return `expected at least ${least} character${least === 1 ? '' : 's'}`;
  if (most !== undefined && length > most) return `expected at most ${most} characters`;
  const looksRight = typeof field['format'] === 'string' ? FORMATS.get(field['format']) : undefined;
  return looksRight === undefined || looksRight(value) ? undefined : `expected the format ${String(field['format'])}`;
}

function numberMistake(field: JsonSchema, value: number | undefined): string | undefined {
  if (value === undefined || !Number.isFinite(value)) return 'expected a number';
  if (field['type'] === 'integer' && !Number.isInteger(value)) return 'expected a whole number';
  const [least, most] = [limit(field, 'minimum'), limit(field, 'maximum')];
  if (least !== undefined && value < least) return `expected at least ${least}`;
  if (most !== undefined && value > most) return `expected at most ${most}`;
  return undefined;
}

function selectionMistake(field: JsonSchema, values: unknown[]): string | undefined {
  const [least, most] = [limit(field, 'minItems'), limit(field, 'maxItems')];
  if (least !== undefined && values.length < least) return `expected at least ${least}`;
  if (most !== undefined && values.length > most) return `expected at most ${most}`;
  const { items } = field;
  if (!isObject(items)) return undefined;
  const choices = choiceValues(items);
  // Looked up in a set, because there may be many values and many choices.
  if (choices !== undefined) {
    const known = new Set(choices);
    return values.every((value) => known.has(value)) ? undefined : notAChoice(choices);
  }
  for (const value of values) {
    const mistake = valueMistake(items, value);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

const FORMATS = new Map<string, (text: string) => boolean>([
  ['email', (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  ['uri', (text) => URL.canParse(text)],
  ['date', isDate],
  ['date-time', (text) => isDate(text.slice(0, 10)) && text[10] === 'T' && !Number.isNaN(Date.parse(text))],
]);

/** A day that the calendar has. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function limit(field: JsonSchema, name: string): number | undefined {
  const value = field[name];
  return typeof value === 'number' ? value : undefined;
}

function notAChoice(choices: unknown[]): string {
  const shown = choices.slice(0, SHOWN_CHOICES).map((choice) => JSON.stringify(choice));
  const more = choices.length - shown.length;
  return `expected one of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
