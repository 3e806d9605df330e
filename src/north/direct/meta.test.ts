import { expect, test } from 'vitest';
import { passedOnMeta } from './meta.ts';

test('D-5: metadata goes on to the server, except for what belongs to the wire of the client', () => {
  const _meta = { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'a/b': 1 };
  expect(passedOnMeta({ _meta })).toEqual({ 'a/b': 1 });
});

test('X-4, D-5: a key of a prototype is a key like others', () => {
  const params = JSON.parse('{"_meta":{"__proto__":{"a":1},"b":2}}') as Record<string, unknown>;
  const passed = passedOnMeta(params);
  expect(JSON.stringify(passed)).toBe('{"__proto__":{"a":1},"b":2}');
  expect(Object.getPrototypeOf(passed)).toBe(Object.prototype);
});
