/** The address at which other gateways reach this one. */

import { hostname } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import { within } from '../../lib/timers.ts';
import { FORWARDED } from '../http/addressed.ts';
import { forwardedHeader } from './forwarded-header.ts';
import type { GatewayClient } from './gateway-client.ts';
import { REFUSED_BY } from './receiver.ts';
import type { ForwardStore } from './owners.ts';

/** Where a gateway answers others that it is the one they mean. */
export const GATEWAY_PATH = '/gateway';

const CHECK_TIMEOUT_MS = 3000;

/** Listens on all addresses of the machine. */
const WILDCARDS = new Set(['0.0.0.0', '[::]']);

/** Where a gateway is reached that listens at this URL, or advertises it. */
export function addressOf(text: string): string {
  const url = new URL(text);
  if (WILDCARDS.has(url.hostname)) url.hostname = hostname();
  return url.origin;
}

interface Checked {
  store: ForwardStore;
  client: GatewayClient;
  clock: Clock;
}

/** Who answers at the address: this gateway, another one, or why that cannot be told. */
export type Answering = { kind: 'this' } | { kind: 'other' } | { kind: 'unknown'; why: string };

export async function whoAnswersAt(address: string, { store, client, clock }: Checked): Promise<Answering> {
  const request = { method: 'GET', path: GATEWAY_PATH };
  const { gatewayId, key } = store;
  const fields = { principal: '', sender: gatewayId, recipient: gatewayId, key: '', connection: 0, bodyBytes: 0 };
  const headers = { [FORWARDED]: forwardedHeader(key, request, fields, clock.now()) };
  const sending = client.send({ ...request, address, headers });
  const outcome = await within(CHECK_TIMEOUT_MS, sending.outcome, clock);
  if (outcome?.kind !== 'answered') {
    sending.abort();
    return { kind: 'unknown', why: outcome?.error.message ?? `no response within ${CHECK_TIMEOUT_MS} ms` };
  }
  const { statusCode, headers: answered } = outcome.response;
  outcome.response.resume();
  sending.confirm();
  if (statusCode === 204) return { kind: 'this' };
  if (statusCode === 421 && answered[REFUSED_BY] !== undefined) return { kind: 'other' };
  return { kind: 'unknown', why: `a server that is no gateway on this store answers there with status ${statusCode}` };
}
