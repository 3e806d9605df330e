import { expect, test } from 'vitest';
import { formMistake, formMistakes } from './check.ts';

const form = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    weight: { type: 'number' },
    ok: { type: 'boolean' },
    mail: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    moment: { type: 'string', format: 'date-time' },
    color: { type: 'string', enum: ['red', 'green'] },
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    tags: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['a', 'b', 'c'] } },
    named: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
    evil: { type: 'string', pattern: '^(a+)+$' },
    nested: { type: 'object', properties: { deep: { type: 'string' } } },
  },
  required: ['name'],
};

test.each([
  [{ name: 'Ada' }],
  [{ name: '👩‍💻'.slice(0, 2), age: 36, weight: 1.5, ok: false }],
  [{ name: 'A', mail: 'a@b', link: 'https://x.y', day: '1999-12-31', moment: '1999-12-31T10:00:00Z' }],
  [{ name: 'A', color: 'red', size: 'l', tags: ['a', 'c'], named: ['x'] }],
  [{ name: 'A', evil: `${'a'.repeat(50)}!`, nested: { deep: 1 }, unknown: true }],
])('H-9: %j matches the form', (content) => {
  expect(formMistake(form, content)).toBeUndefined();
});

test.each([
  [{}, "'name' is missing"],
  [{ name: '' }, 'at least 1 character'],
  [{ name: 'abcdef' }, 'at most 5'],
  [{ name: 5 }, 'expected a string'],
  [{ name: 'A', age: 1.5 }, 'whole number'],
  [{ name: 'A', age: -1 }, 'at least 0'],
  [{ name: 'A', age: 151 }, 'at most 150'],
  [{ name: 'A', weight: '5' }, 'expected a number'],
  [{ name: 'A', ok: 'yes' }, 'true or false'],
  [{ name: 'A', mail: 'nobody' }, 'email'],
  [{ name: 'A', link: 'not a link' }, 'uri'],
  [{ name: 'A', day: '1999-13-45' }, 'date'],
  [{ name: 'A', moment: 'now' }, 'date-time'],
  [{ name: 'A', color: 'blue' }, '"red", "green"'],
  [{ name: 'A', size: 'Large' }, '"s", "l"'],
  [{ name: 'A', tags: [] }, 'at least 1'],
  [{ name: 'A', tags: ['a', 'b', 'c'] }, 'at most 2'],
  [{ name: 'A', tags: ['z'] }, '"a", "b", "c"'],
  [{ name: 'A', tags: 'a' }, 'expected a list'],
  [{ name: 'A', named: ['y'] }, '"x"'],
])('H-9: %j does not match the form: %s', (content, mistake) => {
  expect(formMistake(form, content)).toContain(mistake);
});

test('H-9: a field that the form forbids is named', () => {
  expect(formMistake({ properties: {}, additionalProperties: false }, { typo: 1 })).toContain("'typo'");
});

test('W-2: each invalid field has its own message', () => {
  const strict = { ...form, required: ['name', 'color'], additionalProperties: false };
  expect(formMistakes(strict, { name: 'abcdef', age: -1, ok: true, typo: 1 })).toEqual([
    { field: 'color', kind: 'missing', mistake: 'an answer is required' },
    { field: 'name', kind: 'value', mistake: 'expected at most 5 characters' },
    { field: 'age', kind: 'value', mistake: 'expected at least 0' },
    { field: 'typo', kind: 'unknown', mistake: 'the form has no such field' },
  ]);
  expect(formMistakes(form, { name: 'A' })).toEqual([]);
});

test('X-4: an invalid form accepts everything', () => {
  expect(formMistake({ properties: 5, required: 'name' }, { name: 1 })).toBeUndefined();
  expect(formMistake({ properties: { name: { $ref: 'http://x' } } }, { name: 1 })).toBeUndefined();
});

test('X-3: many invalid values and many choices give one short message', () => {
  const items = { type: 'string', enum: Array.from({ length: 200 }, (_, index) => `choice ${index}`) };
  const form = { type: 'object', properties: { picked: { type: 'array', items } } };
  const picked = Array.from({ length: 500_000 }, () => 'none of them');
  const mistake = formMistake(form, { picked });
  expect(mistake).toContain('"choice 0"');
  expect(mistake).toContain('and 180 more');
  expect(mistake?.length).toBeLessThan(1000);
});
