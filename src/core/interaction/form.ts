/**
 * Checks the content of an answer against the form a server asked for. Forms are flat objects of texts, numbers, yes/no
 * and choices; what goes beyond that is let through, because only the server can judge it. Patterns are left to the server
 * too: one of its regular expressions could stop the whole gateway.
 */

import { isBigNumber, nearestNumber } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';

type Schema = Record<string, unknown>;

/** How many choices an error names. */
const SHOWN_CHOICES = 20;

/** What is wrong with the content, or `undefined` if nothing is. */
export function formMistake(form: Schema, content: Schema): string | undefined {
  const fields = isObject(form['properties']) ? form['properties'] : {};
  const required = Array.isArray(form['required']) ? form['required'] : [];
  const missing = required.find((name) => typeof name === 'string' && !Object.hasOwn(content, name));
  if (missing !== undefined) return `'${String(missing)}' is missing`;
  for (const [name, value] of Object.entries(content)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined && form['additionalProperties'] === false) return `unknown field '${name}'`;
    const mistake = isObject(field) ? fieldMistake(field, value) : undefined;
    if (mistake !== undefined) return `'${name}': ${mistake}`;
  }
  return undefined;
}

function fieldMistake(field: Schema, value: unknown): string | undefined {
  const choices = choicesOf(field);
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

function textMistake(field: Schema, value: string): string | undefined {
  const { length } = Array.from(value);
  const [least, most] = [limit(field, 'minLength'), limit(field, 'maxLength')];
  if (least !== undefined && length < least) return `expected at least ${least} character${least === 1 ? '' : 's'}`;
  if (most !== undefined && length > most) return `expected at most ${most} characters`;
  const looksRight = typeof field['format'] === 'string' ? FORMATS.get(field['format']) : undefined;
  return looksRight === undefined || looksRight(value) ? undefined : `expected the format ${String(field['format'])}`;
}

function numberMistake(field: Schema, value: number | undefined): string | undefined {
  if (value === undefined || !Number.isFinite(value)) return 'expected a number';
  if (field['type'] === 'integer' && !Number.isInteger(value)) return 'expected a whole number';
  const [least, most] = [limit(field, 'minimum'), limit(field, 'maximum')];
  if (least !== undefined && value < least) return `expected at least ${least}`;
  if (most !== undefined && value > most) return `expected at most ${most}`;
  return undefined;
}

function selectionMistake(field: Schema, values: unknown[]): string | undefined {
  const [least, most] = [limit(field, 'minItems'), limit(field, 'maxItems')];
  if (least !== undefined && values.length < least) return `expected at least ${least}`;
  if (most !== undefined && values.length > most) return `expected at most ${most}`;
  const { items } = field;
  if (!isObject(items)) return undefined;
  const choices = choicesOf(items);
  // Looked up in a set, because there may be many values and many choices.
  if (choices !== undefined) {
    const known = new Set(choices);
    return values.every((value) => known.has(value)) ? undefined : notAChoice(choices);
  }
  for (const value of values) {
    const mistake = fieldMistake(items, value);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

/** The values of a choice, in either of the forms the protocol has for it. */
function choicesOf(field: Schema): unknown[] | undefined {
  if (Array.isArray(field['enum'])) return field['enum'];
  const titled = field['oneOf'] ?? field['anyOf'];
  if (!Array.isArray(titled) || !titled.every((each) => isObject(each) && 'const' in each)) return undefined;
  return titled.map((each: Schema) => each['const']);
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

function limit(field: Schema, name: string): number | undefined {
  const value = field[name];
  return typeof value === 'number' ? value : undefined;
}

function notAChoice(choices: unknown[]): string {
  const shown = choices.slice(0, SHOWN_CHOICES).map((choice) => JSON.stringify(choice));
  const more = choices.length - shown.length;
  return `expected one of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
