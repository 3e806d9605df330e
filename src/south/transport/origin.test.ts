import { expect, test } from 'vitest';
import { stampOrigin, takeOrigin } from './origin.ts';

test('H-3: a question is stamped with its call, and the stamp comes off without a trace', () => {
  const params = { message: 'Name?', _meta: { 'vendor/x': 1 } };
  const stamped = stampOrigin({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params }, 'call-1');
  expect(takeOrigin((stamped as { params: Record<string, unknown> }).params)).toEqual({
    params,
    stream: { callId: 'call-1' },
  });
});

test('H-3: without other metadata none is left behind', () => {
  const stamped = stampOrigin({ jsonrpc: '2.0', id: 1, method: 'ping' }, 'c');
  expect(takeOrigin((stamped as { params: Record<string, unknown> }).params)).toEqual({
    params: {},
    stream: { callId: 'c' },
  });
});

test('H-3: replies and notifications pass untouched', () => {
  const reply = { jsonrpc: '2.0' as const, id: 1, result: {} };
  const notification = { jsonrpc: '2.0' as const, method: 'notifications/progress' };
  expect(stampOrigin(reply, 'c')).toBe(reply);
  expect(stampOrigin(notification, 'c')).toBe(notification);
});

test('H-3: what came on the stream of another request belongs to no call; without a stream anything is possible', () => {
  const stamped = stampOrigin({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} }, undefined);
  expect(takeOrigin((stamped as { params: Record<string, unknown> }).params).stream).toBe('no call');
  expect(takeOrigin({ message: 'Name?' }).stream).toBe('any');
});
