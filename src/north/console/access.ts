/** Who uses the console and its API: checks tokens, the key of the launch link, cookies and where a request comes from. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Store } from '../../core/ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { LOCAL_PRINCIPAL, type Guard } from '../http/guard.ts';
import { AuthError, type ProtectedResource } from '../http/protected-resource.ts';
import { ApiError } from './api-error.ts';
import { COOKIE_MS, Cookies, type SignedIn } from './cookie.ts';
import type { Person } from './person.ts';
import { SignInLimit } from './sign-in-limit.ts';

/** The name of the key in the store. */
const COOKIE_KEY = 'console cookies';

/** Has the page key, which makes a cookie valid. A page of another origin neither knows it nor can send it. */
const PAGE_KEY_HEADER = 'meanwhile-console';

const FIX = 'open the link that `meanwhile console` prints, or sign in with a token from auth.tokens';

export interface AccessParts {
  guard: Guard;
  store: Pick<Store, 'secret'>;
  clock: Clock;
  /** The key of the launch link. */
  key: string;
  operators: readonly string[];
}

type Known = Pick<SignedIn, 'principal' | 'launched'>;

/** A request of somebody who may use the API. */
export interface Admitted {
  person: Person;
  by: 'cookie' | 'bearer';
  /** When the cookie expires. */
  expires?: number;
}

export class Access {
  readonly #parts: AccessParts;
  readonly #limit: SignInLimit;
  #cookies: Promise<Cookies> | undefined;

  constructor(parts: AccessParts) {
    this.#parts = parts;
    this.#limit = new SignInLimit(parts.clock);
  }

  /** Throws unless the request was made by a page of this host, or by no page at all. */
  checkSource(req: IncomingMessage): void {
    const { guard } = this.#parts;
    const { host = '', origin } = req.headers;
    guard.checkHost(req);
    if (origin === undefined || hostOf(origin) === host.toLowerCase()) return;
    throw new ApiError(403, 'foreign_origin', `pages of ${origin} may not use the console; open it at its own address`);
  }

  /** Who makes the request; throws if nobody may. */
  async admit(req: IncomingMessage): Promise<Admitted> {
    const { authorization } = req.headers;
    if (authorization !== undefined) return { person: await this.#bearer(req, authorization), by: 'bearer' };
    const cookies = await this.#cookieKey();
    const signedIn = cookies.read(req, this.#parts.clock.now());
    if (signedIn === undefined || !this.#isCurrent(signedIn, cookies)) {
      throw new ApiError(401, 'not_signed_in', `not signed in; ${FIX}`);
    }
    if (!cookies.isPageKey(req.headers[PAGE_KEY_HEADER]?.toString() ?? '', signedIn)) {
      const message = `a cookie needs the pageKey of the sign-in in the header "Meanwhile-Console"; ${FIX}`;
      throw new ApiError(401, 'not_signed_in', message);
    }
    return { person: this.#personOf(signedIn), by: 'cookie', expires: signedIn.expires };
  }

  /** The `Set-Cookie` header and the page key of somebody who knows the key of the launch link, or a token. */
  async signIn(req: IncomingMessage, key: string): Promise<{ cookie: string; pageKey: string }> {
    const { clock } = this.#parts;
    const known = this.#known(key);
    if (known === undefined) {
      this.#limit.failed(req);
      throw new ApiError(401, 'wrong_key', `unknown key; the key changes at each start of the gateway; ${FIX}`);
    }
    const now = clock.now();
    const cookies = await this.#cookieKey();
    const mark = known.launched ? undefined : this.#markOf(known.principal, cookies);
    const signedIn = { ...known, mark, expires: now + COOKIE_MS };
    // A proxy in front of the gateway has the certificate.
    const secure = /^https:/i.test(req.headers.origin ?? '');
    return { cookie: cookies.set(signedIn, now, { secure }), pageKey: cookies.pageKey(known) };
  }

  async signOut(): Promise<string> {
    return (await this.#cookieKey()).clear();
  }

  async #bearer(req: IncomingMessage, authorization: string): Promise<Person> {
    const token = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? '';
    const known = this.#known(token);
    if (known !== undefined) return this.#personOf(known);
    const { resource } = this.#parts.guard;
    if (resource !== undefined) return this.#personWith(req, token, resource);
    this.#limit.failed(req);
    const headers = { 'www-authenticate': 'Bearer' };
    throw new ApiError(401, 'wrong_token', 'send a token from auth.tokens, or the key of `meanwhile console`', {
      headers,
    });
  }

  /** Who has an access token of an authorization server. To change something takes more than to look. */
  async #personWith(req: IncomingMessage, token: string, resource: ProtectedResource): Promise<Person> {
    try {
      const { principal, scope } = await resource.bearerOf(token, '/mcp', isRead(req) ? 'use' : 'answer');
      return { principal, operator: scope === 'operate' || this.#parts.operators.includes(principal) };
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      const isUnknown = error.code === 'TOOL_ERR_UNAUTHORIZED';
      if (isUnknown) this.#limit.failed(req);
      const headers = { 'www-authenticate': error.challenge };
      const code = isUnknown ? 'wrong_token' : 'not_allowed';
      throw new ApiError(isUnknown ? 401 : 403, code, error.message, { headers });
    }
  }

  #known(key: string): Known | undefined {
    const { guard, key: launchKey } = this.#parts;
    if (isSame(key, launchKey)) return { principal: LOCAL_PRINCIPAL, launched: true };
    const principal = guard.principalWith(key);
    return principal === undefined ? undefined : { principal, launched: false };
  }

  #personOf({ principal, launched }: Known): Person {
    return { principal, operator: launched || this.#parts.operators.includes(principal) };
  }

  #isCurrent({ principal, launched, mark }: SignedIn, cookies: Cookies): boolean {
    return launched || (mark !== undefined && mark === this.#markOf(principal, cookies));
  }

  /** Another one once the token was replaced, and none once it is gone from the configuration. */
  #markOf(principal: string, cookies: Cookies): string | undefined {
    const digest = this.#parts.guard.tokenDigest(principal);
    return digest && cookies.markOf(digest);
  }

  /** Read when it is first needed; asked again if the store could not be read. */
  async #cookieKey(): Promise<Cookies> {
    this.#cookies ??= this.#parts.store.secret(COOKIE_KEY).then((key) => new Cookies(key));
    try {
      return await this.#cookies;
    } catch {
      this.#cookies = undefined;
      throw new ApiError(503, 'store_unavailable', 'the store cannot be read; the log of the gateway says why');
    }
  }
}

export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function hostOf(origin: string): string | undefined {
  return /^https?:/i.test(origin) && URL.canParse(origin) ? new URL(origin).host : undefined;
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
