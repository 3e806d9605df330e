/**
 * The header with which a gateway forwards a request of its client to the gateway that owns the session. It is signed with the
 * key that the gateways of one store share, so it stands for the token that the first gateway has checked. Like a token, it
 * protects neither the body nor the response on the way: the network between gateways must be private, or they use https.
 * Signing the body would prevent the reuse of headers, and would still not protect the response.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Identity, TokenFacts } from '../../core/ports/identity.ts';
import { FORWARDED } from '../http/addressed.ts';

export interface Forwarded extends Identity {
  /** The gateway that received the request from its client. */
  sender: string;
  /** The presumed owner of the session. */
  recipient: string;
  /** The claim of the recipient: a session, or the states of the principal. */
  key: string;
  /** Identifies the connection of the sender's client. */
  connection: number;
}

/**
 * Each clock differs by less than 30 seconds from that of the database, so two of them by less than a minute. For another minute the
 * same header is reused; the rest is for the transmission. An intercepted header is useless after that.
 */
const MAX_AGE_MS = 150_000;
export const USE_MS = 60_000;

/** Prevents other texts signed with the same key from passing as such a header. */
const PURPOSE = 'meanwhile forwarded request 1';

/** The request that the header belongs to. */
export interface SignedRequest {
  method: string;
  /** With the query. */
  path: string;
}

export function forwardedHeader(key: Buffer, request: SignedRequest, fields: Forwarded, now: number): string {
  const { principal, facts, sender, recipient, key: owned, connection } = fields;
  const names = [principal, sender, recipient, owned].map(encodeURIComponent).join();
  const about = facts === undefined ? '' : `,${Buffer.from(JSON.stringify(facts)).toString('base64url')}`;
  const signed = `${names},${connection},${now}${about}`;
  return `${signed},${signatureOf(key, request, signed).toString('base64url')}`;
}

/** The content of the header, and when it was signed; throws if it is not valid. */
export function readForwarded(key: Buffer, request: SignedRequest, header: string): Forwarded & { at: number } {
  const end = header.lastIndexOf(',');
  const signed = header.slice(0, Math.max(0, end));
  const presented = Buffer.from(header.slice(end + 1), 'base64url');
  const expected = signatureOf(key, request, signed);
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) {
    throw new Error(`the header ${FORWARDED} has no valid signature of a gateway on this store`);
  }
  const [principal = '', sender = '', recipient = '', owned = '', connection, at, facts] = signed.split(',');
  return {
    principal: decodeURIComponent(principal),
    ...(facts !== undefined && { facts: JSON.parse(Buffer.from(facts, 'base64url').toString()) as TokenFacts }),
    sender: decodeURIComponent(sender),
    recipient: decodeURIComponent(recipient),
    key: decodeURIComponent(owned),
    connection: Number(connection),
    at: Number(at),
  };
}

/** Throws if a header with this signing time is too old. */
export function assertFresh({ at }: { at: number }, now: number): void {
  if (Math.abs(now - at) <= MAX_AGE_MS) return;
  throw new Error(`the header ${FORWARDED} is too old; the clocks of all gateways must agree`);
}

function signatureOf(key: Buffer, { method, path }: SignedRequest, signed: string): Buffer {
  return createHmac('sha256', key).update(`${PURPOSE}\n${method} ${path}\n${signed}`).digest();
}
