import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { OpenHttpRequests } from './open-http-requests.ts';

const CANCEL: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

test('T-4: a request that waits for its connection is dropped, so it needs no cancellation', () => {
  const requests = new OpenHttpRequests(new TestClock());
  const request = requests.begin(1);
  expect(requests.dropUnsent(1)).toBe(true);
  expect(request.dropped).toBe(true);
  expect(requests.dropUnsent(1)).toBe(false);
  expect(requests.dropUnsent('unknown')).toBe(false);
});

test('T-4: a request that the server has accepted is dropped with its cancellation', () => {
  const requests = new OpenHttpRequests(new TestClock());
  const request = requests.begin(1);
  request.taken = true;
  requests.cancelled(1, CANCEL);
  expect(request.dropped).toBe(true);
  expect(request.isOpen).toBe(false);
});

test('T-4: a request that its cancellation may have overtaken stays open for a while, to be cancelled again', () => {
  const clock = new TestClock();
  const requests = new OpenHttpRequests(clock);
  const request = requests.begin(1);
  request.exchange = { sent: true, abort: () => {} };
  expect(requests.dropUnsent(1)).toBe(false);
  requests.cancelled(1, CANCEL);
  expect(request.cancel).toBe(CANCEL);
  expect(request.dropped).toBe(false);
  clock.advance(1000);
  expect(request.dropped).toBe(true);
});

test('T-4: a request that is redirected waits again, so it is dropped without a cancellation', () => {
  const requests = new OpenHttpRequests(new TestClock());
  const request = requests.begin(1);
  const exchange = { sent: true, abort: () => {} };
  request.exchange = exchange;
  exchange.sent = false;
  expect(requests.dropUnsent(1)).toBe(true);
  expect(request.dropped).toBe(true);
});

test('B-3: abandoned requests are returned once, and open requests when the connection ends', () => {
  const requests = new OpenHttpRequests(new TestClock());
  for (const id of [1, 2, 3]) requests.begin(id);
  requests.end(1);
  requests.abandon(2);
  expect(requests.takeAbandoned()).toEqual([2]);
  expect(requests.takeAbandoned()).toEqual([]);
  requests.abandon(2);
  expect(requests.takeAll()).toEqual([2, 3]);
});
