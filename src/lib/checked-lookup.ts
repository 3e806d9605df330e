/** Prevents connections to addresses that are not allowed, even if the DNS response changes in between. */

import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { AddressCheck } from './addresses.ts';

/**
 * Resolves a host name for a connection, which then uses exactly the checked addresses. Not called for a host that is
 * an address itself.
 */
export function checkedLookup(isAllowed: AddressCheck, refusal: (host: string) => Error): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      // With an error there are no addresses, contrary to the type.
      if (error) return callback(error, '');
      const [first] = found;
      if (first === undefined || found.some(({ address }) => !isAllowed(address))) callback(refusal(host), '');
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}
