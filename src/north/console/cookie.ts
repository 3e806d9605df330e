/**
 * A signed-in person has a cookie with their identity, its expiry and a signature, and a page key. Browsers send cookies to
 * every port of a host, so to any server on this machine whose link the person opens. The cookie alone is therefore worthless: the
 * page keeps the page key in its own storage, which no other port can read, and sends it with each request.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Scope, TokenFacts } from '../../core/ports/identity.ts';
import { isObject } from '../../lib/values.ts';

/** How long a person stays signed in. */
export const COOKIE_MS = 12 * 3_600_000;

/** How long a person may stay on a gateway page to which the console sent the browser. */
const PASS_MS = 10 * 60_000;

/** Browsers accept a cookie with this prefix only over https and for exactly this host, so no other site can replace it. */
export const HOST_PREFIX = '__Host-';

export interface SignedIn {
  principal: string;
  /** The person used the launch key, and so is at the gateway's machine. */
  launched: boolean;
  /** Identifies the token or the issuer that the person signed in with. */
  mark?: string | undefined;
  /** The authorization server that identified the person, and their scope. */
  login?: { issuer: string; scope: Scope; facts?: TokenFacts | undefined } | undefined;
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
    return this.#header(`${content}.${this.#signatureOf(content).toString('base64url')}`, seconds, secure);
  }

  /** The same for each sign-in of a person: pages of several gateways on one host share a cookie, but not their storage. */
  pageKey({ principal, launched }: Pick<SignedIn, 'principal' | 'launched'>): string {
    return this.#signatureOf(`page ${JSON.stringify([principal, launched])}`).toString('base64url');
  }

  /** The values of `Set-Cookie` headers. */
  clear(): string[] {
    return [this.#header('', 0, false), this.#header('', 0, true)];
  }

  /** The sender of the request; `undefined` without a valid, unexpired cookie. */
  read({ headers }: Pick<IncomingMessage, 'headers'>, now: number): SignedIn | undefined {
    const { cookie = '' } = headers;
    const value = cookieIn(cookie, `${HOST_PREFIX}${this.#name}`) ?? cookieIn(cookie, this.#name) ?? '';
    const [content, signature, ...rest] = value.split('.');
    if (content === undefined || signature === undefined || rest.length > 0) return undefined;
    const given = Buffer.from(signature, 'base64url');
    const expected = this.#signatureOf(content);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const signedIn = parse(content);
    return signedIn !== undefined && signedIn.expires > now ? signedIn : undefined;
  }

  /** Distinguishes tokens without revealing them. */
  markOf(tokenDigest: Buffer): string {
    return this.#signatureOf(`token ${tokenDigest.toString('base64url')}`)
      .toString('base64url')
      .slice(0, 16);
  }

  isPageKey(given: string, signedIn: SignedIn): boolean {
    return isSame(given, this.pageKey(signedIn));
  }

  /** Admits a browser from the console page, which has the page key, to another gateway page, to which it cannot send headers. */
  pass({ principal, launched }: Pick<SignedIn, 'principal' | 'launched'>, path: string, now: number): string {
    return this.#pass(principal, launched, path, now + PASS_MS);
  }

  isPass(given: string, { principal, launched }: SignedIn, path: string, now: number): boolean {
    const expires = Number.parseInt(given, 36);
    const expected = this.#pass(principal, launched, path, expires);
    return expires > now && isSame(given, expected);
  }

  #pass(principal: string, launched: boolean, path: string, expires: number): string {
    const signature = this.#signatureOf(`pass ${JSON.stringify([principal, launched, path, expires])}`);
    return `${expires.toString(36)}.${signature.toString('base64url')}`;
  }

  #header(value: string, seconds: number, secure: boolean): string {
    const name = secure ? `${HOST_PREFIX}${this.#name}` : this.#name;
    const header = `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`;
    return secure ? `${header}; Secure` : header;
  }

  #signatureOf(content: string): Buffer {
    return createHmac('sha256', this.#key).update(content).digest();
  }
}

function isSame(one: string, other: string): boolean {
  const [given, expected] = [Buffer.from(one), Buffer.from(other)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export function cookieIn(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The signature is valid, but another version of the program may have written it. */
function parse(content: string): SignedIn | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(content, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { principal, launched, mark, login, expires } = value;
  const isWhole = typeof principal === 'string' && typeof launched === 'boolean' && typeof expires === 'number';
  if (!isWhole) return undefined;
  return {
    principal,
    launched,
    expires,
    ...(typeof mark === 'string' && { mark }),
    ...(isObject(login) && { login: login as NonNullable<SignedIn['login']> }),
  };
}
