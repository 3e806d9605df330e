/** Prevents connections to addresses that are not allowed, also if the response of the DNS changes in between. */

import { lookup, type LookupAddress } from 'node:dns';
import { lookup as lookupOnce } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { GatewayError } from '../../core/errors.ts';
import type { AddressCheck } from '../../lib/addresses.ts';

/** Throws when the host is, or resolves to, an address that is not allowed. */
export async function assertAllowed(url: URL, isAllowed: AddressCheck): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) {
    if (!isAllowed(host)) throw notAllowed(host);
    return;
  }
  // A name that cannot be resolved is reported by the attempt to connect.
  const found = await lookupOnce(host, { all: true }).catch(() => []);
  if (found.some(({ address }) => !isAllowed(address))) throw notAllowed(host);
}

/** Resolves a host name for a connection, which then goes to exactly the addresses that were checked. */
export function checkedLookup(isAllowed: AddressCheck): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      // With an error there are no addresses, contrary to the type.
      if (error) return callback(error, '');
      const [first] = found;
      if (first === undefined || found.some(({ address }) => !isAllowed(address))) callback(notAllowed(host), '');
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

/** The address of a name is not shown: that would reveal the internal network. */
function notAllowed(host: string): GatewayError {
  return new GatewayError(
    'TOOL_ERR_NOT_ALLOWED',
    `'${host}' is not at a public address, and clients may add no other; the operator can allow it with addServerAddresses`,
  );
}
