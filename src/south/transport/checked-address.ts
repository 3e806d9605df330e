/** Keeps client-added servers from connecting to addresses that are not allowed. */

import { lookup as lookupOnce } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { GatewayError } from '../../core/errors.ts';
import type { AddressCheck } from '../../lib/addresses.ts';
import { checkedLookup } from '../../lib/checked-lookup.ts';

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

/** Resolves host names to allowed addresses only. */
export const allowedLookup = (isAllowed: AddressCheck): LookupFunction => checkedLookup(isAllowed, notAllowed);

/** The address of a name is not shown: that would reveal the internal network. */
function notAllowed(host: string): GatewayError {
  return new GatewayError(
    'TOOL_ERR_NOT_ALLOWED',
    `'${host}' is not at a public address, and clients may only add public ones; the operator can allow it with addServerAddresses`,
  );
}
