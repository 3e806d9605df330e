import { expect, test } from 'vitest';
import { parseExact } from '../lib/exact-json.ts';
import { keep, madeOf, messageText } from './kept-results.ts';

test('M-3: a cached result is sent like any other, with exact large numbers', () => {
  const result = parseExact('{"tools":[{"name":"é \\"a\\"","n":9007199254740993}]}') as Record<string, unknown>;
  const text = messageText({ jsonrpc: '2.0', id: 'x"1', result });
  keep(result);
  expect(messageText({ jsonrpc: '2.0', id: 'x"1', result })).toBe(text);
  expect(messageText({ jsonrpc: '2.0', id: 2, result })).toBe(text.replace('"x\\"1"', '2'));
});

test('M-3: madeOf() caches the derived value of a cached result per maker', () => {
  const result = keep({ tools: [] });
  const makers = [{}, {}];
  const made = makers.map((by) => madeOf(result, by, () => ({ ...result })));
  expect(makers.map((by) => madeOf(result, by, () => ({ ...result })))).toEqual(made);
  expect(madeOf(result, makers[0], () => ({}))).toBe(made[0]);
  expect(made[0]).not.toBe(made[1]);
  const other = { tools: [] };
  expect(madeOf(other, makers[0], () => ({ a: 1 }))).not.toBe(madeOf(other, makers[0], () => ({ a: 1 })));
});

test('X-3: results are sent correctly beyond the limit of cached text', () => {
  const results = Array.from({ length: 40 }, (_each, index) => keep({ text: 'x'.repeat(1_000_000), index }));
  for (const result of [...results, ...results]) {
    expect(messageText({ jsonrpc: '2.0', id: 1, result })).toBe(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  }
});
