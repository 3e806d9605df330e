import { expect, test } from 'vitest';
import { refusal } from './http-refusal.ts';

const ORIGIN = 'http://127.0.0.1:1';
const rpc = (message: unknown) => JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } });

test.each([
  [404, rpc("no server 'x'"), "no server 'x'"],
  [500, rpc('out of order'), 'out of order'],
  [401, rpc('who are you?'), `HTTP 401 Unauthorized from ${ORIGIN}: who are you?`],
  [404, 'nothing here', `HTTP 404 Not Found from ${ORIGIN}`],
  [599, 'x', `HTTP 599 from ${ORIGIN}`],
  [404, rpc(5), `HTTP 404 Not Found from ${ORIGIN}`],
  [404, '{"error":{"message":"not ours"}}', `HTTP 404 Not Found from ${ORIGIN}`],
])('B-1: the error message for HTTP %i with the body %j', (status, body, words) => {
  expect(refusal(status, ORIGIN, body, false)).toBe(words);
});

test('B-1: the error message for a redirect says that redirects are not followed', () => {
  expect(refusal(302, ORIGIN, 'moved', true)).toContain('redirects are not followed');
});
