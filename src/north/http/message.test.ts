import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { eraOf, messageMistake } from './message.ts';

const claim = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
const request = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage;
const message = (method: string, params?: object) => ({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });

test.each([
  ['a protocol version in the message', {}, message('tools/list', claim), 'modern'],
  ['a protocol version in one message of a batch', {}, [message('ping'), message('tools/list', claim)], 'modern'],
  ['a method header alone', { 'mcp-method': 'tools/list' }, message('tools/list'), 'modern'],
  ['a version header alone', { 'mcp-protocol-version': '2026-07-28' }, message('tools/list'), 'modern'],
  ['a message without a version or headers', {}, message('tools/list'), 'legacy'],
  ['an old version header', { 'mcp-protocol-version': '2025-11-25' }, message('tools/list'), 'legacy'],
  ['an invalid version header', { 'mcp-protocol-version': 'zzz' }, message('tools/list'), 'legacy'],
  ['initialize with a method header', { 'mcp-method': 'initialize' }, message('initialize'), 'legacy'],
  [
    'a session ID with a method header',
    { 'mcp-method': 'tools/list', 'mcp-session-id': 's' },
    message('tools/list'),
    'legacy',
  ],
  ['an invalid message', {}, 5, 'legacy'],
])('B-1, H-1: %s decides the era of a request', (_what, headers, body, era) => {
  expect(eraOf(request(headers), body)).toBe(era);
});

test.each([
  [message('ping')],
  [[message('ping'), { jsonrpc: '2.0', method: 'notifications/initialized' }]],
  [{ jsonrpc: '2.0', id: 'a', result: {} }],
])('X-4: %j is a valid message', (body) => {
  expect(messageMistake(body)).toBeUndefined();
});

test.each([
  [[]],
  [null],
  ['text'],
  [[[message('ping')]]],
  [{ ...message('ping'), id: 1.5 }],
  [{ ...message('ping'), id: {} }],
  [{ ...message('ping'), extra: 1 }],
  [{ ...message('ping'), result: {} }],
  [message('ping', [])],
  [message('ping', { _meta: 5 })],
  [Array.from({ length: 101 }, () => message('ping'))],
])('X-3, X-4: %j is not a valid message', (body) => {
  expect(messageMistake(body)).toEqual(expect.any(String));
});
