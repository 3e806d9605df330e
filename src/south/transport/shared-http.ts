import type { AddressCheck } from '../../lib/addresses.ts';
import { HttpConnections, type Undici } from '../../lib/http-connections.ts';
import { allowedLookup } from './checked-address.ts';

const shared = new Map<string, HttpConnections>();

/**
 * The connections to an origin that all sessions share: each request is self-contained, so 10,000
 * sessions need no separate connections for their pings. If addresses are checked, each transport has its own.
 */
export function sharedConnections(
  undici: Undici,
  origin: string,
  isAllowed: AddressCheck | undefined,
): HttpConnections {
  if (isAllowed) return ownConnections(undici, origin, isAllowed);
  const known = shared.get(origin);
  if (known) {
    known.users += 1;
    return known;
  }
  const connections = new HttpConnections(undici, origin, { onUnused: () => shared.delete(origin) });
  shared.set(origin, connections);
  return connections;
}

/** Separate connections, to allowed addresses only. */
export function ownConnections(undici: Undici, origin: string, isAllowed: AddressCheck | undefined): HttpConnections {
  return new HttpConnections(undici, origin, isAllowed && { lookup: allowedLookup(isAllowed) });
}
