/** Authenticates users of the console and its API: checks tokens, the launch key, cookies and the origin of requests. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuditRecorder } from '../../core/audit/recorder.ts';
import type { SignInLine } from '../../core/audit/line.ts';
import type { Scope } from '../../core/ports/identity.ts';
import type { Store } from '../../core/ports/store.ts';
import type { Clock } from '../../lib/clock.ts';
import { LOCAL_PRINCIPAL } from '../../lib/local-principal.ts';
import type { Guard } from '../http/guard.ts';
import { AuthError, type ProtectedResource } from '../http/protected-resource.ts';
import { ApiError } from './api-error.ts';
import { COOKIE_MS, Cookies, type SignedIn } from './cookie.ts';
import type { ConsoleLogin } from './login.ts';
import type { Person } from './person.ts';
import { SignInLimit } from './sign-in-limit.ts';

/** The name of the key in the store. */
const COOKIE_KEY = 'console cookies';

/** Carries the page key, without which a cookie is invalid. A page of another origin neither knows it nor can send it. */
const PAGE_KEY_HEADER = 'meanwhile-console';

/** The parameter with which the page sends a browser to another page of the gateway. */
const PASS = 'pass';

const FIX = 'open the link that `meanwhile console` prints, or sign in with a token from auth.tokens';
const FIX_WITH_ISSUER = 'open the console and sign in';

export interface AccessParts {
  guard: Guard;
  store: Pick<Store, 'secret'>;
  clock: Clock;
  /** The key of the launch link. */
  key: string;
  operators: readonly string[];
  audit: AuditRecorder | undefined;
  /** Absent without an authorization server for the console. */
  login?: ConsoleLogin | undefined;
}

type Known = Pick<SignedIn, 'principal' | 'launched' | 'login'>;

/** A person who has just signed in. */
interface Entered extends Known {
  method: NonNullable<SignInLine['method']>;
  /** How long they stay signed in. */
  ms: number;
  /** More `Set-Cookie` headers. */
  cookies: string[];
}

/** A request that may use the API. */
export interface Admitted {
  person: Person;
  by: 'cookie' | 'bearer';
  /** When the cookie expires. */
  expires?: number;
}

export class ConsoleAccess {
  readonly #parts: AccessParts;
  readonly #limit: SignInLimit;
  #cookies: Promise<Cookies> | undefined;

  constructor(parts: AccessParts) {
    this.#parts = parts;
    this.#limit = new SignInLimit(parts.clock);
  }

  /** Throws unless the request was sent by a page of this host, or not by a page. */
  checkSource(req: IncomingMessage): void {
    const { guard } = this.#parts;
    const { host = '', origin } = req.headers;
    guard.checkHost(req);
    if (origin === undefined || hostOf(origin) === host.toLowerCase()) return;
    throw new ApiError(403, 'foreign_origin', `pages of ${origin} may not use the console; open it at its own address`);
  }

  /** The sender of the request; throws if it may not use the API. Writing requires more rights than reading. */
  async admit(req: IncomingMessage, needed: Scope = isRead(req) ? 'use' : 'answer'): Promise<Admitted> {
    const { authorization } = req.headers;
    if (authorization !== undefined) return { person: await this.#bearer(req, authorization), by: 'bearer' };
    const cookies = await this.#cookieKey();
    const signedIn = cookies.read(req, this.#parts.clock.now());
    if (signedIn === undefined || !this.#isCurrent(signedIn, cookies)) {
      throw this.#notSignedIn();
    }
    if (!cookies.isPageKey(req.headers[PAGE_KEY_HEADER]?.toString() ?? '', signedIn)) {
      const message = `a cookie needs the pageKey of the sign-in in the header "Meanwhile-Console"; ${this.#fix}`;
      throw new ApiError(401, 'not_signed_in', message);
    }
    const person = this.#personOf(signedIn);
    if (needed !== 'use' && person.readOnly === true) throw this.#lacksScope(needed);
    return { person, by: 'cookie', expires: signedIn.expires };
  }

  /** The `Set-Cookie` headers and the page key for a valid launch key, token or return from an issuer. */
  async signIn(
    req: IncomingMessage,
    key: string,
    { fromLink = false } = {},
  ): Promise<{ cookies: string[]; pageKey: string }> {
    const { clock, audit, guard } = this.#parts;
    const { remoteAddress: address } = req.socket;
    // Otherwise a person who follows a link would act as its sender, and sign in to servers for them.
    if (fromLink && guard.principalWith(key) !== undefined) {
      audit?.signInRefused('console', address);
      throw new ApiError(401, 'token_in_link', 'a link does not sign you in with a token; enter your own token here');
    }
    const entered = await this.#entered(req, key);
    if (entered === undefined) {
      audit?.signInRefused('console', address);
      this.#limit.failed(req);
      throw new ApiError(401, 'wrong_key', `unknown key; the key changes at each start of the gateway; ${this.#fix}`);
    }
    const now = clock.now();
    const cookies = await this.#cookieKey();
    const { principal, launched, login, method, ms } = entered;
    audit?.signedIn({ place: 'console', principal, method, ...(address !== undefined && { address }) });
    const known = { principal, launched, ...(login && { login }) };
    const signedIn = { ...known, mark: this.#markOf(known, cookies), expires: now + ms };
    // A proxy in front of the gateway has the certificate.
    const secure = /^https:/i.test(req.headers.origin ?? '');
    return { cookies: [cookies.set(signedIn, now, { secure }), ...entered.cookies], pageKey: cookies.pageKey(known) };
  }

  /** The `Set-Cookie` headers that sign a person out. */
  async signOut(): Promise<string[]> {
    return [...(await this.#cookieKey()).clear(), ...((await this.#parts.login?.forget()) ?? [])];
  }

  /** The address of another gateway page with a pass for it, for a person admitted with a cookie. */
  async addressWithPass(req: IncomingMessage, path: string): Promise<string> {
    await this.admit(req, 'use');
    const cookies = await this.#cookieKey();
    const now = this.#parts.clock.now();
    const signedIn = cookies.read(req, now);
    // A browser does not carry an access token to another page.
    if (signedIn === undefined) throw this.#notSignedIn();
    return `${path}?${new URLSearchParams({ [PASS]: cookies.pass(signedIn, path, now) }).toString()}`;
  }

  /** The person who opens a gateway page in a browser that the console sent there. */
  async visitor(req: IncomingMessage, path: string): Promise<Person | undefined> {
    const cookies = await this.#cookieKey();
    const now = this.#parts.clock.now();
    const signedIn = cookies.read(req, now);
    if (signedIn === undefined || !this.#isCurrent(signedIn, cookies)) return undefined;
    const { url = '' } = req;
    const pass = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get(PASS) ?? '';
    return cookies.isPass(pass, signedIn, path, now) ? this.#personOf(signedIn) : undefined;
  }

  async #bearer(req: IncomingMessage, authorization: string): Promise<Person> {
    const token = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? '';
    const known = this.#known(token);
    if (known !== undefined) return this.#personOf(known);
    const { resource } = this.#parts.guard;
    if (resource !== undefined) return this.#personWith(req, token, resource);
    this.#parts.audit?.signInRefused('api', req.socket.remoteAddress);
    this.#limit.failed(req);
    const headers = { 'www-authenticate': 'Bearer' };
    throw new ApiError(401, 'wrong_token', 'send a token from auth.tokens, or the key of `meanwhile console`', {
      headers,
    });
  }

  /** The owner of an access token. Writing requires more rights than reading. */
  async #personWith(req: IncomingMessage, token: string, resource: ProtectedResource): Promise<Person> {
    try {
      const { principal, facts, scope } = await resource.bearerOf(token, '/mcp', isRead(req) ? 'use' : 'answer');
      return { principal, facts, operator: scope === 'operate' || this.#parts.operators.includes(principal) };
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      const isUnknown = error.code === 'TOOL_ERR_UNAUTHORIZED';
      if (isUnknown) {
        this.#parts.audit?.signInRefused('api', req.socket.remoteAddress);
        this.#limit.failed(req);
      }
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

  async #entered(req: IncomingMessage, key: string): Promise<Entered | undefined> {
    const known = this.#known(key);
    if (known !== undefined) {
      return { ...known, method: known.launched ? 'launch key' : 'token', ms: COOKIE_MS, cookies: [] };
    }
    const redeemed = await this.#parts.login?.redeem(req, key);
    if (redeemed === undefined) return undefined;
    const { identity, cookies } = redeemed;
    const { principal, issuer, scope, facts, sessionMs } = identity;
    return { principal, launched: false, login: { issuer, scope, facts }, method: 'login', ms: sessionMs, cookies };
  }

  #personOf({ principal, launched, login }: Known): Person {
    const operator = launched || login?.scope === 'operate' || this.#parts.operators.includes(principal);
    return { principal, facts: login?.facts, operator, ...(login?.scope === 'use' && { readOnly: true }) };
  }

  #isCurrent(signedIn: SignedIn, cookies: Cookies): boolean {
    const { launched, mark } = signedIn;
    return launched || (mark !== undefined && mark === this.#markOf(signedIn, cookies));
  }

  /** Changes when the token or the issuer is replaced; `undefined` once it is removed from the configuration. */
  #markOf({ principal, launched, login }: Known, cookies: Cookies): string | undefined {
    if (launched) return undefined;
    const { guard, login: issuers } = this.#parts;
    const digest = login === undefined ? guard.tokenDigest(principal) : issuers?.digestOf(login.issuer);
    return digest && cookies.markOf(digest);
  }

  get #fix(): string {
    return this.#parts.login === undefined ? FIX : FIX_WITH_ISSUER;
  }

  #notSignedIn(): ApiError {
    return new ApiError(401, 'not_signed_in', `not signed in; ${this.#fix}`);
  }

  #lacksScope(needed: Scope): ApiError {
    const { resource } = this.#parts.guard;
    const name = resource?.scopes ? resource.scopes[needed] : needed;
    const message = `your account may not do this: it lacks the scope ${name}; sign in again once it has the scope`;
    return new ApiError(403, 'not_allowed', message);
  }

  /** Read on first use; retried if the store could not be read. */
  async #cookieKey(): Promise<Cookies> {
    this.#cookies ??= this.#parts.store.secret(COOKIE_KEY).then((key) => new Cookies(key));
    try {
      return await this.#cookies;
    } catch {
      this.#cookies = undefined;
      throw new ApiError(503, 'store_unavailable', "the store cannot be read; see the gateway's log");
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
