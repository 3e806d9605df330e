import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { assertFresh, forwardedHeader, readForwarded } from './forwarded-header.ts';
import { Signer, Verifier } from './signer.ts';

const KEY = Buffer.alloc(32, 1);
const NOW = 1_800_000_000_000;
const REQUEST = { method: 'POST', path: '/mcp?as=desk' };
const FIELDS = {
  principal: 'ann, of the été team',
  sender: 'gateway-a',
  recipient: 'gateway-b',
  key: 'session-1',
  connection: 7,
};
const HEADER = forwardedHeader(KEY, REQUEST, FIELDS, NOW);

test('K-3: the header of a forwarded request has its principal, session and recipient', () => {
  expect(readForwarded(KEY, REQUEST, HEADER)).toEqual({ ...FIELDS, at: NOW });
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
  ['another time', HEADER.replace(String(NOW), String(NOW + 1))],
  ['the key of another store', forwardedHeader(Buffer.alloc(32, 2), REQUEST, FIELDS, NOW)],
])('K-3: a header with %s is refused', (_what, header) => {
  expect(() => readForwarded(KEY, REQUEST, header)).toThrow('has no valid signature');
});

test.each([
  ['method', { ...REQUEST, method: 'DELETE' }],
  ['path', { ...REQUEST, path: '/mcp/files' }],
  ['query', { ...REQUEST, path: '/mcp?as=other' }],
])('K-3: a header is not valid for another %s', (_what, request) => {
  expect(() => readForwarded(KEY, request, HEADER)).toThrow('has no valid signature');
});

test('K-3: a header expires, and clocks may differ by two minutes', () => {
  for (const difference of [-120_000, 120_000]) assertFresh({ at: NOW }, NOW + difference);
  for (const difference of [-180_000, 180_000]) {
    expect(() => assertFresh({ at: NOW }, NOW + difference)).toThrow('the clocks of all gateways must agree');
  }
});

const arriving = () => ({ method: REQUEST.method, url: REQUEST.path, socket: new Socket() });
const store = {
  gatewayId: 'gateway-a',
  key: KEY,
  leaseMs: 1,
  ownerOf: async () => undefined,
  anyOther: async () => undefined,
};
const FORWARDING = { principal: 'ann', key: 'session-1', recipient: 'gateway-b' };

test('K-3: a header is reused for the same request fields, and signed again for others and after a while', () => {
  const request = arriving();
  const clock = new TestClock();
  const signer = new Signer(store, clock);
  const first = signer.headerFor(request, FORWARDING);
  clock.advance(1000);
  expect(signer.headerFor(request, FORWARDING)).toBe(first);
  const others = [
    signer.headerFor(request, { ...FORWARDING, principal: 'bob' }),
    signer.headerFor(request, { ...FORWARDING, key: 'session-2' }),
    signer.headerFor(request, { ...FORWARDING, recipient: 'gateway-c' }),
    signer.headerFor({ ...request, url: '/mcp/files' }, FORWARDING),
    signer.headerFor({ ...request, method: 'GET' }, FORWARDING),
    signer.headerFor({ ...request, socket: new Socket() }, FORWARDING),
  ];
  clock.advance(60_000);
  others.push(signer.headerFor(request, FORWARDING));
  expect(new Set([first, ...others]).size).toBe(8);
});

test('K-3: a cached header is still checked for its age and for the request', () => {
  const request = arriving();
  const clock = new TestClock();
  const verifier = new Verifier(store, clock);
  const header = new Signer(store, clock).headerFor(request, FORWARDING);
  for (let i = 0; i < 2; i += 1) expect(verifier.read(request, header).principal).toBe('ann');
  expect(() => verifier.read({ ...request, method: 'GET' }, header)).toThrow('has no valid signature');
  expect(() => verifier.read(request, header.replace('ann', 'bob'))).toThrow('has no valid signature');
  clock.advance(151_000);
  expect(() => verifier.read(request, header)).toThrow('too old');
});
