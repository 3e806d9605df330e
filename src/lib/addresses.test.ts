import { expect, test } from 'vitest';
import { addressCheck, isAddressRange } from './addresses.ts';

const isPublic = addressCheck('public');

test.each([
  '127.0.0.1',
  '127.255.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.31.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '::ffff:169.254.169.254',
  '::7f00:1',
  '64:ff9b::a00:1',
  '2002:a00:1::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'ff02::1',
  'localhost',
  '',
])('X-2: %j is not a public address', (address) => {
  expect(isPublic?.(address)).toBe(false);
});

test.each(['1.1.1.1', '93.184.216.34', '172.32.0.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
  'X-2: %j is a public address',
  (address) => {
    expect(isPublic?.(address)).toBe(true);
  },
);

test('X-2: ranges can be allowed in addition to public addresses', () => {
  const check = addressCheck(['10.1.0.0/16', '::1']);
  const seen = ['10.1.2.3', '::ffff:10.1.2.3', '::1', '1.1.1.1', '10.2.0.1', '127.0.0.1'].map((each) => check?.(each));
  expect(seen).toEqual([true, true, true, true, false, false]);
  expect(addressCheck('any')).toBeUndefined();
});

test('X-2: address ranges are recognized', () => {
  for (const good of ['10.0.0.0/8', '10.1.2.3', '::1', 'fd00::/8', '0.0.0.0/0']) {
    expect(isAddressRange(good), good).toBe(true);
  }
  for (const bad of ['10.0.0.0/33', 'fd00::/129', 'example.org', '10.0.0/8', '', '/8', '10.0.0.0/', 'fe80::1%eth0']) {
    expect(isAddressRange(bad), bad).toBe(false);
  }
});
