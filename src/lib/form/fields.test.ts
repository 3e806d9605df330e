import { expect, test } from 'vitest';
import { fieldsOf, type Field } from './fields.ts';

function field(schema: Record<string, unknown>, required = false): Field {
  const [only] = fieldsOf({ type: 'object', properties: { it: schema }, ...(required && { required: ['it'] }) });
  if (only === undefined) throw new Error('no field');
  return only;
}

test.each<[Record<string, unknown>, Partial<Field>]>([
  [{ type: 'string' }, { kind: 'text', title: 'it', initial: '', help: '(optional)' }],
  [
    { type: 'string', title: 'Name', description: 'Your\nname', minLength: 1, maxLength: 20, default: 'Ada' },
    { kind: 'text', title: 'Name', initial: 'Ada', help: 'Your name (1…20 characters, optional)' },
  ],
  [
    { type: 'integer', minimum: 0, maximum: 150, default: 42 },
    { kind: 'text', initial: '42', help: '(a whole number, 0…150, optional)' },
  ],
  [
    { type: 'number', minimum: 0.5 },
    { kind: 'text', help: '(a number, at least 0.5, optional)' },
  ],
  [
    { type: 'boolean', default: true },
    { kind: 'yes or no', initial: true },
  ],
  [
    { type: 'string', format: 'date' },
    { kind: 'text', placeholder: 'YYYY-MM-DD' },
  ],
  [
    { type: 'string', format: 'date-time' },
    { kind: 'text', placeholder: 'YYYY-MM-DD hh:mm' },
  ],
  [
    { type: 'string', format: 'email' },
    { kind: 'text', placeholder: 'name@example.com' },
  ],
  [
    { type: 'string', format: 'uri' },
    { kind: 'text', placeholder: 'https://…' },
  ],
  [
    { type: 'string', enum: ['a', 'b'], default: 'b' },
    {
      kind: 'one of',
      choices: [
        { value: 'a', label: 'a' },
        { value: 'b', label: 'b' },
      ],
      initial: 'b',
    },
  ],
  [
    { type: 'string', enum: ['a', 'b'], enumNames: ['First'], default: 'gone' },
    {
      kind: 'one of',
      choices: [
        { value: 'a', label: 'First' },
        { value: 'b', label: 'b' },
      ],
    },
  ],
  [
    { type: 'string', oneOf: [{ const: 'a', title: 'A\u001B[31m' }, { const: 'b' }] },
    {
      kind: 'one of',
      choices: [
        { value: 'a', label: 'A' },
        { value: 'b', label: 'b' },
      ],
    },
  ],
  [
    { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, default: ['b', 'gone'] },
    { kind: 'several of', initial: ['b'], help: '(at least 1 items, optional)' },
  ],
  [
    { type: 'array', items: { anyOf: [{ const: 1, title: 'One' }] } },
    { kind: 'several of', choices: [{ value: 1, label: 'One' }], initial: [] },
  ],
  [{ type: 'object' }, { kind: 'text', help: '(an object as JSON, optional)' }],
])('C-3: the field for the schema %j', (schema, expected) => {
  expect(field(schema)).toMatchObject(expected);
});

test('C-3: a form without fields has no fields, and malformed fields become text fields', () => {
  expect(fieldsOf({})).toEqual([]);
  expect(fieldsOf({ properties: [] })).toEqual([]);
  expect(fieldsOf({ properties: { x: 7, __proto: {} }, required: 'x' }).map(({ kind }) => kind)).toEqual([
    'text',
    'text',
  ]);
});
