import { describe, expect, it } from 'vitest';
import { contentFrom, enteredIn, initialEntries, simpleFields } from './form.ts';
import { questionPage } from './html.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your <name>', minLength: 2, default: 'Ada' },
    age: { type: 'integer', minimum: 0, description: 'In years' },
    sure: { type: 'boolean', default: true },
    size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large & loud'] },
    extras: { type: 'array', items: { type: 'string', enum: ['milk', 'sugar'] }, minItems: 1, default: ['milk'] },
  },
  required: ['name', 'sure', 'extras'],
};

const fields = simpleFields({ requestedSchema: SCHEMA }) ?? expect.fail('not simple');

const read = (body: string) => contentFrom(fields, enteredIn(new URLSearchParams(body), fields));

describe('a form on a page without scripts', () => {
  it('N-2: shows each kind of field with its default', () => {
    const html = questionPage({
      server: 'bank',
      tool: undefined,
      message: 'Which?',
      fields,
      entered: initialEntries(fields),
      mistakes: new Map([[1, 'expected a number']]),
    });
    expect(html).toContain('<label class="title" for="field-0">Your &lt;name&gt;</label>');
    expect(html).toContain('<input type="text" id="field-0" name="field-0" value="Ada"');
    expect(html).toContain('aria-describedby="field-1-help field-1-mistake"');
    expect(html).toContain('<p class="mistake" id="field-1-mistake">expected a number</p>');
    expect(html).toContain('<input type="radio" name="field-2" value="true" checked> Yes');
    expect(html).toContain('<input type="radio" name="field-3" value="1"> Large &amp; loud');
    expect(html).toContain('<input type="checkbox" name="field-4" value="0" checked> milk');
    expect(html).not.toContain('<script');
  });

  it('N-2: turns the submitted fields into an answer', () => {
    const body = 'field-0=Bo&field-1=41&field-2=false&field-3=1&field-4=0&field-4=1';
    expect(read(body)).toEqual({
      content: { name: 'Bo', age: 41, sure: false, size: 'l', extras: ['milk', 'sugar'] },
      mistakes: new Map(),
    });
    expect(read('field-0=Bo&field-1=&field-2=true&field-4=1').content).toEqual({
      name: 'Bo',
      sure: true,
      extras: ['sugar'],
    });
  });

  it('N-2: reports fields that do not match', () => {
    expect(read('field-0=B&field-1=x&field-3=9').mistakes).toEqual(
      new Map([
        [0, 'expected at least 2 characters'],
        [1, 'expected a number'],
        [2, 'an answer is required'],
        [3, 'choose one of them'],
        [4, 'expected at least 1'],
      ]),
    );
    expect(read('field-0=Bo&field-2=true&field-4=constructor').content['extras']).toBeUndefined();
  });

  it.each([
    ['an object', { a: { type: 'object' } }],
    ['a list without choices', { a: { type: 'array', items: { type: 'string' } } }],
    ['no type', { a: {} }],
    [
      'too many fields',
      Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`f${index}`, { type: 'string' }])),
    ],
    ['too many choices', { a: { type: 'string', enum: Array.from({ length: 101 }, String) } }],
  ])('N-2: leaves forms to the console that it cannot show: %s', (_what, properties) => {
    expect(simpleFields({ requestedSchema: { type: 'object', properties } })).toBeUndefined();
  });

  it('N-2: treats a question without fields as one to accept or decline', () => {
    expect(simpleFields({ requestedSchema: { type: 'object', properties: {} } })).toEqual([]);
    expect(simpleFields({})).toEqual([]);
  });
});
