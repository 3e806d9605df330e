/** The form of a question on a page without scripts. */

import { mistakeIn, readEntry } from '../../lib/form/entry.ts';
import { fieldsOf, type Field } from '../../lib/form/fields.ts';
import { isObject } from '../../lib/values.ts';
import type { EnteredValues } from './html.ts';

/** Forms with more fields are left to the console. */
const MOST_FIELDS = 20;
const MOST_CHOICES = 100;

/** The fields of a question that a simple page can show; `undefined` if it needs the console. */
export function simpleFields(params: Record<string, unknown>): Field[] | undefined {
  const { requestedSchema } = params;
  const fields = fieldsOf(isObject(requestedSchema) ? requestedSchema : {});
  return fields.length <= MOST_FIELDS && fields.every(isSimple) ? fields : undefined;
}

function isSimple(field: Field): boolean {
  switch (field.kind) {
    case 'text':
      return ['string', 'number', 'integer'].includes(String(field.schema['type']));
    case 'yes or no':
      return true;
    case 'one of':
    case 'several of':
      return field.choices.length <= MOST_CHOICES;
  }
}

/** The default values of the form. */
export function initialEntries(fields: readonly Field[]): EnteredValues {
  return fields.map((field) => {
    switch (field.kind) {
      case 'text':
        return [field.initial];
      case 'yes or no':
        return field.initial === undefined ? [] : [String(field.initial)];
      case 'one of':
        return field.choices.flatMap(({ value }, place) => (value === field.initial ? [String(place)] : []));
      case 'several of':
        return field.choices.flatMap(({ value }, place) => (field.initial.includes(value) ? [String(place)] : []));
    }
  });
}

export function enteredIn(body: URLSearchParams, fields: readonly Field[]): EnteredValues {
  return fields.map((_field, index) => body.getAll(`field-${index}`));
}

/** The content of the answer, and what is wrong with it. */
export function contentFrom(
  fields: readonly Field[],
  entered: EnteredValues,
): { content: Record<string, unknown>; mistakes: Map<number, string> } {
  const content: [string, unknown][] = [];
  const mistakes = new Map<number, string>();
  for (const [index, field] of fields.entries()) {
    const entry = entryOf(field, entered[index] ?? []);
    if (entry.kind === 'value') content.push([field.name, entry.value]);
    else if (entry.kind === 'mistake') mistakes.set(index, entry.mistake);
  }
  return { content: Object.fromEntries(content), mistakes };
}

function entryOf(field: Field, entered: readonly string[]): ReturnType<typeof readEntry> {
  const [first] = entered;
  if (field.kind === 'text') return readEntry(field, first ?? '');
  if (field.kind === 'several of') {
    const value = entered.flatMap((place) => field.choices[Number(place)]?.value ?? []);
    if (value.length === 0 && !field.required) return { kind: 'empty' };
    const mistake = mistakeIn(field, value);
    return mistake === undefined ? { kind: 'value', value } : { kind: 'mistake', mistake };
  }
  if (first === undefined)
    return field.required ? { kind: 'mistake', mistake: 'an answer is required' } : { kind: 'empty' };
  if (field.kind === 'yes or no') return { kind: 'value', value: first === 'true' };
  const chosen = field.choices[Number(first)];
  return chosen === undefined
    ? { kind: 'mistake', mistake: 'choose one of them' }
    : { kind: 'value', value: chosen.value };
}
