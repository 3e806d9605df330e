import { expect, test } from 'vitest';
import { fieldsOf } from '../../lib/form/fields.ts';
import { draftOf, emptyDraft, readDraft, readRaw } from './draft.ts';
import { simplify } from './simplify.ts';

const FIELDS = fieldsOf({
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    count: { type: 'integer', default: 2 },
    sure: { type: 'boolean' },
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'm', title: 'Medium' },
      ],
      default: 'm',
    },
    days: { type: 'array', items: { enum: ['mon', 'tue'] }, minItems: 1 },
    deep: { type: 'object' },
    __proto__: { type: 'string' },
  },
  required: ['name', 'days'],
});

test('W-2: a form starts with the defaults, and a missing required field is a mistake', () => {
  const { content, mistakes } = readDraft(FIELDS, emptyDraft(FIELDS));
  expect(content).toEqual({ count: 2, size: 'm' });
  expect(mistakes).toEqual({ name: 'an answer is required', days: 'expected at least 1' });
});

test('W-2: entered texts become typed values, in the order of the choices', () => {
  const entered = new Map(
    Object.entries({ name: 'Ada', count: '7', sure: false, size: 0, days: [1, 0], deep: '{"a": 1}' }),
  );
  expect(readDraft(FIELDS, { entered })).toEqual({
    content: { name: 'Ada', count: 7, sure: false, size: 's', days: ['mon', 'tue'], deep: { a: 1 } },
    mistakes: {},
  });
});

test('W-2: invalid JSON in a structured field is a mistake with a reason', () => {
  const { mistakes } = readDraft(FIELDS, { entered: new Map([['deep', '{"a"']]) });
  expect(mistakes['deep']).toMatch(/^not valid JSON/);
  expect(readDraft(FIELDS, { entered: new Map([['deep', '[]']]) }).mistakes['deep']).toBe('expected a JSON object');
});

test('W-2: content is the same after a conversion from the form to JSON and back', () => {
  const content = { name: 'Ada', count: 9, sure: true, size: 's', days: ['tue'], deep: { a: [1] } };
  expect(readDraft(FIELDS, draftOf(FIELDS, content))).toEqual({ content, mistakes: {} });
  expect(readRaw('{"a": 1}')).toEqual({ content: { a: 1 } });
  expect(readRaw('')).toEqual({ content: {} });
  expect(readRaw('[1]')).toMatchObject({ mistake: expect.stringContaining('JSON object') });
  expect(readRaw('{')).toMatchObject({ mistake: expect.stringContaining('not valid JSON') });
});

test('W-5: the input schema of a tool becomes a flat form', () => {
  const { form, limits } = simplify({
    type: 'object',
    properties: {
      maybe: { anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }], title: 'Maybe' },
      there: { $ref: '#/$defs/size' },
      mixed: { type: ['string', 'number'] },
      fixed: { const: 'x' },
      given: { type: 'number', default: 1 },
    },
    required: ['there', 'given'],
    $defs: { size: { enum: ['s', 'm'] } },
  });
  expect(limits).toBeUndefined();
  expect(form).toEqual({
    type: 'object',
    properties: {
      maybe: { type: 'string', minLength: 1, title: 'Maybe' },
      there: { enum: ['s', 'm'] },
      mixed: {},
      fixed: { const: 'x', enum: ['x'] },
      given: { type: 'number', default: 1 },
    },
    required: ['there'],
  });
});

test('W-5: rules of a schema that the form cannot show are reported as limits', () => {
  expect(simplify({ type: 'object', oneOf: [{}, {}] }).limits).toContain('oneOf');
  expect(simplify({ type: 'object', additionalProperties: true }).limits).toContain('arguments with any names');
  expect(simplify({ type: 'object' }).limits).toBeUndefined();
  expect(simplify(undefined)).toEqual({ form: { type: 'object', properties: {}, required: [] } });
});
