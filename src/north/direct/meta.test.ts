import { expect, test } from 'vitest';
import { passedOnMeta } from './meta.ts';

test('D-5: _meta is passed on to the server, except for keys of the client connection', () => {
  const _meta = { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'a/b': 1 };
  expect(passedOnMeta({ _meta })).toEqual({ 'a/b': 1 });
});

test('X-4, D-5: the key __proto__ in _meta is passed on like any other key', () => {
  const params = JSON.parse('{"_meta":{"__proto__":{"a":1},"b":2}}') as Record<string, unknown>;
  const passed = passedOnMeta(params);
  expect(JSON.stringify(passed)).toBe('{"__proto__":{"a":1},"b":2}');
  expect(Object.getPrototypeOf(passed)).toBe(Object.prototype);
});
