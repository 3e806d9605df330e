import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
} from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { exactNumber } from '../lib/exact-json.ts';
import { isMessage } from './message.ts';

const V = { jsonrpc: '2.0' };
const RELATED = 'io.modelcontextprotocol/related-task';

test.each([
  { ...V, id: 1, method: 'm' },
  { ...V, id: 'a', method: 'm', params: {} },
  { ...V, id: 0, method: 'm', params: { _meta: {} } },
  { ...V, id: 1, method: 'm', params: { _meta: { progressToken: 'p' } } },
  { ...V, id: 1, method: 'm', params: { _meta: { progressToken: 1.5 } } },
  { ...V, id: 1, method: 'm', params: { _meta: { progressToken: null } } },
  { ...V, id: 1, method: 'm', params: { _meta: { [RELATED]: { taskId: 't' } } } },
  { ...V, id: 1, method: 'm', params: { _meta: { [RELATED]: {} } } },
  { ...V, id: 1, method: 'm', params: { _meta: 5 } },
  { ...V, id: 1, method: 'm', params: [] },
  { ...V, id: 1, method: 'm', params: null },
  { ...V, id: 1.5, method: 'm' },
  { ...V, id: 2 ** 60, method: 'm' },
  { ...V, id: null, method: 'm' },
  { ...V, id: {}, method: 'm' },
  { ...V, id: 1, method: 5 },
  { ...V, id: 1, method: 'm', extra: 1 },
  { ...V, id: 1, method: 'm', result: {} },
  { ...V, method: 'm' },
  { ...V, method: 'm', params: { a: 1 } },
  { ...V, method: 'm', params: 'x' },
  { ...V, method: 'm', extra: 1 },
  { jsonrpc: '1.0', id: 1, method: 'm' },
  { id: 1, method: 'm' },
  { ...V, id: 1, result: {} },
  { ...V, id: 1, result: { _meta: {}, a: 1 } },
  { ...V, id: 1, result: { _meta: 5 } },
  { ...V, id: 1, result: 5 },
  { ...V, id: 1, result: [] },
  { ...V, result: {} },
  { ...V, id: 1, result: {}, extra: 1 },
  { ...V, id: 1, error: { code: 1, message: 'm' } },
  { ...V, id: 1, error: { code: 1, message: 'm', data: [1], extra: 2 } },
  { ...V, error: { code: 1, message: 'm' } },
  { ...V, id: 1, error: { code: 1.5, message: 'm' } },
  { ...V, id: 1, error: { code: 1 } },
  { ...V, id: null, error: { code: 1, message: 'm' } },
  { ...V, id: 1, error: 'x' },
  { ...V, id: 1, result: {}, error: { code: 1, message: 'm' } },
  { ...V },
  {},
  [],
  null,
  'text',
])('X-4: %j is a message if the SDK accepts it', (body) => {
  const guards = [isJSONRPCRequest, isJSONRPCNotification, isJSONRPCResultResponse, isJSONRPCErrorResponse];
  expect(isMessage(body)).toBe(guards.some((guard) => guard(body)));
});

test.each([
  ['a method', { ...V, method: exactNumber('9007199254740993') }],
  ['an error message', { ...V, id: 1, error: { code: 1, message: exactNumber('9007199254740993') } }],
  ['a task ID', { ...V, method: 'm', params: { _meta: { [RELATED]: { taskId: exactNumber('9007199254740993') } } } }],
])('M-7: a large number is not valid as %s', (_what, body) => {
  expect(isMessage(body)).toBe(false);
});
