/** The addresses that the gateway may contact when a server names its authorization server. */

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { HttpServerConfig } from '../../core/ports/server-config.ts';
import { addressCheck, type AddressCheck, type AllowedAddresses } from '../../lib/addresses.ts';
import type { MayReach } from './safe-fetch.ts';

/** Excludes link-local addresses, where clouds serve machine credentials. */
const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
];

const isPublic = addressCheck('public') as AddressCheck;
const isPublicOrPrivate = addressCheck(PRIVATE_NETWORKS) as AddressCheck;

export interface ReachOptions {
  config: HttpServerConfig;
  /** The addresses allowed for servers that clients add; absent for a server of the config file. */
  forClients?: AllowedAddresses | undefined;
}

/**
 * Allows public addresses and, if the server itself is in a private network, private addresses as well, as far as `forClients` allows
 * them.
 */
export async function reachFor({ config, forClients = 'any' }: ReachOptions): Promise<MayReach> {
  const isAllowed = addressCheck(forClients);
  const trusted = forClients === 'any' && config.auth ? hostOf(config.auth.issuer) : undefined;
  const isInside = await isInPrivateNetwork(config.url);
  return (address, host) => {
    if (isPublic(address)) return true;
    if (!isInside && host !== trusted) return false;
    return isPublicOrPrivate(address) && (isAllowed?.(address) ?? true);
  };
}

async function isInPrivateNetwork(url: string): Promise<boolean> {
  const host = hostOf(url) ?? '';
  if (isIP(host) !== 0) return !isPublic(host);
  // A name that cannot be resolved cannot be contacted either.
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.length > 0 && found.every(({ address }) => !isPublic(address));
}

const hostOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : undefined;
