import { expect, test } from 'vitest';
import { forwardedHeader, readForwarded } from './forwarded-header.ts';

const KEY = Buffer.alloc(32, 1);
const NOW = 1_800_000_000_000;
const REQUEST = { method: 'POST', path: '/mcp?as=desk' };
const FIELDS = {
  principal: 'ann, of the été team',
  sender: 'gateway-a',
  recipient: 'gateway-b',
  key: 'session-1',
  connection: 7,
  bodyBytes: 123,
};
const HEADER = forwardedHeader(KEY, REQUEST, FIELDS, NOW);

test('K-3: a forwarded request says whose it is, and for whom', () => {
  expect(readForwarded(KEY, REQUEST, HEADER, NOW + 1000)).toEqual(FIELDS);
  expect(HEADER).toMatch(/^[\x21-\x7e]+$/);
});

test.each([
  ['nothing', ''],
  ['no signature', HEADER.slice(0, HEADER.lastIndexOf(','))],
  ['an empty signature', `${HEADER.slice(0, HEADER.lastIndexOf(','))},`],
  ['a part of the signature', HEADER.slice(0, -2)],
  ['another principal', HEADER.replace('ann', 'bob')],
  ['another sender', HEADER.replace('gateway-a', 'gateway-c')],
  ['another recipient', HEADER.replace('gateway-b', 'gateway-c')],
  ['another session', HEADER.replace('session-1', 'session-2')],
  ['another connection', HEADER.replace(',7,', ',8,')],
  ['another size', HEADER.replace(',123,', ',124,')],
  ['another time', HEADER.replace(String(NOW), String(NOW + 1))],
  ['the key of another store', forwardedHeader(Buffer.alloc(32, 2), REQUEST, FIELDS, NOW)],
])('K-3: a header with %s is not believed', (_what, header) => {
  expect(() => readForwarded(KEY, REQUEST, header, NOW)).toThrow('no gateway of this store has signed');
});

test.each([
  ['method', { ...REQUEST, method: 'DELETE' }],
  ['path', { ...REQUEST, path: '/mcp/files' }],
  ['query', { ...REQUEST, path: '/mcp?as=other' }],
])('K-3: a header cannot be used with another %s', (_what, request) => {
  expect(() => readForwarded(KEY, request, HEADER, NOW)).toThrow('no gateway of this store has signed');
});

test('K-3: a header is of no use later, and clocks may differ by two minutes', () => {
  for (const difference of [-120_000, 120_000]) {
    expect(readForwarded(KEY, REQUEST, HEADER, NOW + difference).principal).toBe(FIELDS.principal);
  }
  for (const difference of [-180_000, 180_000]) {
    expect(() => readForwarded(KEY, REQUEST, HEADER, NOW + difference)).toThrow(
      'the clocks of all gateways must agree',
    );
  }
});
