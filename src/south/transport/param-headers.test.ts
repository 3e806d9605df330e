import { expect, test } from 'vitest';
import { headerDeclarations, headerMistake } from './param-headers.ts';

const text = (header: unknown, type = 'string'): object => ({ type, 'x-mcp-header': header });

test('B-1: x-mcp-header counts at any depth of properties, and only there', () => {
  const deep = { properties: { where: { type: 'object', properties: { region: text('Region') } } } };
  expect(headerDeclarations(deep)).toEqual([{ path: ['where', 'region'], name: 'Region' }]);
  for (const elsewhere of [
    { properties: { a: { type: 'array', items: text('A') } } },
    { anyOf: [{ properties: { a: text('A') } }] },
    { $defs: { a: text('A') } },
    text('A'),
  ]) {
    expect(headerMistake(elsewhere)).toMatch(/only properties/);
    expect(headerDeclarations(elsewhere)).toEqual([]);
  }
});

test('B-1: a property named x-mcp-header and data that contains it are not declarations', () => {
  const schema = { properties: { 'x-mcp-header': { type: 'string', default: { 'x-mcp-header': '' } } } };
  expect(headerMistake(schema)).toBeUndefined();
});

test.each([
  ['an empty name', { a: text('') }, /cannot name a header/],
  ['a name with a space', { a: text('My Region') }, /cannot name a header/],
  ['not a string', { a: text(7) }, /cannot name a header/],
  ['a number', { a: text('A', 'number') }, /only a string, an integer or a boolean/],
  ['an object', { a: text('A', 'object') }, /only a string, an integer or a boolean/],
  ['a name twice', { a: text('Region'), b: text('region') }, /already/],
])('B-1: an invalid x-mcp-header declaration is refused: %s', (_, properties, mistake) => {
  expect(headerMistake({ properties })).toMatch(mistake);
});
