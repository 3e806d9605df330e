/** The address at which other gateways reach this one. */

import { hostname, networkInterfaces } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import { within } from '../../lib/timers.ts';
import { FORWARDED } from '../http/addressed.ts';
import { isLoopback } from '../http/guard.ts';
import { forwardedHeader } from './forwarded-header.ts';
import type { GatewayResponse, GatewayClient } from './gateway-client.ts';
import { REFUSED_BY } from './receiver.ts';
import type { ForwardStore } from './owners.ts';

/** The path at which a gateway confirms its identity to others. */
export const GATEWAY_PATH = '/gateway';

const CHECK_TIMEOUT_MS = 3000;

/** Hosts that mean all addresses of the machine. */
const WILDCARDS = new Set(['0.0.0.0', '[::]']);

/** The address of a gateway that listens at, or advertises, this URL. */
export function gatewayOrigin(text: string): string {
  const url = new URL(text);
  if (WILDCARDS.has(url.hostname)) url.hostname = hostname();
  return url.origin;
}

/** Whether only gateways on this machine can use the first address, and the second one is of another machine. */
export function isOutOfReach(address: string, other: string): boolean {
  const host = new URL(other).hostname;
  return isLoopback(new URL(address).hostname) && !isLoopback(host) && !ownHosts().has(host);
}

function ownHosts(): ReadonlySet<string> {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set([
    hostname(),
    ...addresses.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address)),
  ]);
}

interface Checked {
  store: ForwardStore;
  client: GatewayClient;
  clock: Clock;
}

/** Who answers at the address: this gateway, another one, or why that is unknown. */
export type Answering = { kind: 'this' } | { kind: 'other' } | { kind: 'unknown'; why: string };

export async function whoAnswersAt(address: string, { store, client, clock }: Checked): Promise<Answering> {
  const headers = { [FORWARDED]: gatewayHeader(store, store.gatewayId, clock.now()) };
  let answering: Answering = { kind: 'unknown', why: `no response within ${CHECK_TIMEOUT_MS} ms` };
  const onAnswer = ({ status, headers: answered }: GatewayResponse): undefined => {
    if (status === 204) answering = { kind: 'this' };
    else if (status === 421 && answered[REFUSED_BY] !== undefined) answering = { kind: 'other' };
    else answering = { kind: 'unknown', why: `the server there is not a gateway on this store (status ${status})` };
  };
  const asking = client.send({ address, method: 'GET', path: GATEWAY_PATH, headers }, { onAnswer });
  const outcome = await within(CHECK_TIMEOUT_MS, asking.outcome, clock);
  if (outcome === undefined) asking.abort();
  if (outcome === undefined || outcome.kind === 'answered') return answering;
  return { kind: 'unknown', why: outcome.error.message };
}

/** The header of a request that is meant for a gateway itself, and not for a session. */
export function gatewayHeader(
  { gatewayId: sender, key }: ForwardStore,
  recipient: string,
  now: number,
  { method, principal } = { method: 'GET', principal: '' },
): string {
  const fields = { principal, sender, recipient, key: '', connection: 0 };
  return forwardedHeader(key, { method, path: GATEWAY_PATH }, fields, now);
}
