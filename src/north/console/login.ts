/**
 * Sign-in with an authorization server, from the button on the page to the cookie. Between the steps the browser carries
 * everything in one sealed cookie: the attempt on the way out, and the identity on the way back. So any gateway on the store
 * can perform the next step, and a forged link is useless.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import type { LoginChoice, Logins, PendingLogin, Scope, TokenFacts } from '../../core/ports/identity.ts';
import type { Store } from '../../core/ports/store.ts';
import type { Clock } from '../../lib/clock.ts';
import { seal, unseal } from '../../lib/seal.ts';
import { isReturnPath } from '../../lib/return-path.ts';
import { cookieIn, HOST_PREFIX } from './cookie.ts';

/** How long a person may take at the page of the issuer. */
const PENDING_MS = 600_000;
/** How long the page may take to redeem the code of the redirect. */
const RETURNED_MS = 60_000;
/** A longer ID token does not fit into a cookie; without it, the issuer asks whether the person really wants to sign out. */
const MOST_ID_TOKEN_CHARS = 2000;
/** The same for token facts. If some were dropped, a rule that denies something would not match. */
const MOST_FACTS_CHARS = 1500;

export const LOGIN_CALLBACK_PATH = '/console/callback';
const SIGN_OUT_PATH = '/console/sign-out';

/** The name of the key in the store, and what is sealed with it. */
const SEALING_KEY = 'console sign-in';
const [PENDING, RETURNED, ID_TOKEN] = ['pending', 'returned', 'id token'];

interface Pending extends PendingLogin {
  /** The page that the person wanted to open. */
  to: string;
  expires: number;
}

/** A completed sign-in. The page has the code and the browser the cookie; neither is enough alone. */
interface Returned extends SignedInPerson {
  code: string;
  idToken?: string;
  expires: number;
}

/** A person identified by an issuer. */
export interface SignedInPerson {
  principal: string;
  issuer: string;
  scope: Scope;
  /** The facts of the person's tokens. */
  facts?: TokenFacts | undefined;
  sessionMs: number;
}

export interface LoginParts {
  logins: Logins;
  store: Pick<Store, 'secret' | 'addToCounter'>;
  clock: Clock;
  /** The URL of the gateway, without a path. */
  base: () => string;
}

/** The response to a browser that returns from the issuer. */
export interface LoginReply {
  location: string;
  cookies: string[];
}

/** The person has signed in, but may not use the gateway. */
export class NoScope extends Error {
  readonly principal: string;
  readonly title: string;
  /** Where they can sign out, to sign in with another account. */
  readonly endUrl: string | undefined;

  constructor(principal: string, title: string, endUrl: string | undefined) {
    super(`${principal} has no scope for the gateway`);
    this.principal = principal;
    this.title = title;
    this.endUrl = endUrl;
  }
}

export class ConsoleLogin {
  readonly #parts: LoginParts;

  constructor(parts: LoginParts) {
    this.#parts = parts;
  }

  get choices(): readonly LoginChoice[] {
    return this.#parts.logins.choices;
  }

  /** Changes with the configuration of the issuer; `undefined` once it is no longer configured. */
  digestOf(issuer: string): Buffer | undefined {
    const choice = this.choices.find((each) => each.issuer === issuer);
    return (
      choice &&
      createHash('sha256')
        .update(JSON.stringify([issuer, choice.clientId, choice.asks]))
        .digest()
    );
  }

  /** The URL for the page to open. The issuer redirects to the public address, so the sign-in must start there too. */
  async begin(req: IncomingMessage, issuer: string, wanted: string): Promise<{ url: string; cookies: string[] }> {
    const { logins, clock, base } = this.#parts;
    const to = isReturnPath(wanted) ? wanted : '/console';
    const at = new URL(base()).origin;
    const { origin = at } = req.headers;
    if (origin.toLowerCase() !== at) return { url: `${at}${fragmentFor(to)}`, cookies: [] };
    const { url, pending } = await logins.begin(issuer, `${base()}${LOGIN_CALLBACK_PATH}`);
    const attempt: Pending = { ...pending, to, expires: clock.now() + PENDING_MS };
    const sealed = await this.#seal(attempt, PENDING);
    // The redirect comes from another site: a stricter cookie would not be sent.
    return { url, cookies: [await this.#cookie(sealed, PENDING_MS, 'Lax')] };
  }

  /** The browser returns from the issuer. Throws a `GatewayError` or `NoScope`. */
  async arrive(req: IncomingMessage, parameters: URLSearchParams): Promise<LoginReply> {
    const { logins, clock, base } = this.#parts;
    const pending = await this.#carried<Pending>(req, PENDING);
    if (pending === undefined) {
      throw refused('it took too long, was already completed, or was started in another browser');
    }
    // Even if the browser kept the cookie: a link from its history must not sign in again.
    if (parameters.get('state') === pending.state && !(await this.#isFirst(pending.state, PENDING_MS))) {
      throw refused('it was already completed');
    }
    const { principal, facts, scope, idToken, sessionMs } = await logins.complete(pending, parameters);
    const { issuer, to } = pending;
    if (scope === undefined) {
      const title = this.choices.find((each) => each.issuer === issuer)?.title ?? issuer;
      throw new NoScope(principal, title, await logins.endUrl(issuer, `${base()}/console`, idToken));
    }
    const code = randomBytes(32).toString('base64url');
    const expires = clock.now() + RETURNED_MS;
    const chars = facts === undefined ? 0 : JSON.stringify(facts).length;
    if (chars > MOST_FACTS_CHARS) throw tooMuch(chars);
    const hint = idToken.length + chars <= MOST_ID_TOKEN_CHARS ? { idToken } : {};
    const returned: Returned = { principal, issuer, scope, facts, sessionMs, code, expires, ...hint };
    const cookie = await this.#cookie(await this.#seal(returned, RETURNED), RETURNED_MS, 'Strict');
    return { location: fragmentFor(to, code), cookies: [cookie] };
  }

  /** The identity for this code, and the resulting cookies. */
  async redeem(
    req: IncomingMessage,
    code: string,
  ): Promise<{ identity: SignedInPerson; cookies: string[] } | undefined> {
    const returned = await this.#carried<Returned>(req, RETURNED);
    if (returned?.code !== code || !(await this.#isFirst(code, RETURNED_MS))) return undefined;
    const { principal, issuer, scope, facts, sessionMs, idToken } = returned;
    const cookies = [await this.#cookie('', 0, 'Strict')];
    if (idToken !== undefined) {
      const sealed = await this.#seal({ issuer, idToken, expires: this.#parts.clock.now() + sessionMs }, ID_TOKEN);
      cookies.push(await this.#idCookie(sealed, sessionMs));
    }
    return { identity: { principal, issuer, scope, facts, sessionMs }, cookies };
  }

  /** Where a person who signs out of the console can also sign out at the issuer. */
  async end(req: IncomingMessage): Promise<{ title: string; url: string } | undefined> {
    const { logins, base } = this.#parts;
    const names = await this.#names();
    const value = cookieIn(req.headers.cookie ?? '', names.idToken) ?? '';
    const found = (await this.#unseal(value, ID_TOKEN)) as { issuer: string; idToken: string } | undefined;
    const choice = this.choices.find(({ issuer }) => issuer === found?.issuer);
    if (found === undefined || choice === undefined) return undefined;
    const url = await logins.endUrl(found.issuer, `${base()}/console`, found.idToken);
    return url === undefined ? undefined : { title: choice.title, url };
  }

  /** The `Set-Cookie` headers that sign a person out. */
  async forget(): Promise<string[]> {
    return [await this.#cookie('', 0, 'Strict'), await this.#idCookie('', 0)];
  }

  /** Whether this is the first use, across all gateways on the store. */
  async #isFirst(handle: string, ms: number): Promise<boolean> {
    const { store, clock } = this.#parts;
    const digest = createHash('sha256').update(handle).digest('base64url');
    return (await store.addToCounter(`console sign-in ${digest}`, 1, clock.now() + ms)) === 1;
  }

  get #isSecure(): boolean {
    return this.#parts.base().startsWith('https:');
  }

  /** Browsers send a cookie to every port of a host: the gateways on one machine must not overwrite each other's. */
  async #names(): Promise<{ attempt: string; idToken: string }> {
    const digest = createHash('sha256')
      .update(await this.#key())
      .digest('hex')
      .slice(0, 8);
    const isSecure = this.#isSecure;
    return {
      attempt: `${isSecure ? HOST_PREFIX : ''}meanwhile_sign_in_${digest}`,
      // It is for one path only, which the other prefix does not allow.
      idToken: `${isSecure ? '__Secure-' : ''}meanwhile_id_${digest}`,
    };
  }

  async #cookie(value: string, ms: number, sameSite: 'Lax' | 'Strict'): Promise<string> {
    const { attempt } = await this.#names();
    return this.#header(attempt, value, ms, sameSite, this.#isSecure ? '/' : '/console');
  }

  async #idCookie(value: string, ms: number): Promise<string> {
    const { idToken } = await this.#names();
    return this.#header(idToken, value, ms, 'Strict', SIGN_OUT_PATH);
  }

  #header(name: string, value: string, ms: number, sameSite: string, path: string): string {
    const header = `${name}=${value}; HttpOnly; SameSite=${sameSite}; Path=${path}; Max-Age=${Math.floor(ms / 1000)}`;
    return this.#isSecure ? `${header}; Secure` : header;
  }

  /** The sealed content that the browser carries, if it is for this step and still valid. */
  async #carried<T extends { expires: number }>(req: IncomingMessage, step: string): Promise<T | undefined> {
    const { attempt } = await this.#names();
    const found = (await this.#unseal(cookieIn(req.headers.cookie ?? '', attempt) ?? '', step)) as T | undefined;
    return found !== undefined && found.expires > this.#parts.clock.now() ? found : undefined;
  }

  async #key(): Promise<Buffer> {
    return this.#parts.store.secret(SEALING_KEY);
  }

  async #seal(value: object, step: string): Promise<string> {
    return seal(await this.#key(), value, step);
  }

  async #unseal(value: string, step: string): Promise<unknown> {
    return unseal(await this.#key(), value, step);
  }
}

/** The fragment for the console, which signs in with the key and opens the requested page. */
function fragmentFor(to: string, key?: string): string {
  const wanted = to.startsWith('/console') ? to.slice('/console#'.length) : to;
  if (key !== undefined) return `/console#key=${key}${wanted === '' ? '' : `&to=${wanted}`}`;
  return to.startsWith('/console') ? to : `/console#to=${to}`;
}

function tooMuch(chars: number): GatewayError {
  return new GatewayError(
    'TOOL_ERR_LIMIT',
    `Your account has more scopes and claims for "access" and "quotas" than a cookie can hold (${chars} characters, at most ${MOST_FACTS_CHARS}). Ask an operator to use narrower patterns for claims.`,
  );
}

function refused(why: string): GatewayError {
  return new GatewayError('TOOL_ERR_UNAUTHORIZED', `The sign-in is not valid: ${why}.`);
}
