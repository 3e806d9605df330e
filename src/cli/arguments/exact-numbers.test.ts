import { expect, test } from 'vitest';
import { stringifyExact } from '../../lib/exact-json.ts';
import { parseArguments } from './given.ts';
import { toolArguments } from './tool-arguments.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    whole: { type: 'integer' },
    any: { type: 'number' },
    either: { type: ['integer', 'string'] },
    several: { type: 'array', items: { type: 'integer' } },
  },
};

const read = (operand: string) => toolArguments(SCHEMA, parseArguments([operand]));

test.each([
  ['whole=1e20', '1e20'],
  ['whole=1e999', '1e999'],
  ['any=1e999', '1e999'],
  ['any=-1e999', '-1e999'],
])('C-3: %s would arrive as another number and is refused, and the message suggests --args', (operand, number) => {
  const [key = ''] = operand.split('=');
  const mistake = `'${key}': ${number} would arrive as another value`;
  expect(read(operand)).toEqual({ mistakes: [expect.stringContaining(mistake)] });
  expect(read(operand)).toEqual({ mistakes: [expect.stringMatching(/in quotes: .*--args$/)] });
});

test.each<[string, unknown]>([
  ['whole=9007199254740991', { whole: 9007199254740991 }],
  ['whole=-9007199254740991', { whole: -9007199254740991 }],
  ['whole=1e3', { whole: 1000 }],
  ['any=1e300', { any: 1e300 }],
  ['any=0.1', { any: 0.1 }],
  ['whole:="9007199254740993"', { whole: '9007199254740993' }],
])('C-3: %s arrives unchanged', (operand, args) => {
  expect(read(operand)).toEqual({ args });
});

test.each([
  ['whole=9007199254740993', '{"whole":9007199254740993}'],
  ['whole=-9007199254740993', '{"whole":-9007199254740993}'],
  ['whole=+009007199254740993', '{"whole":9007199254740993}'],
  ['any=9007199254740993', '{"any":9007199254740993}'],
  ['several=9007199254740993', '{"several":[9007199254740993]}'],
  ['several=[9007199254740993, 1]', '{"several":[9007199254740993,1]}'],
  ['either=9007199254740993', '{"either":9007199254740993}'],
  ['whole:=9007199254740993', '{"whole":9007199254740993}'],
])('M-7: %s is sent with all its digits', (operand, sent) => {
  const found = read(operand);
  expect(stringifyExact('args' in found ? found.args : found)).toBe(sent);
});

test('C-3: a value that is not a number gets the usual type error', () => {
  expect(read('whole=1.5')).toEqual({ mistakes: ["'whole': expected integer, got '1.5'"] });
  expect(read('several=many')).toEqual({ mistakes: ["'several': expected array of integer, got 'many'"] });
});
