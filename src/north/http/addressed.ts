import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../core/ports/identity.ts';
import type { View } from '../../core/session/kind.ts';

/** The connection of a client, used to tell clients apart. */
export interface ClientConnection {
  readonly destroyed: boolean;
}

/** The header of a request that another gateway has forwarded. */
export const FORWARDED = 'meanwhile-forwarded';

/** The header with the number of a forwarded request, and the fate of earlier responses. */
export const DELIVERY = 'meanwhile-delivery';

/** A request that another gateway has received and forwarded. */
export interface ForwardedRequest {
  /** Represents the connection of the client to that gateway. */
  connection: ClientConnection;
}

/** The sender and the recipient of a request. */
export interface Addressed extends Identity {
  view: View;
  /** The name that a client without a protocol session gives to its state. */
  as?: string | undefined;
  forwarded?: ForwardedRequest | undefined;
}

const UNNAMED = { as: undefined };

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The state that a client names: `/mcp?as=NAME`, or the header `Meanwhile-As: NAME`. */
export function stateNamed({ url = '', headers }: IncomingMessage): { as: string | undefined } | { mistake: string } {
  const inHeader = headers['meanwhile-as']?.toString();
  if (inHeader === undefined && !url.includes('?')) return UNNAMED;
  const inUrl = url.includes('?') ? new URLSearchParams(url.slice(url.indexOf('?'))).getAll('as') : [];
  const [as, ...others] = new Set([...inUrl, ...(inHeader === undefined ? [] : [inHeader])]);
  if (others.length > 0) return { mistake: 'the request names two states; use either ?as= or the header Meanwhile-As' };
  if (as !== undefined && !NAME.test(as)) {
    return {
      mistake: 'the name of a state (?as= or Meanwhile-As) must be 1 to 64 of the characters A-Z a-z 0-9 _ . -',
    };
  }
  return { as };
}
