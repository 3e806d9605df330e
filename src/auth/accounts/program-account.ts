/** An account of the gateway itself, with client credentials and without a person. Its tokens are kept in memory. */

import type { AccountAt, AccountTokens, AfterRefusal, AuthChallenge } from '../../core/ports/accounts.ts';
import { messageOf } from '../../lib/log.ts';
import { configuredClient } from './clients.ts';
import { AuthFailure } from './failure.ts';
import { discoverAuthorization, type Shared } from './parts.ts';
import { scopesIn, mergeScopes } from './scopes.ts';
import { requestTokens } from './token-endpoint.ts';

/** A new token is requested this long before the old one expires, or when a fifth of its lifetime is left. */
const AHEAD_MS = 60_000;
const AHEAD_PART = 0.2;
/** If the server refuses a token this soon after it was issued, it would also refuse a new one. */
const FRESH_MS = 30_000;

interface Token {
  value: string;
  scopes: readonly string[];
  obtainedAt: number;
  expiresAt: number;
}

export class ProgramAccount implements AccountTokens {
  readonly #at: AccountAt;
  readonly #shared: Shared;
  #token: Token | undefined;
  /** Concurrent callers share one request. */
  #requesting: Promise<Token> | undefined;

  constructor(at: AccountAt, shared: Shared) {
    this.#at = at;
    this.#shared = shared;
  }

  get isIdle(): boolean {
    return this.#requesting === undefined;
  }

  forget(): void {
    // There is no sign-in or sign-out.
  }

  current(): string | Promise<string | undefined> {
    const now = this.#shared.clock.now();
    const token = this.#token;
    if (token && token.expiresAt - now > Math.min(AHEAD_MS, (token.expiresAt - token.obtainedAt) * AHEAD_PART))
      return token.value;
    return this.#request().then(
      ({ value }) => value,
      (error: unknown) => {
        // Without a token the server refuses the request, and then `refused` returns the reason.
        this.#shared.log.warn('token_not_issued', { server: this.#at.server, error: messageOf(error) });
        return token && token.expiresAt > now ? token.value : undefined;
      },
    );
  }

  async refused(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal> {
    const { server } = this.#at;
    const now = this.#shared.clock.now();
    const wanted = scopesIn(challenge.scope);
    const held = this.#token;
    if (held && held.value !== token && held.expiresAt > now) return { then: 'retry' };
    const isFresh = held !== undefined && Math.abs(now - held.obtainedAt) < FRESH_MS;
    const hasAll = wanted.every((scope) => held?.scopes.includes(scope));
    if (held && (challenge.status === 403 || isFresh) && hasAll) {
      const why = challenge.error === undefined ? '' : ` (${challenge.error})`;
      return {
        then: 'fail',
        reason: `'${server}' refuses the token that was issued for the client in its config${why}`,
      };
    }
    try {
      await this.#request(challenge);
      return { then: 'retry' };
    } catch (error) {
      if (!(error instanceof AuthFailure)) throw error;
      return { then: 'fail', reason: error.message };
    }
  }

  async #request(challenge?: AuthChallenge): Promise<Token> {
    this.#requesting ??= this.#issued(challenge).finally(() => {
      this.#requesting = undefined;
    });
    return this.#requesting;
  }

  async #issued(challenge: AuthChallenge | undefined): Promise<Token> {
    const { clock, records } = this.#shared;
    const { server: name, config } = this.#at;
    const fetch = await this.#shared.fetchFor(name, config);
    const { resource, server } = await discoverAuthorization(fetch, this.#at, challenge);
    const client = await configuredClient(records, this.#at, server);
    if (client === undefined || client.method === 'none')
      throw new AuthFailure(`mcpServers.${name}.auth needs a clientId, and a clientSecret or a privateKeyFile`);
    const configured = (config.auth ? config.auth.scopes : undefined) ?? [];
    const challenged = scopesIn(challenge?.scope);
    const base = challenged.length > 0 || configured.length > 0 ? challenged : resource.scopes;
    const scopes = mergeScopes(this.#token?.scopes ?? [], configured, base);
    const issued = await requestTokens(fetch, server, client, {
      grant_type: 'client_credentials',
      resource: resource.resource,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    });
    const now = clock.now();
    this.#token = {
      value: issued.accessToken,
      scopes: mergeScopes(scopes, issued.scopes ?? []),
      obtainedAt: now,
      expiresAt: issued.expiresIn === undefined ? Infinity : now + issued.expiresIn * 1000,
    };
    return this.#token;
  }
}
