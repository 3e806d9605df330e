import { expect, test } from 'vitest';
import { loadUndici } from '../../lib/http-connections.ts';
import { sharedConnections } from './shared-http.ts';

const ORIGIN = 'http://127.0.0.1:1';

test('B-1: sessions share the connections to a server until the last session releases them', async () => {
  const undici = await loadUndici();
  const first = sharedConnections(undici, ORIGIN, undefined);
  const second = sharedConnections(undici, ORIGIN, undefined);
  expect(second).toBe(first);
  first.release();
  const third = sharedConnections(undici, ORIGIN, undefined);
  expect(third).toBe(first);
  second.release();
  third.release();
  const later = sharedConnections(undici, ORIGIN, undefined);
  expect(later).not.toBe(first);
  later.release();
});

test('X-2: connections without an address check are not shared with connections that need the check', async () => {
  const undici = await loadUndici();
  const unchecked = sharedConnections(undici, ORIGIN, undefined);
  const checked = sharedConnections(undici, ORIGIN, () => true);
  expect(checked).not.toBe(unchecked);
  unchecked.release();
  checked.release();
});
