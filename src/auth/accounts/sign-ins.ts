/** Sign-ins that wait for a person. Their whole state is stored, so that any gateway can complete them. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccountAt, AuthChallenge, SignIn } from '../../core/ports/accounts.ts';
import { isoTime } from '../../lib/clock.ts';
import { SIGN_IN_CALLBACK_PATH } from '../../lib/sign-in-paths.ts';
import { withSegment } from './client-metadata.ts';
import { segmentFor } from './clients.ts';
import { AuthFailure } from './failure.ts';
import { accountOwnerOf } from './owner.ts';
import { discoverAuthorization, tokensId, type Authorization, type Shared } from './parts.ts';
import { assertNotInVain } from './refused-sign-ins.ts';
import { digest, type DecryptedRecord, type SignInRecord, type TokensRecord } from './records.ts';
import { includesAll, scopesIn, mergeScopes } from './scopes.ts';
import { quoted, requestTokens } from './token-endpoint.ts';

/** How long a person has to sign in. */
const SIGN_IN_MS = 3_600_000;
/** A sign-in that began this recently is reused without another discovery. */
const RECENT_MS = 60_000;
const MOST = { perPrincipal: 100, total: 10_000 };
/** How often to try to change a record that other requests change at the same time. */
const ATTEMPTS = 5;

const random = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** A digest, because the id alone allows its holder to start the sign-in. */
const recordId = (id: string): string => digest('sign-in', id);

export interface BeginOptions {
  challenge?: AuthChallenge | undefined;
  /** The tokens that the server refuses because they lack scopes. */
  stepUpFrom?: TokensRecord | undefined;
}

export class SignIns {
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** Begins a sign-in, or returns one that already waits for at least these scopes. */
  async begin(account: AccountAt, { challenge, stepUpFrom }: BeginOptions = {}): Promise<SignIn> {
    const { records, clients, clock } = this.#shared;
    const { principal, server, config } = account;
    assertByPeople(account);
    // Checked first: a registration that cannot be stored would be useless.
    await records.assertWritable();
    const callback = await this.#shared.redirectUri();
    if (callback === undefined) {
      throw new AuthFailure(
        `'${server}' requires a sign-in, but the browser could not return: this gateway does not listen over HTTP; use \`meanwhile serve\``,
      );
    }
    const refused = await this.#shared.refused.of(account);
    const isUsual = stepUpFrom === undefined && refused.length === 0;
    const recent = isUsual ? await this.#recent(account, callback, scopesIn(challenge?.scope)) : undefined;
    if (recent) return recent;
    const fetch = await this.#shared.fetchFor(server, config);
    const found = await discoverAuthorization(fetch, account, challenge);
    assertPkce(account, found);
    const scopes = scopesFor(account, found, { challenge, stepUpFrom });
    const { issuer } = found.server;
    assertNotInVain(account, refused, { issuer, resource: found.resource.resource, scopes });
    const waiting = (await this.#waiting(account, callback)).find(
      (each) => each.issuer === issuer && each.resource === found.resource.resource && includesAll(each.scopes, scopes),
    );
    if (waiting) return signInOf(waiting);
    const segment = segmentFor(account, found.server);
    const redirectUri = withSegment(callback, segment);
    const client = await clients.find(account, { fetch, server: found.server, redirectUri, segment, scopes });
    const now = clock.now();
    const id = random(24);
    const record: SignInRecord = {
      id,
      owner: accountOwnerOf(account),
      principal,
      server,
      url: config.url,
      resource: found.resource.resource,
      issuer,
      authorizationServer: found.server,
      client,
      redirectUri,
      scopes,
      stepUps: stepUpFrom ? [...stepUpFrom.stepUps, now] : [],
      expiresAt: now + SIGN_IN_MS,
    };
    const key = { kind: 'sign_in' as const, id: recordId(id), principal, server, keepUntil: record.expiresAt };
    await records.put(key, record, 'none');
    await records.trim(MOST);
    return signInOf(record);
  }

  async find(id: string): Promise<SignIn | undefined> {
    const kept = await this.#shared.records.get('sign_in', recordId(id));
    return kept && signInOf(kept.value);
  }

  /** The URL of the authorization server's page; it stays the same until the person returns. */
  async authorizationUrl(id: string): Promise<URL> {
    const { records } = this.#shared;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const kept = await records.get('sign_in', recordId(id));
      if (kept === undefined) throw over();
      const { value } = kept;
      if (value.pending) return urlOf(value, value.pending);
      const pending = { state: `${kept.record.id}.${random(24)}`, verifier: random(48) };
      const put = await records.put(kept.record, { ...value, pending }, kept);
      if (put) return urlOf(value, pending);
    }
    throw new AuthFailure('the sign-in is being changed by another request; try again', { mayPass: true });
  }

  /** Handles the authorization response. The same parameters are never accepted twice, even after a failure. */
  async complete(parameters: URLSearchParams, path: string = SIGN_IN_CALLBACK_PATH): Promise<SignIn> {
    const { records, clock } = this.#shared;
    const [state, iss, error, code] = ['state', 'iss', 'error', 'code'].map((name) => single(parameters, name));
    const { kept, pending } = await this.#taken(state);
    const { value } = kept;
    assertIssuer(value, { iss, path });
    if (error !== undefined) {
      const why = [quoted(error), quoted(parameters.get('error_description'))].filter((part) => part !== '').join(': ');
      throw new AuthFailure(`${value.issuer} did not sign you in: ${why}`, { oauthError: error });
    }
    if (code === undefined) throw new AuthFailure(`${value.issuer} sent neither a code nor an error`);
    const tokens = await this.#redeem(value, code, pending.verifier);
    const { owner, server, url } = value;
    // The server was removed meanwhile, or the sign-in has expired, so the tokens are of no use.
    if ((await records.get('sign_in', kept.record.id)) === undefined) {
      await this.#shared.revoke(tokens);
      throw over();
    }
    const key = { kind: 'tokens' as const, id: tokensId(owner, server, url), principal: owner, server };
    await records.put(key, tokens, 'any');
    await records.drop(kept);
    this.#shared.log.info('signed_in', {
      server,
      principal: value.principal,
      issuer: value.issuer,
      at: isoTime(clock.now()),
    });
    this.#shared.changed(owner, server, 'signed_in');
    return signInOf(value);
  }

  /** Returns the sign-in with this state, and removes the state, so that it can be used only once. */
  async #taken(state: string | undefined): Promise<{
    kept: DecryptedRecord<'sign_in'>;
    pending: NonNullable<SignInRecord['pending']>;
  }> {
    const [id = ''] = (state ?? '').split('.');
    const kept = id === '' ? undefined : await this.#shared.records.get('sign_in', id);
    if (kept === undefined || state === undefined) throw over();
    const { pending, ...value } = kept.value;
    if (pending === undefined || !isEqual(pending.state, state)) throw over();
    const taken = await this.#shared.records.put(kept.record, value, kept);
    if (taken === undefined) throw over();
    return { kept: taken, pending };
  }

  async #redeem(value: SignInRecord, code: string, verifier: string): Promise<TokensRecord> {
    const { owner, server, url, resource, issuer, client, authorizationServer, redirectUri, stepUps } = value;
    const fetch = await this.#shared.fetchFor(server, { url });
    const fields = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      resource,
    };
    try {
      const issued = await requestTokens(fetch, authorizationServer, client, fields);
      const now = this.#shared.clock.now();
      return {
        owner,
        server,
        url,
        resource,
        issuer,
        client,
        redirectUri,
        stepUps,
        accessToken: issued.accessToken,
        ...(issued.refreshToken !== undefined && { refreshToken: issued.refreshToken }),
        ...(issued.expiresIn !== undefined && { expiresAt: now + issued.expiresIn * 1000 }),
        scopes: issued.scopes ?? value.scopes,
        asked: value.scopes,
        obtainedAt: now,
        obtainedBy: 'sign_in',
      };
    } catch (error) {
      if (error instanceof AuthFailure && error.oauthError === 'invalid_client')
        await this.#shared.clients.forget({ issuer, redirectUri, server, url, client });
      throw error;
    }
  }

  /** Saves the discovery when the server refuses many calls in a row. */
  async #recent(account: AccountAt, callback: string, scopes: readonly string[]): Promise<SignIn | undefined> {
    const since = this.#shared.clock.now() - RECENT_MS;
    const waiting = await this.#waiting(account, callback);
    const recent = waiting.find(
      (each) => each.expiresAt - SIGN_IN_MS > since && each.stepUps.length === 0 && includesAll(each.scopes, scopes),
    );
    return recent && signInOf(recent);
  }

  async #waiting(account: AccountAt, callback: string): Promise<SignInRecord[]> {
    const { principal, server, config } = account;
    const found = await this.#shared.records.list('sign_in', { principal, server });
    return found
      .map(({ value }) => value)
      .filter((each) => each.url === config.url && each.owner === accountOwnerOf(account))
      .filter(({ redirectUri }) => redirectUri === callback || redirectUri.startsWith(`${callback}/`));
  }
}

function signInOf({ id, principal, server, issuer, scopes, expiresAt }: SignInRecord): SignIn {
  return { id, principal, server, issuer, scopes, expiresAt };
}

function assertByPeople({ server, config: { auth } }: AccountAt): void {
  if (auth === false)
    throw new AuthFailure(`mcpServers.${server}.auth is false: the gateway does not sign in to '${server}'`);
  if (auth?.grant === 'client_credentials')
    throw new AuthFailure(`the gateway signs in to '${server}' by itself, with the client in its config`);
}

function assertPkce({ server: name, config: { auth } }: AccountAt, { server }: Authorization): void {
  if (server.hasPkce || (auth && auth.allowWithoutPkce === true)) return;
  if (server.isAssumed) {
    throw new AuthFailure(
      `'${name}' refuses with 401 and names no authorization server; set an Authorization header in mcpServers.${name}.headers, or ` +
        `mcpServers.${name}.auth.issuer`,
      { headerHelps: true },
    );
  }
  throw new AuthFailure(
    `${server.issuer} does not say that it supports PKCE with S256 (code_challenge_methods_supported), so a stolen code could be used; ` +
      `if it does support PKCE, set mcpServers.${name}.auth.allowWithoutPkce`,
  );
}

/** The scopes of the challenge, or else of the server; plus those of the config and, for a step-up, all previous ones. */
function scopesFor(
  { config: { auth } }: AccountAt,
  { resource, server }: Authorization,
  { challenge, stepUpFrom }: BeginOptions,
): string[] {
  const configured = (auth ? auth.scopes : undefined) ?? [];
  const challenged = scopesIn(challenge?.scope);
  const base = challenged.length > 0 || configured.length > 0 ? challenged : resource.scopes;
  const scopes = mergeScopes(stepUpFrom ? mergeScopes(stepUpFrom.asked, stepUpFrom.scopes) : [], configured, base);
  // Some authorization servers issue a refresh token only with this scope.
  return scopes.length > 0 && server.scopes.includes('offline_access')
    ? mergeScopes(scopes, ['offline_access'])
    : scopes;
}

function urlOf(record: SignInRecord, { state, verifier }: NonNullable<SignInRecord['pending']>): URL {
  const url = new URL(record.authorizationServer.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: record.client.id,
    redirect_uri: record.redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: record.resource,
    ...(record.scopes.length > 0 && { scope: record.scopes.join(' ') }),
    // OpenID Connect ignores `offline_access` without consent.
    ...(record.scopes.includes('offline_access') && { prompt: 'consent' }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/** Throws if the response may be from another authorization server (RFC 9207; RFC 9700, 4.4.2). */
function assertIssuer(
  { issuer, authorizationServer, redirectUri }: SignInRecord,
  { iss, path }: { iss: string | undefined; path: string },
): void {
  const isNamed = iss === issuer || (iss === undefined && !authorizationServer.namesItself);
  if (isNamed && new URL(redirectUri).pathname === path) return;
  throw new AuthFailure(
    `the response is not from ${issuer}, where the sign-in began, so it was not used. Start the sign-in again; if this ` +
      'happens again, it may be an attack on your account',
  );
}

/** The value of a parameter that must not be repeated. */
function single(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new AuthFailure(`the response has several parameters '${name}'`);
  return values[0];
}

function isEqual(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const over = (): AuthFailure =>
  new AuthFailure(
    'this sign-in is over, or its link has already been used; go back to where you were asked to sign in',
  );
