import { Readable } from 'node:stream';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { parseArguments, readArguments } from './given.ts';
import { describeType } from '../../lib/form/json-schema.ts';
import { toolArguments } from './tool-arguments.ts';
import { toolUsage } from './usage.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'What to say', minLength: 1 },
    times: { type: 'integer', minimum: 1, maximum: 10 },
    ratio: { type: 'number', default: 0.5 },
    loud: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { type: 'integer' } },
    options: { type: 'object' },
    colour: { enum: ['red', 'green', 3] },
    maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    either: { type: ['integer', 'string'] },
    nested: { anyOf: [{ oneOf: [{ type: 'integer' }, { type: 'string' }] }] },
    place: { $ref: '#/$defs/Place' },
    anything: {},
  },
  required: ['text'],
  $defs: { Place: { type: 'string', enum: ['here', 'there'] } },
};

const read = (...operands: string[]) => toolArguments(SCHEMA, parseArguments(operands));

test.each<[string, unknown]>([
  ['times=3', { times: 3 }],
  ['ratio=-1.5e2', { ratio: -150 }],
  ['loud=true', { loud: true }],
  ['loud=false', { loud: false }],
  ['tags=["a","b"]', { tags: ['a', 'b'] }],
  ['tags=one', { tags: ['one'] }],
  ['numbers=4', { numbers: [4] }],
  ['options={"a":{"b":1}}', { options: { a: { b: 1 } } }],
  ['colour=green', { colour: 'green' }],
  ['colour=3', { colour: 3 }],
  ['maybe=null', { maybe: null }],
  ['maybe=word', { maybe: 'word' }],
  ['nested=7', { nested: 7 }],
  ['either=7', { either: 7 }],
  ['either=seven', { either: 'seven' }],
  ['place=there', { place: 'there' }],
  ['anything=5', { anything: '5' }],
  ['anything:={"a":[1,null]}', { anything: { a: [1, null] } }],
  ['times:=2', { times: 2 }],
])('C-3: %s is parsed by the type in the schema', (operand, expected) => {
  expect(read('text=x', operand)).toEqual({ args: { text: 'x', ...(expected as object) } });
});

test('C-3: a string argument is taken literally, whatever it looks like', () => {
  expect(read('text=a=b')).toEqual({ args: { text: 'a=b' } });
  expect(read('text=42')).toEqual({ args: { text: '42' } });
  expect(read('text=')).toEqual({ args: { text: '' } });
  expect(read('text=true')).toEqual({ args: { text: 'true' } });
});

test('C-3: repeated arguments make a list if the schema says array, and are a mistake otherwise', () => {
  expect(read('text=x', 'tags=a', 'tags=b', 'tags=["c"]')).toEqual({ args: { text: 'x', tags: ['a', 'b', 'c'] } });
  expect(read('text=x', 'text=y')).toEqual({ mistakes: ["'text' is given twice"] });
});

test.each([
  ['times=many', "'times': expected integer, 1…10, got 'many'"],
  ['times=1.5', "'times': expected integer"],
  ['times=', "'times': expected integer"],
  ['ratio=0x10', "'ratio': expected number"],
  ['loud=yes', "'loud': expected boolean"],
  ['options=[1]', "'options': expected object"],
  ['numbers=["a"', "'numbers': expected array of integer"],
  ['colour=blue', `'colour': expected "red" | "green" | 3, got 'blue'`],
  ['place=nowhere', `'place': expected "here" | "there"`],
  ['txt=x', "there is no argument 'txt'; did you mean 'text'?"],
  ['__proto__=x', "there is no argument '__proto__'"],
])('C-3: %s is a mistake, and the message says which type is expected', (operand, mistake) => {
  expect(read('text=x', operand)).toEqual({ mistakes: [expect.stringContaining(mistake)] });
});

test('C-3: a missing argument is reported together with all other mistakes', () => {
  expect(read('times=x')).toEqual({ mistakes: [expect.stringContaining("'times'"), "'text' is missing"] });
});

test('C-3: single arguments override those of --args, which may contain properties that the schema lacks', () => {
  const result = toolArguments(SCHEMA, parseArguments(['times=2']), { text: 'x', times: 1, secret: true });
  expect(result).toEqual({ args: { text: 'x', times: 2, secret: true } });
});

test('C-3: a schema without properties allows any argument, and one with additionalProperties: false allows no other', () => {
  expect(toolArguments({ type: 'object' }, parseArguments(['a=1']))).toEqual({ args: { a: '1' } });
  const closed = { type: 'object', properties: {}, additionalProperties: false };
  expect(toolArguments(closed, parseArguments(['a=1']))).toEqual({
    mistakes: ["there is no argument 'a'; it takes no arguments"],
  });
  const open = { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: true };
  expect(toolArguments(open, parseArguments(['a=1', 'b=1']))).toEqual({ args: { a: 1, b: '1' } });
});

test('C-3: a schema that refers to itself causes no endless recursion', () => {
  const circular = { type: 'object', properties: { a: { $ref: '#/properties/a' } } };
  expect(toolArguments(circular, parseArguments(['a=1']))).toEqual({ args: { a: '1' } });
  const itself = { $ref: '#/$defs/T' };
  for (const T of [{ anyOf: [itself, itself] }, { type: 'array', items: itself }]) {
    const endless = { type: 'object', properties: { a: itself }, $defs: { T } };
    expect(toolArguments(endless, parseArguments(['a=1']))).toHaveProperty('args');
    expect(describeType(T, endless).length).toBeLessThan(100);
  }
  expect(describeType({ $ref: '#/nowhere' }, {})).toBe('any');
});

test.each(['novalue', '=x', ':=1', 'a:={', 'a:='])('C-3: %j is not an argument', (operand) => {
  expect(() => parseArguments([operand])).toThrow(/expected key|not valid JSON/);
});

test('C-3: --args takes JSON, a file or standard input', async () => {
  const file = join(await temporaryFolder(), 'args.json');
  await writeFile(file, '{"from": "file"}');
  const input = (text = '') => Readable.from([text]);
  expect(await readArguments('{"a": 1}', input())).toEqual({ a: 1 });
  expect(await readArguments(`@${file}`, input())).toEqual({ from: 'file' });
  expect(await readArguments('-', input('{"from": "stdin"}'))).toEqual({ from: 'stdin' });
  await expect(readArguments('[1]', input())).rejects.toThrow('expected a JSON object');
  await expect(readArguments('{"a": }', input())).rejects.toThrow('--args: not valid JSON at character 7');
  await expect(readArguments('@/nowhere/x', input())).rejects.toThrow('ENOENT');
});

test('C-3: the usage of a tool shows a command line and the arguments, the required ones first', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      steps: { type: 'integer', description: 'How\nmany\u001B[31m', default: 5 },
      text: { type: 'string' },
    },
    required: ['text'],
  };
  expect(toolUsage('npx server', { name: 'slow', inputSchema })).toBe(
    [
      `usage: meanwhile call 'npx server' slow text=… [steps=…]`,
      '  text   string   required',
      '  steps  integer            How many (default 5)',
    ].join('\n'),
  );
});
