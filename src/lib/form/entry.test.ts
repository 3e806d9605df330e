import { expect, test } from 'vitest';
import { mistakeIn, readEntry } from './entry.ts';
import { fieldsOf, type Field, type TextField } from './fields.ts';

function field(schema: Record<string, unknown>, required = false): Field {
  const [only] = fieldsOf({ type: 'object', properties: { it: schema }, ...(required && { required: ['it'] }) });
  if (only === undefined) throw new Error('no field');
  return only;
}

const textField = (schema: Record<string, unknown>, required = false): TextField => {
  const only = field(schema, required);
  if (only.kind !== 'text') throw new Error(`a field of the kind ${only.kind}`);
  return only;
};

test.each<[Record<string, unknown>, string, unknown]>([
  [{ type: 'string' }, ' as typed ', ' as typed '],
  [{ type: 'integer' }, ' 7 ', 7],
  [{ type: 'number' }, '-0.5', -0.5],
  [{ type: 'string', format: 'email' }, ' a@b.example ', 'a@b.example'],
  [{ type: 'string', format: 'date' }, '2026-02-28', '2026-02-28'],
  [{ type: 'string', format: 'date-time' }, '2026-02-28T10:00:05Z', '2026-02-28T10:00:05Z'],
  [{ type: 'string', format: 'date-time' }, '2026-02-28 10:00 +02:00', '2026-02-28T10:00:00+02:00'],
  [{ type: 'string', format: 'uri' }, 'https://x.example', 'https://x.example'],
  [{ type: 'object' }, '{"a":1}', { a: 1 }],
])('C-3: for the field %j, the text %j becomes %j', (schema, typed, value) => {
  expect(readEntry(textField(schema), typed)).toEqual({ kind: 'value', value });
});

test('C-3: a date-time without a zone is in the local time zone', () => {
  const entry = readEntry(textField({ type: 'string', format: 'date-time' }), '2026-02-28 10:00');
  if (entry.kind !== 'value') throw new Error(entry.kind);
  expect(entry.value).toMatch(/^2026-02-28T10:00:00[+-]\d\d:\d\d$/);
  expect(new Date(String(entry.value))).toEqual(new Date(2026, 1, 28, 10));
});

test.each<[Record<string, unknown>, string, string]>([
  [{ type: 'integer' }, '1.5', 'expected a whole number'],
  [{ type: 'integer', minimum: 1 }, '0', 'expected at least 1'],
  [{ type: 'number' }, 'many', 'expected a number'],
  [{ type: 'number' }, '0x10', 'expected a number'],
  [{ type: 'string', maxLength: 2 }, 'abc', 'expected at most 2 characters'],
  [{ type: 'string', format: 'email' }, 'nobody', 'expected the format email'],
  [{ type: 'string', format: 'date' }, '2026-02-31x', 'expected the format date'],
  [{ type: 'string', format: 'date-time' }, 'tomorrow', 'expected the format date-time'],
  [{ type: 'string', format: 'uri' }, 'not a uri', 'expected the format uri'],
])('C-3: for the field %j, the text %j is a mistake: %s', (schema, typed, mistake) => {
  expect(readEntry(textField(schema), typed)).toEqual({ kind: 'mistake', mistake });
});

test('C-3: an optional field may be empty, and a required field may not', () => {
  expect(readEntry(textField({ type: 'integer' }), ' ')).toEqual({ kind: 'empty' });
  expect(readEntry(textField({ type: 'integer' }, true), '')).toEqual({
    kind: 'mistake',
    mistake: 'an answer is required',
  });
});

test('C-3: the number of chosen items is checked', () => {
  const several = field({ type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 });
  expect(mistakeIn(several, [])).toBe('expected at least 1');
  expect(mistakeIn(several, ['a', 'b', 'c'])).toBe('expected at most 2');
  expect(mistakeIn(several, ['a'])).toBeUndefined();
});
