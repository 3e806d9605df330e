/** Verifies the tokens of one authorization server. */

import { createHash } from 'node:crypto';
import {
  createRemoteJWKSet,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { withContained } from '../core/access/scopes.ts';
import type { FactReader } from '../core/access/whom.ts';
import { GatewayError } from '../core/errors.ts';
import type { Bearer, TokenFacts } from '../core/ports/identity.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { isObject } from '../lib/values.ts';
import { fetchJson } from './fetch-json.ts';
import { CachedRequest } from './cached-request.ts';
import { discoverIssuer, type IssuerMetadata } from './metadata.ts';
import { greatestScope, readScopes } from './scope.ts';
import type { AuthSettings, IssuerSettings } from './settings.ts';

/** Asymmetric algorithms only: no `none`, and no HMAC, for which a public key could be misused as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** The tolerated difference between the clocks of the issuer and the gateway. */
const TOLERANCE_MS = 30_000;
/** How long an introspection response is cached: the token may be revoked meanwhile. */
const INTROSPECTED_MS = 60_000;
/** How long a verified signature is cached: the issuer may withdraw its key. Verifying it again costs no request. */
const SIGNED_MS = 600_000;
/** The delay before a failed metadata request is repeated. */
const RETRY_MS = 5000;
/** How long the gateway remembers that the issuer does not know a token. */
const UNKNOWN_MS = 5000;
/** The limit on remembered unknown tokens. */
const MAX_UNKNOWN = 10_000;

export interface IssuerParts {
  settings: IssuerSettings;
  scopes: AuthSettings['scopes'];
  /** Absent if no access rule or quota uses scopes or claims. */
  readFacts?: FactReader | undefined;
  clock: Clock;
  log: Log;
}

/** The cached result of a token check; after `until` the token must be checked again. */
export interface Checked {
  bearer: Bearer;
  until: number;
}

export interface ExpectedIdToken {
  clientId: string;
  nonce: string;
  /** Other claims that the token must have. */
  claims: Readonly<Record<string, string>>;
}

export class Issuer {
  readonly #parts: IssuerParts;
  readonly #metadata: CachedRequest<IssuerMetadata>;
  readonly #keys: CachedRequest<JWTVerifyGetKey>;
  /** Unknown tokens: from digest to the end of the cache time. */
  readonly #unknown = new Map<string, number>();

  constructor(parts: IssuerParts) {
    this.#parts = parts;
    this.#metadata = new CachedRequest(async () => discoverIssuer(this.name), parts.clock, RETRY_MS);
    this.#keys = new CachedRequest(async () => this.#loadKeys(), parts.clock, RETRY_MS);
  }

  get name(): string {
    return this.#parts.settings.issuer;
  }

  get introspects(): boolean {
    return this.#parts.settings.introspection !== undefined;
  }

  get settings(): IssuerSettings {
    return this.#parts.settings;
  }

  async metadata(): Promise<IssuerMetadata> {
    return this.#asked(async () => this.#metadata.get());
  }

  /** Verifies a JSON Web Token that names this issuer. */
  async verifyJwt(token: string): Promise<Checked> {
    const bearer = this.#bearer(await this.#payloadOf(token));
    return { bearer, until: Math.min(bearer.expiresAt, this.#parts.clock.now() + SIGNED_MS) };
  }

  /** Verifies an ID token, which must be issued for this client and this sign-in. */
  async verifyIdToken(token: string, expected: ExpectedIdToken): Promise<Bearer> {
    const { clientId, nonce, claims } = expected;
    const payload = await this.#payloadOf(token, { audience: clientId, requiredClaims: ['iss', 'exp', 'sub', 'aud'] });
    const { azp = clientId, aud } = payload;
    if (payload['nonce'] !== nonce) throw invalidToken('it was not issued for this sign-in');
    if (azp !== clientId || (Array.isArray(aud) && aud.length > 1 && payload['azp'] === undefined)) {
      throw invalidToken('it was issued for another client');
    }
    for (const [name, value] of Object.entries(claims)) {
      const { [name]: found } = payload;
      if (found !== value && !(Array.isArray(found) && found.includes(value))) {
        throw invalidToken(`its claim '${name}' does not have the required value`);
      }
    }
    return this.#bearer(payload);
  }

  async #payloadOf(token: string, options: JWTVerifyOptions = {}): Promise<JWTPayload> {
    const { issuer } = this.#parts.settings;
    const keys = await this.#asked(async () => this.#keys.get());
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        algorithms: ALGORITHMS,
        clockTolerance: TOLERANCE_MS / 1000,
        currentDate: new Date(this.#parts.clock.now()),
        requiredClaims: ['iss', 'exp'],
        ...options,
      });
      return payload;
    } catch (error) {
      if (isAboutKeys(error)) throw this.#unreachable(error);
      throw invalidToken(reasonOf(error));
    }
  }

  /** Asks the issuer about a token; `undefined` if the issuer does not know it. */
  async introspect(token: string): Promise<Checked | undefined> {
    const { introspection, issuer } = this.#parts.settings;
    const digest = createHash('sha256').update(token).digest('base64');
    if (introspection === undefined || this.#isUnknown(digest)) return undefined;
    const { clientId, clientSecret } = introspection;
    const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
    const said = await this.#asked(async () => {
      const url = introspection.url ?? (await this.#metadata.get()).introspectionUrl;
      if (url === undefined)
        throw new Error('the metadata names no introspection_endpoint with https; set introspection.url');
      return fetchJson(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
        },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
      });
    });
    if (!isObject(said) || said['active'] !== true) {
      this.#setUnknown(digest);
      return undefined;
    }
    const { iss = issuer } = said;
    if (iss !== issuer) throw invalidToken('it comes from another issuer');
    const bearer = this.#bearer(said);
    return { bearer, until: Math.min(bearer.expiresAt, this.#parts.clock.now() + INTROSPECTED_MS) };
  }

  /** Whether access rules or quotas use scopes or claims. */
  get readsFacts(): boolean {
    return this.#parts.readFacts !== undefined;
  }

  /** The granted scopes and claims that access rules and quotas use. */
  factsIn(claims: Record<string, unknown>, granted: ReadonlySet<string>): TokenFacts | undefined {
    const { scopes, readFacts } = this.#parts;
    return readFacts?.(claims, scopes === false ? granted : withContained(granted, scopes));
  }

  #bearer(claims: Record<string, unknown>): Bearer {
    const { settings, scopes, clock } = this.#parts;
    const { issuer, principalClaim, scopeClaim } = settings;
    const { exp, aud } = claims;
    const { [principalClaim]: subject = principalClaim === 'sub' ? programIn(claims) : undefined } = claims;
    const expiresAt = typeof exp === 'number' ? exp * 1000 : Number.NaN;
    // An introspection response may lack `exp`.
    const until = Number.isNaN(expiresAt) ? clock.now() + INTROSPECTED_MS : expiresAt;
    if (until + TOLERANCE_MS <= clock.now()) throw invalidToken('it has expired');
    if (typeof subject !== 'string' || subject === '') throw invalidToken(`it has no claim '${principalClaim}'`);
    const audiences = (Array.isArray(aud) ? aud : [aud]).filter((each) => typeof each === 'string');
    const accepted = audiences.some((audience) => settings.audiences.includes(audience));
    const granted = readScopes(claims[scopeClaim] ?? claims['scp']);
    const scope = scopes === false ? 'answer' : greatestScope(granted, scopes);
    const facts = this.factsIn(claims, granted);
    return {
      principal: `${subject}@${issuer}`,
      audiences: accepted ? 'any' : audiences,
      scope,
      expiresAt: until,
      ...(facts && { facts }),
    };
  }

  async #loadKeys(): Promise<JWTVerifyGetKey> {
    const { jwksUrl } = this.#parts.settings;
    const url = jwksUrl ?? (await this.#metadata.get()).jwksUrl;
    if (url === undefined) throw new Error('the metadata names no jwks_uri with https; set jwksUrl');
    return createRemoteJWKSet(new URL(url));
  }

  #isUnknown(digest: string): boolean {
    const until = this.#unknown.get(digest) ?? 0;
    if (until > this.#parts.clock.now()) return true;
    this.#unknown.delete(digest);
    return false;
  }

  #setUnknown(digest: string): void {
    this.#unknown.set(digest, this.#parts.clock.now() + UNKNOWN_MS);
    const [oldest] = this.#unknown.keys();
    if (this.#unknown.size > MAX_UNKNOWN && oldest !== undefined) this.#unknown.delete(oldest);
  }

  /** Converts any failure to the error that the issuer cannot be reached. */
  async #asked<T>(asking: () => Promise<T>): Promise<T> {
    try {
      return await asking();
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  #unreachable(error: unknown): GatewayError {
    const { issuer } = this.#parts.settings;
    this.#parts.log.error('issuer_unreachable', { issuer, error: messageOf(error) });
    return new GatewayError(
      'TOOL_ERR_ISSUER_UNREACHABLE',
      `the token cannot be checked, because its issuer ${issuer} cannot be reached; try again later`,
    );
  }
}

/** The subject of a program's own token, which has no `sub`. The prefix keeps it apart from a person with that name. */
function programIn({ client_id: id }: Record<string, unknown>): string | undefined {
  return typeof id === 'string' && id !== '' ? `client:${id}` : undefined;
}

export function invalidToken(why: string): GatewayError {
  return new GatewayError('TOOL_ERR_UNAUTHORIZED', `the token is not valid: ${why}`);
}

/** Whether the error concerns reading the keys, and not the token. */
function isAboutKeys(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true;
  // jose reports a status other than 200, or a body that is not JSON, with its general error.
  return !(error instanceof errors.JOSEError) || error.code === 'ERR_JOSE_GENERIC';
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim '${error.claim}' is wrong or missing`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'it is signed with a key that its issuer does not have';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'it is signed with an algorithm that is not accepted';
  return 'it cannot be read';
}
