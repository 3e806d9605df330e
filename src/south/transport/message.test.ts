import { expect, test } from 'vitest';
import { readMessage } from './message.ts';

const answer = (rest: object): unknown => ({ jsonrpc: '2.0', id: 1, ...rest });

test.each([
  ['a request', { jsonrpc: '2.0', id: 1, method: 'ping' }],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/x', params: {} }],
  ['a result', answer({ result: { resultType: 'complete', content: [], extra: 1 } })],
  ['a task in place of a result', answer({ result: { resultType: 'task', taskId: 't', status: 'working' } })],
  ['an error', answer({ error: { code: -1, message: 'no', data: 2 } })],
])('B-1: %s passes unchanged', (_name, message) => {
  expect(readMessage(message)).toBe(message);
});

test.each([
  [null],
  ['text'],
  [[]],
  [{}],
  [{ jsonrpc: '1.0', id: 1, result: {} }],
  [{ jsonrpc: '2.0', result: {} }],
  [{ jsonrpc: '2.0', id: 1, method: 5 }],
])('B-1: %j is not a message', (value) => {
  expect(readMessage(value)).toBeUndefined();
});

test.each([[{ result: 'done' }], [{ result: null }], [{}], [{ error: 'no' }], [{ error: { code: 'x' } }]])(
  'B-6: a response with %j ends its request with an error',
  (rest) => {
    expect(readMessage(answer(rest))).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining("server's answer") },
    });
  },
);

test.each([[null], ['text'], [5], [[1]]])('B-1: params that are %j count as absent', (params) => {
  const method = 'notifications/cancelled';
  expect(readMessage({ jsonrpc: '2.0', method, params })).toEqual({ jsonrpc: '2.0', method });
  expect(readMessage({ jsonrpc: '2.0', id: 1, method: 'ping', params })).toEqual({
    jsonrpc: '2.0',
    id: 1,
    method: 'ping',
  });
});
