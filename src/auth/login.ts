/**
 * Signs people in with OpenID Connect: the code flow with PKCE. Keeps no state between the two steps. Loaded only if an issuer has
 * `console` in the configuration.
 */

import { createHash, randomBytes } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';
import { mergedFacts } from '../core/access/facts.ts';
import type { Bearer, LoggedIn, Logins, PendingLogin, Scope } from '../core/ports/identity.ts';
import { cleanLine } from '../lib/clean.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { isObject } from '../lib/values.ts';
import { fetchJson, StatusError } from './fetch-json.ts';
import type { Issuer } from './issuer.ts';
import type { IssuerMetadata } from './metadata.ts';
import { greatestOf, greatestScope, readScopes } from './scope.ts';
import type { AuthSettings, LoginSettings } from './settings.ts';
import { checkWith } from './verifier.ts';

/** The limit on an issuer's error description that is shown to the person. */
const SHOWN_CHARS = 300;

export interface LoginsParts {
  issuers: readonly Issuer[];
  scopes: AuthSettings['scopes'];
  /** The scopes and claims that access rules and quotas use, as JSON; absent if they use none. */
  asks?: string | undefined;
  log: Log;
}

export function createLogins({ issuers, scopes, asks, log }: LoginsParts): Logins {
  const all = issuers.flatMap((issuer) => {
    const { console } = issuer.settings;
    return console === undefined ? [] : [new Login(issuer, console, scopes, log)];
  });
  const named = (issuer: string): Login => {
    const found = all.find(({ name }) => name === issuer);
    if (found === undefined) throw refused(`${cleanLine(issuer)} is no longer configured for sign-in`);
    return found;
  };
  return {
    choices: all.map(({ name, title, clientId }) => ({ issuer: name, title, clientId, asks })),
    begin: async (issuer, redirectUri) => named(issuer).begin(redirectUri),
    complete: async (pending, parameters) => named(pending.issuer).complete(pending, parameters),
    endUrl: async (issuer, ...others) => named(issuer).endUrl(...others),
  };
}

class Login {
  readonly name: string;
  readonly title: string;
  readonly #issuer: Issuer;
  readonly #settings: LoginSettings;
  readonly #scopes: AuthSettings['scopes'];
  readonly #log: Log;

  constructor(issuer: Issuer, settings: LoginSettings, scopes: AuthSettings['scopes'], log: Log) {
    this.name = issuer.name;
    this.title = settings.title ?? new URL(issuer.name).hostname;
    this.#issuer = issuer;
    this.#settings = settings;
    this.#scopes = scopes;
    this.#log = log;
  }

  get clientId(): string {
    return this.#settings.clientId;
  }

  async begin(redirectUri: string): Promise<{ url: string; pending: PendingLogin }> {
    const { authorizationUrl, challengeMethods } = await this.#metadata();
    if (authorizationUrl === undefined)
      throw this.#misconfigured('its metadata names no authorization_endpoint with https');
    // Many issuers support PKCE without announcing it. The nonce also binds the ID token to this sign-in.
    if (challengeMethods !== undefined && !challengeMethods.includes('S256')) {
      throw this.#misconfigured('it does not support PKCE with S256');
    }
    const pending = {
      issuer: this.name,
      state: random(),
      nonce: random(),
      verifier: random(),
      redirectUri,
    };
    const url = new URL(authorizationUrl);
    const parameters = {
      ...this.#settings.parameters,
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: redirectUri,
      scope: this.#asked().join(' '),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: createHash('sha256').update(pending.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url: url.href, pending };
  }

  async complete(pending: PendingLogin, parameters: URLSearchParams): Promise<LoggedIn> {
    const metadata = await this.#metadata();
    const code = this.#codeIn(pending, parameters, metadata);
    const answer = await this.#redeem(pending, code, metadata);
    const { id_token: idToken } = answer;
    if (typeof idToken !== 'string') throw this.#misconfigured('it sent no ID token');
    const { clientId, claims, sessionMs } = this.#settings;
    const bearer = await this.#issuer.verifyIdToken(idToken, { clientId, nonce: pending.nonce, claims });
    const { access_token: token, scope: granted } = answer;
    const access = typeof token === 'string' ? await this.#accessTokenOf(token, bearer, pending) : undefined;
    const facts = mergedFacts([bearer.facts, access?.facts, this.#issuer.factsIn({}, readScopes(granted))]);
    return { principal: bearer.principal, facts, scope: this.#scopeOf(bearer, access, granted), idToken, sessionMs };
  }

  async endUrl(returnTo: string, idToken?: string): Promise<string | undefined> {
    const { endSessionUrl } = await this.#metadata();
    if (endSessionUrl === undefined) return undefined;
    const url = new URL(endSessionUrl);
    url.searchParams.set('client_id', this.clientId);
    url.searchParams.set('post_logout_redirect_uri', returnTo);
    if (idToken !== undefined) url.searchParams.set('id_token_hint', idToken);
    return url.href;
  }

  #asked(): string[] {
    const own = this.#scopes === false ? [] : [this.#scopes.use, this.#scopes.answer];
    return [...new Set(['openid', ...(this.#settings.scopes ?? own)])];
  }

  /** Throws if the response may be from another issuer, or if another person started the sign-in. */
  #codeIn(pending: PendingLogin, parameters: URLSearchParams, { namesItself }: IssuerMetadata): string {
    if (parameters.get('state') !== pending.state)
      throw refused('it was started in another window or by another person');
    const named = parameters.get('iss');
    // Checked before any text of the response is shown, since another issuer may have written it.
    if (named === null ? namesItself : named !== this.name) throw refused(`the response is not from ${this.name}`);
    const error = parameters.get('error');
    if (error !== null) {
      const description = parameters.get('error_description') ?? '';
      const said = cleanLine(description === '' ? error : `${error}: ${description}`).slice(0, SHOWN_CHARS);
      this.#log.warn('login_refused', { issuer: this.name, error: said });
      throw refused(`${this.title} answered: ${said}`);
    }
    const code = parameters.get('code');
    if (code === null || code === '') throw refused(`the response from ${this.title} has no code`);
    return code;
  }

  async #redeem(pending: PendingLogin, code: string, metadata: IssuerMetadata): Promise<Record<string, unknown>> {
    const { tokenUrl } = metadata;
    if (tokenUrl === undefined) throw this.#misconfigured('its metadata names no token_endpoint with https');
    const { resource } = this.#settings.parameters;
    const fields = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: pending.redirectUri,
      code_verifier: pending.verifier,
      ...(resource !== undefined && { resource }),
    });
    const headers = this.#authenticate(fields, metadata);
    let answer: unknown;
    try {
      answer = await fetchJson(tokenUrl, { method: 'POST', headers, body: fields.toString() });
    } catch (error) {
      throw this.#notRedeemed(error);
    }
    if (!isObject(answer)) throw this.#misconfigured('its response is not a JSON object');
    return answer;
  }

  /** Adds the client credentials to the returned headers or to the fields. */
  #authenticate(fields: URLSearchParams, { clientAuthMethods }: IssuerMetadata): Record<string, string> {
    const { clientId, clientSecret, clientAuth } = this.#settings;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const takesBasic = clientAuthMethods?.includes('client_secret_basic') ?? true;
    const way = clientAuth ?? (takesBasic ? 'basic' : 'post');
    if (clientSecret !== undefined && way === 'basic') {
      const credentials = [clientId, clientSecret].map(formEncoded).join(':');
      return { ...headers, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
    }
    fields.set('client_id', clientId);
    if (clientSecret !== undefined) fields.set('client_secret', clientSecret);
    return headers;
  }

  /** The greatest scope that the tokens or the response grant. A requested scope is not assumed to be granted. */
  #scopeOf(bearer: Bearer, access: Bearer | undefined, granted: unknown): Scope | undefined {
    if (this.#scopes === false) return bearer.scope;
    return greatestOf([bearer.scope, greatestScope(readScopes(granted), this.#scopes), access?.scope]);
  }

  /** `undefined` if the access token is for another service or cannot be verified. */
  async #accessTokenOf(
    token: string,
    { principal }: Bearer,
    { redirectUri }: PendingLogin,
  ): Promise<Bearer | undefined> {
    // Nothing uses the access token.
    if (this.#scopes === false && !this.#issuer.readsFacts) return undefined;
    const { origin } = new URL(redirectUri);
    try {
      // Only its own issuer may see the token.
      const { bearer } = await checkWith([this.#issuer], token);
      const { audiences } = bearer;
      const own = new Set([origin, `${origin}/`, `${origin}/mcp`]);
      const isForUs = audiences === 'any' || audiences.some((audience) => own.has(audience));
      return isForUs && bearer.principal === principal ? bearer : undefined;
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'TOOL_ERR_UNAUTHORIZED') return undefined;
      throw error;
    }
  }

  async #metadata(): Promise<IssuerMetadata> {
    try {
      return await this.#issuer.metadata();
    } catch {
      // The issuer has logged the reason.
      throw this.#unreachable();
    }
  }

  #notRedeemed(error: unknown): GatewayError {
    const said = error instanceof StatusError ? error.error : undefined;
    this.#log.error('login_failed', { issuer: this.name, error: said ?? messageOf(error) });
    if (said === 'invalid_grant') return refused('it took too long, or was already completed');
    if (said !== undefined) return this.#misconfigured(`it answered ${cleanLine(said).slice(0, SHOWN_CHARS)}`);
    return this.#unreachable();
  }

  #unreachable(): GatewayError {
    return new GatewayError(
      'TOOL_ERR_ISSUER_UNREACHABLE',
      `${this.title} cannot be reached at the moment. Try again later.`,
    );
  }

  #misconfigured(why: string): GatewayError {
    this.#log.error('login_misconfigured', { issuer: this.name, why });
    return new GatewayError(
      'TOOL_ERR_EXECUTION_FAILED',
      `Sign-in with ${this.title} is not possible now, because ${why}. The operator can run \`meanwhile doctor\` for details.`,
    );
  }
}

function refused(why: string): GatewayError {
  return new GatewayError('TOOL_ERR_UNAUTHORIZED', `The sign-in is not valid: ${why}.`);
}

const random = (): string => randomBytes(32).toString('base64url');

/** Encodes text as in a form (RFC 6749, 2.3.1), with plus signs for spaces. */
const formEncoded = (text: string): string => new URLSearchParams({ text }).toString().slice('text='.length);
