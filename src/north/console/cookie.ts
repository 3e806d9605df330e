/**
 * What a person who has signed in has: a cookie with who it is, until when, and a signature; and a page key. Browsers send cookies to
 * every port of a host, so to any server on this machine whose link the person opens. The cookie alone is therefore worth nothing: the
 * page keeps the page key in its own storage, which no other port can read, and sends it with each request.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isObject } from '../../lib/values.ts';

/** How long a person stays signed in. */
export const COOKIE_MS = 12 * 3_600_000;

export interface SignedIn {
  principal: string;
  /** The person was given the key of a start of the gateway, and so is at its machine. */
  launched: boolean;
  /** Of the token that the person signed in with. */
  mark?: string | undefined;
  expires: number;
}

/** Signs and reads cookies with a key that all gateways on one store share. */
export class Cookies {
  readonly #key: Buffer;
  readonly #name: string;

  constructor(key: Buffer) {
    this.#key = key;
    // Browsers send a cookie to every port of a host: the gateways on one machine must not overwrite each other's.
    this.#name = `meanwhile_console_${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
  }

  /** The value of a `Set-Cookie` header. */
  set(signedIn: SignedIn, now: number, { secure = false } = {}): string {
    const content = Buffer.from(JSON.stringify(signedIn)).toString('base64url');
    const seconds = Math.max(0, Math.floor((signedIn.expires - now) / 1000));
    const header = this.#header(`${content}.${this.#signatureOf(content).toString('base64url')}`, seconds);
    return secure ? `${header}; Secure` : header;
  }

  /** The same for each sign-in of a person: the pages of several gateways on one host have one cookie, but a storage each. */
  pageKey({ principal, launched }: Pick<SignedIn, 'principal' | 'launched'>): string {
    return this.#signatureOf(`page ${JSON.stringify([principal, launched])}`).toString('base64url');
  }

  clear(): string {
    return this.#header('', 0);
  }

  /** Who sent the request; nothing without a cookie, or if it has expired or another key has signed it. */
  read({ headers }: Pick<IncomingMessage, 'headers'>, now: number): SignedIn | undefined {
    const [content, signature, ...rest] = (valueOf(headers.cookie ?? '', this.#name) ?? '').split('.');
    if (content === undefined || signature === undefined || rest.length > 0) return undefined;
    const given = Buffer.from(signature, 'base64url');
    const expected = this.#signatureOf(content);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const signedIn = parse(content);
    return signedIn !== undefined && signedIn.expires > now ? signedIn : undefined;
  }

  /** Tells one token from another without saying anything about either. */
  markOf(tokenDigest: Buffer): string {
    return this.#signatureOf(`token ${tokenDigest.toString('base64url')}`)
      .toString('base64url')
      .slice(0, 16);
  }

  isPageKey(given: string, signedIn: SignedIn): boolean {
    const [one, other] = [Buffer.from(given), Buffer.from(this.pageKey(signedIn))];
    return one.length === other.length && timingSafeEqual(one, other);
  }

  #header(value: string, seconds: number): string {
    return `${this.#name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`;
  }

  #signatureOf(content: string): Buffer {
    return createHmac('sha256', this.#key).update(content).digest();
  }
}

function valueOf(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

/** Signed, but perhaps by another version of the program. */
function parse(content: string): SignedIn | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(content, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { principal, launched, mark, expires } = value;
  const isWhole = typeof principal === 'string' && typeof launched === 'boolean' && typeof expires === 'number';
  return isWhole ? { principal, launched, expires, ...(typeof mark === 'string' && { mark }) } : undefined;
}
