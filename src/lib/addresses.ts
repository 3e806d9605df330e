/** Which network addresses a connection may go to. */

import { BlockList, isIP } from 'node:net';

export type AddressCheck = (address: string) => boolean;

/** `any` address, or `public` addresses plus these ranges. */
export type AllowedAddresses = 'any' | 'public' | readonly string[];

/** Loopback, private, link-local, multicast and reserved ranges, and IPv6 ranges that stand for IPv4 addresses. */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const MAX_PREFIX = { 4: 32, 6: 128 } as const;

/** Whether this is an address or a range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** `undefined` if every address is allowed. */
export function addressCheck(allowed: AllowedAddresses): AddressCheck | undefined {
  if (allowed === 'any') return undefined;
  const notPublic = blockList(NOT_PUBLIC);
  const extra = blockList(allowed === 'public' ? [] : allowed);
  return (address) => {
    const [plain = ''] = address.split('%', 1);
    const version = isIP(plain);
    if (version === 0) return false;
    // Rules for IPv4 also apply to an IPv4 address that is written as an IPv6 one (::ffff:10.0.0.1).
    const family = version === 4 ? 'ipv4' : 'ipv6';
    return extra.check(plain, family) || !notPublic.check(plain, family);
  };
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const range = parseRange(text);
    if (range) list.addSubnet(range.address, range.prefix, range.version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

function parseRange(text: string): { address: string; prefix: number; version: 4 | 6 } | undefined {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version !== 4 && version !== 6) return undefined;
  const prefix = bits === undefined ? MAX_PREFIX[version] : Number(bits);
  return prefix <= MAX_PREFIX[version] ? { address, prefix, version } : undefined;
}
