/** The tokens of one account: cached in memory while they are valid, renewed by one gateway at a time, and replaced by a new sign-in. */

import { randomUUID } from 'node:crypto';
import type { AccountAt, AccountTokens, AfterRefusal, AuthChallenge } from '../../core/ports/accounts.ts';
import { messageOf } from '../../lib/log.ts';
import { sleep } from '../../lib/timers.ts';
import {
  discoverAuthorizationServer,
  discoverOwnAuthorizationServer,
  discoverResource,
  type AuthorizationServer,
} from './discovery.ts';
import { AuthFailure } from './failure.ts';
import { accountOwnerOf } from './owner.ts';
import { isSame, mayBeIssuer, tokensId, type Shared } from './parts.ts';
import type { DecryptedRecord, TokensRecord } from './records.ts';
import { configuredClient } from './clients.ts';
import { whatToDo } from './refused-sign-ins.ts';
import type { SafeFetch } from './safe-fetch.ts';
import { includesAll, scopesIn } from './scopes.ts';
import type { SignIns } from './sign-ins.ts';
import { requestTokens, type IssuedTokens, type OAuthClient } from './token-endpoint.ts';

/** How long tokens read from the store are cached, in case a notification of a change was lost. */
const BELIEVED_MS = 30_000;
/** Tokens are renewed this long before they expire, or when a fifth of their lifetime is left. */
const AHEAD_MS = 60_000;
const AHEAD_PART = 0.2;
/** A token that expires sooner may have expired when it arrives. */
const LEAST_MS = 5000;
/** If the server refuses a token this soon after it was issued, it would also refuse a renewed one. */
const FRESH_MS = 30_000;
/** Longer than any request for a token takes. */
const CLAIM_MS = 30_000;
const POLL_MS = 100;
const STORE_ATTEMPTS = 3;
const STORE_RETRY_MS = 300;
/** How often people are asked to grant more scopes within the window. */
const MAX_STEP_UPS = 3;
const STEP_UP_WINDOW_MS = 3_600_000;

/** Error codes for a client that the authorization server does not accept. */
const CLIENT_REFUSED = new Set(['invalid_client', 'unauthorized_client']);

type Tokens = DecryptedRecord<'tokens'>;

/** The issuer of tokens, and the client of the config for it, if there is one. */
interface IssuerOf {
  fetch: SafeFetch;
  server: AuthorizationServer;
  configured: OAuthClient | undefined;
}

export class Account implements AccountTokens {
  readonly #at: AccountAt;
  readonly #shared: Shared;
  readonly #signIns: SignIns;
  readonly #id: string;
  /** The tokens that were last read; `undefined` if they must be read again. */
  #known: { tokens: Tokens | undefined; readAt: number } | undefined;
  /** Renewed tokens that are not stored yet, because the store could not be reached. */
  #unstored: { value: TokensRecord; older: Tokens } | undefined;
  #renewing: { stale: string; renewal: Promise<Tokens | undefined> } | undefined;
  /** Requests that are refused at the same time share one outcome. */
  readonly #refusals = new Map<string, Promise<AfterRefusal>>();

  constructor(at: AccountAt, shared: Shared, signIns: SignIns) {
    this.#at = at;
    this.#shared = shared;
    this.#signIns = signIns;
    this.#id = tokensId(accountOwnerOf(at), at.server, at.config.url);
  }

  /** Whether the account can be dropped from memory without loss. */
  get isIdle(): boolean {
    return this.#renewing === undefined && this.#refusals.size === 0 && this.#unstored === undefined;
  }

  /** Called when the stored tokens may have changed. */
  forget(): void {
    this.#known = undefined;
  }

  current(): string | undefined | Promise<string | undefined> {
    const known = this.#known;
    const now = this.#shared.clock.now();
    if (known === undefined || Math.abs(now - known.readAt) > BELIEVED_MS) return this.#currentRead();
    const { tokens } = known;
    if (tokens === undefined) return undefined;
    const { value } = tokens;
    const left = leftOf(value, now);
    if (left > aheadOf(value)) return value.accessToken;
    if (left <= LEAST_MS) return this.#currentRead();
    // The token is still valid, so the request does not wait for the next one.
    if (value.refreshToken !== undefined) this.#renewAhead(tokens);
    return value.accessToken;
  }

  async #currentRead(): Promise<string | undefined> {
    const tokens = await this.#read();
    if (tokens === undefined) return undefined;
    const { value } = tokens;
    const left = leftOf(value, this.#shared.clock.now());
    if (left > aheadOf(value)) return value.accessToken;
    if (value.refreshToken === undefined) return left > 0 ? value.accessToken : undefined;
    if (left > LEAST_MS) {
      this.#renewAhead(tokens);
      return value.accessToken;
    }
    try {
      return (await this.#renew(tokens))?.value.accessToken;
    } catch (error) {
      this.#report(error);
      return left > 0 ? value.accessToken : undefined;
    }
  }

  #renewAhead(tokens: Tokens): void {
    this.#renew(tokens).catch((error: unknown) => this.#report(error));
  }

  #report(error: unknown): void {
    const { server, principal } = this.#at;
    this.#shared.log.warn('token_not_renewed', { server, principal, error: messageOf(error) });
  }

  async refused(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal> {
    const key = JSON.stringify([token, challenge.status, challenge.error, challenge.scope]);
    let open = this.#refusals.get(key);
    if (open === undefined) {
      open = this.#afterRefusal(token, challenge)
        .catch((error: unknown): AfterRefusal => {
          if (!(error instanceof AuthFailure)) throw error;
          return { then: 'fail', reason: error.message, ...(error.headerHelps && { headerHelps: true }) };
        })
        .finally(() => this.#refusals.delete(key));
      this.#refusals.set(key, open);
    }
    return open;
  }

  async #afterRefusal(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal> {
    const { server, config } = this.#at;
    if (config.auth === false)
      return { then: 'fail', reason: `'${server}' requires a sign-in, and mcpServers.${server}.auth is false` };
    if (hasOwnAuthorization(config.headers))
      return { then: 'fail', reason: `'${server}' refuses the Authorization header that is configured for it` };
    const tokens = await this.#read();
    if (challenge.status === 403) return this.#stepUp(tokens, token, challenge);
    if (tokens === undefined) return this.#askToSignIn(challenge);
    const { value } = tokens;
    const now = this.#shared.clock.now();
    if (value.accessToken !== token && leftOf(value, now) > 0) return { then: 'retry' };
    const isFresh = value.accessToken === token && Math.abs(now - value.obtainedAt) < FRESH_MS;
    const isStillIssuer = await this.#isStillIssuer(value.issuer, challenge);
    if (isFresh && isStillIssuer && value.obtainedBy === 'sign_in') {
      await this.#shared.refused.note(this.#at, value);
      const what = `'${server}' refuses the token that ${value.issuer} has just issued for it${saying(challenge)}`;
      return { then: 'fail', reason: `${what}; ${whatToDo(this.#at, { ...value, scopes: value.asked })}` };
    }
    if (value.refreshToken !== undefined && !isFresh && isStillIssuer) {
      if ((await this.#renew(tokens)) !== undefined) return { then: 'retry' };
    }
    return this.#askToSignIn(challenge);
  }

  async #askToSignIn(challenge: AuthChallenge, stepUpFrom?: TokensRecord): Promise<AfterRefusal> {
    return { then: 'sign_in', signIn: await this.#signIns.begin(this.#at, { challenge, stepUpFrom }) };
  }

  /** Handles a server that requires scopes which the token lacks. */
  async #stepUp(
    tokens: Tokens | undefined,
    token: string | undefined,
    challenge: AuthChallenge,
  ): Promise<AfterRefusal> {
    const { server } = this.#at;
    const wanted = scopesIn(challenge.scope);
    if (challenge.error !== 'insufficient_scope')
      return { then: 'fail', reason: `'${server}' does not allow this${saying(challenge)}` };
    if (tokens === undefined) return this.#askToSignIn(challenge);
    const { value } = tokens;
    // The person has granted more scopes meanwhile.
    if (value.accessToken !== token && includesAll(value.scopes, wanted)) return { then: 'retry' };
    const since = this.#shared.clock.now() - STEP_UP_WINDOW_MS;
    const stepUps = value.stepUps.filter((at) => at > since);
    const wasAsked = wanted.length === 0 || includesAll(value.asked, wanted);
    if ((wasAsked && stepUps.length > 0) || stepUps.length >= MAX_STEP_UPS) {
      const scopes = wanted.length === 0 ? 'more scopes' : `the scopes ${wanted.join(' ')}`;
      return {
        then: 'fail',
        reason: `'${server}' requires ${scopes}, which ${value.issuer} did not grant on request`,
      };
    }
    return this.#askToSignIn(challenge, { ...value, stepUps });
  }

  /** A server may have moved to another authorization server, which must not get the tokens of the first one. */
  async #isStillIssuer(issuer: string, challenge: AuthChallenge): Promise<boolean> {
    const { server, config } = this.#at;
    try {
      const fetch = await this.#shared.fetchFor(server, config);
      return mayBeIssuer(await discoverResource(fetch, config.url, challenge), issuer);
    } catch (error) {
      // Unknown at the moment. That is safe, since the refresh token goes only to its issuer.
      if (error instanceof AuthFailure && error.mayPass) return true;
      throw error;
    }
  }

  async #read(): Promise<Tokens | undefined> {
    const unstored = await this.#storeLate();
    const tokens = unstored ?? (await this.#shared.records.get('tokens', this.#id));
    this.#known = { tokens, readAt: this.#shared.clock.now() };
    return tokens;
  }

  /** Tokens that could not be stored are used until they are stored or the stored ones have changed. */
  async #storeLate(): Promise<Tokens | undefined> {
    const unstored = this.#unstored;
    if (unstored === undefined) return undefined;
    const { value, older } = unstored;
    try {
      await this.#put(value, older);
    } catch {
      // The failure was logged when the tokens were issued.
      return { value, record: older.record };
    }
    if (this.#unstored === unstored) this.#unstored = undefined;
    return undefined;
  }

  async #put(value: TokensRecord, older: Tokens): Promise<Tokens | undefined> {
    const { owner, server } = value;
    const key = { kind: 'tokens' as const, id: this.#id, principal: owner, server };
    return this.#shared.records.put(key, value, older);
  }

  /** Returns renewed tokens; `undefined` if a person has to sign in again. Throws if that is unknown at the moment. */
  async #renew(tokens: Tokens): Promise<Tokens | undefined> {
    const stale = tokens.value.accessToken;
    if (this.#renewing?.stale !== stale) {
      const renewal = this.#renewOnce(stale).finally(() => {
        if (this.#renewing?.renewal === renewal) this.#renewing = undefined;
      });
      this.#renewing = { stale, renewal };
    }
    return this.#renewing.renewal;
  }

  /** One gateway claims the record and renews; the others wait for the tokens that it stores. */
  async #renewOnce(stale: string): Promise<Tokens | undefined> {
    const { clock, records } = this.#shared;
    const by = randomUUID();
    let issuer: IssuerOf | undefined;
    for (const begun = clock.now(); ; await sleep(POLL_MS, clock)) {
      const tokens = await this.#read();
      if (tokens === undefined || tokens.value.accessToken !== stale) return tokens;
      const { refreshToken } = tokens.value;
      if (refreshToken === undefined) return undefined;
      // Discovers the issuer before the claim, so that the claim covers only one request.
      issuer ??= await this.#issuerOf(tokens.value);
      if (await records.claim(tokens, by, CLAIM_MS)) return this.#refresh(tokens, refreshToken, issuer, by);
      if (clock.now() - begun > 2 * CLAIM_MS) {
        const { server } = this.#at;
        throw new AuthFailure(`another gateway takes too long to renew the token for '${server}'`, {
          mayPass: true,
        });
      }
    }
  }

  async #issuerOf(value: TokensRecord): Promise<IssuerOf> {
    const fetch = await this.#shared.fetchFor(value.server, this.#at.config);
    const server = await this.#authorizationServer(fetch, value.issuer);
    return { fetch, server, configured: await this.#configuredClient(server, value) };
  }

  async #refresh(
    tokens: Tokens,
    refreshToken: string,
    { fetch, server, configured }: IssuerOf,
    by: string,
  ): Promise<Tokens | undefined> {
    const { value } = tokens;
    const { records, clock } = this.#shared;
    try {
      const fields = { grant_type: 'refresh_token', refresh_token: refreshToken, resource: value.resource };
      const client = configured ?? value.client;
      const issued = await requestTokens(fetch, server, client, fields);
      return await this.#store(tokens, { ...renewed(value, issued, clock.now()), client });
    } catch (error) {
      const { oauthError = '' } = error instanceof AuthFailure ? error : {};
      const isClientRefused = CLIENT_REFUSED.has(oauthError);
      if (error instanceof AuthFailure && (oauthError === 'invalid_grant' || (isClientRefused && !configured)))
        return this.#end(tokens, error, by);
      await records.release(tokens, by);
      if (!isClientRefused) throw error;
      const secret = configured?.key ? 'privateKeyFile' : 'clientSecret';
      throw new AuthFailure(
        `${messageOf(error)}; check clientId and ${secret} in mcpServers.${value.server}.auth: they are no longer accepted`,
      );
    }
  }

  /** The client of the config, whose secret may have changed since the sign-in; `undefined` if the tokens belong to another client. */
  async #configuredClient(
    server: AuthorizationServer,
    { client, issuer }: TokensRecord,
  ): Promise<OAuthClient | undefined> {
    const { auth } = this.#at.config;
    if (!auth || auth.clientId !== client.id) return undefined;
    if (auth.issuer !== undefined && !isSame(auth.issuer, issuer)) return undefined;
    return configuredClient(this.#shared.records, this.#at, server);
  }

  async #authorizationServer(fetch: SafeFetch, issuer: string): Promise<AuthorizationServer> {
    const own = new URL(this.#at.config.url).origin;
    return isSame(issuer, own)
      ? discoverOwnAuthorizationServer(fetch, own)
      : discoverAuthorizationServer(fetch, issuer);
  }

  /** Retries, because the previous refresh token may already be invalid. */
  async #store(tokens: Tokens, value: TokensRecord): Promise<Tokens | undefined> {
    const { clock, log } = this.#shared;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const stored = await this.#put(value, tokens);
        this.#unstored = undefined;
        // A sign-in or sign-out happened meanwhile and takes precedence.
        if (stored === undefined) return await this.#read();
        this.#known = { tokens: stored, readAt: clock.now() };
        return stored;
      } catch (error) {
        if (attempt < STORE_ATTEMPTS) {
          await sleep(STORE_RETRY_MS, clock);
          continue;
        }
        const fix =
          'the tokens stay in memory until the store can be reached; after a restart, the person may have to sign in again';
        log.error('token_not_stored', { server: value.server, error: messageOf(error), fix });
        this.#unstored = { value, older: tokens };
        return this.#read();
      }
    }
  }

  /** Deletes the tokens, unless there are newer ones or another gateway has claimed them. */
  async #end(tokens: Tokens, error: AuthFailure, by: string): Promise<Tokens | undefined> {
    const { records, log, clients } = this.#shared;
    const { server, owner, url, issuer, client, redirectUri } = tokens.value;
    const dropped = await records.drop(tokens, by);
    this.#unstored = undefined;
    if (error.oauthError !== 'invalid_grant' && redirectUri !== undefined)
      await clients.forget({ issuer, redirectUri, server, url, client });
    const newer = await this.#read();
    if (newer !== undefined) return newer;
    log.info('signed_out', { server, principal: owner, why: error.message });
    if (dropped) this.#shared.changed(owner, server, 'signed_out');
    return undefined;
  }
}

const leftOf = ({ expiresAt = Infinity }: TokensRecord, now: number): number => expiresAt - now;

function aheadOf({ expiresAt, obtainedAt }: TokensRecord): number {
  return expiresAt === undefined ? 0 : Math.min(AHEAD_MS, (expiresAt - obtainedAt) * AHEAD_PART);
}

function renewed(old: TokensRecord, issued: IssuedTokens, now: number): TokensRecord {
  const { expiresAt: _expiresAt, ...rest } = old;
  const { refreshToken = old.refreshToken } = issued;
  return {
    ...rest,
    accessToken: issued.accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(issued.expiresIn !== undefined && { expiresAt: now + issued.expiresIn * 1000 }),
    scopes: issued.scopes ?? old.scopes,
    obtainedAt: now,
    obtainedBy: 'refresh',
  };
}

const hasOwnAuthorization = (headers: Record<string, string> = {}): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');

const saying = ({ error }: AuthChallenge): string => (error === undefined ? '' : ` (${error})`);
