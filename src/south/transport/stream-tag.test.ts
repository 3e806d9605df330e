import { expect, test } from 'vitest';
import { tagMessage, takeStreamTag } from './stream-tag.ts';

test('H-3: a question is stamped with its call, and the stamp comes off without a trace', () => {
  const params = { message: 'Name?', _meta: { 'vendor/x': 1 } };
  const stamped = tagMessage({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params }, 'call-1');
  expect(takeStreamTag((stamped as { params: Record<string, unknown> }).params)).toEqual({
    params,
    stream: { callId: 'call-1' },
  });
});

test.each([[undefined], [{}], [{ _meta: {} }]])('H-3, D-5: of parameters like %j nothing is lost or left', (params) => {
  const message = { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed', ...(params && { params }) };
  const stamped = tagMessage(message, 'c');
  const taken = takeStreamTag((stamped as { params: Record<string, unknown> }).params);
  expect(taken).toEqual({ params, stream: { callId: 'c' } });
});

test('H-3: nothing that a server writes is taken for the stamp', () => {
  const params = { _meta: { 'meanwhile/call': 'another' }, 'meanwhile/call': 'another' };
  expect(takeStreamTag(params)).toEqual({ params, stream: 'any' });
});

test('H-3: replies and notifications pass untouched', () => {
  const reply = { jsonrpc: '2.0' as const, id: 1, result: {} };
  const notification = { jsonrpc: '2.0' as const, method: 'notifications/progress' };
  expect(tagMessage(reply, 'c')).toBe(reply);
  expect(tagMessage(notification, 'c')).toBe(notification);
});

test('H-3: what came on the stream of another request belongs to no call; without a stream anything is possible', () => {
  const stamped = tagMessage({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} }, undefined);
  expect(takeStreamTag((stamped as { params: Record<string, unknown> }).params).stream).toBe('no call');
  expect(takeStreamTag({ message: 'Name?' }).stream).toBe('any');
});
