/** Verifies access tokens. Loaded only if the configuration names authorization servers. */

import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { GatewayError } from '../core/errors.ts';
import type { FactReader } from '../core/access/whom.ts';
import type { Bearer, TokenVerifier } from '../core/ports/identity.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { Issuer, invalidToken, type Checked } from './issuer.ts';
import type { AuthSettings } from './settings.ts';

/** The limit on cached results; beyond it, the oldest are dropped. */
const MAX_KNOWN = 10_000;
/** Longer tokens are refused. */
const MAX_TOKEN_LENGTH = 16_384;

/** `readFacts` extracts the scopes and claims that access rules and quotas use; absent if they use none. */
export function createIssuers(
  { issuers, scopes }: AuthSettings,
  clock: Clock,
  log: Log,
  readFacts?: FactReader,
): Issuer[] {
  return issuers.map((settings) => new Issuer({ settings, scopes, readFacts, clock, log }));
}

export function createVerifier(issuers: readonly Issuer[], clock: Clock): TokenVerifier {
  /** By digest, so that no token stays in memory. */
  const known = new Map<string, Checked>();
  /** Requests with the same new token share one check. */
  const open = new Map<string, Promise<Bearer>>();

  const check = async (token: string, key: string): Promise<Bearer> => {
    try {
      const checked = await checkWith(issuers, token);
      known.set(key, checked);
      const [oldest] = known.keys();
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
      return checked.bearer;
    } finally {
      open.delete(key);
    }
  };

  return {
    verify: (token) => {
      const key = createHash('sha256').update(token).digest('base64');
      const checked = known.get(key);
      if (checked !== undefined && checked.until > clock.now()) return checked.bearer;
      known.delete(key);
      const checking = open.get(key) ?? check(token, key);
      open.set(key, checking);
      return checking;
    },
  };
}

export async function checkWith(issuers: readonly Issuer[], token: string): Promise<Checked> {
  if (token.length > MAX_TOKEN_LENGTH) throw invalidToken('it is too long');
  const named = issuerIn(token);
  if (named !== undefined) {
    const issuer = issuers.find(({ name }) => name === named);
    if (issuer === undefined) throw invalidToken('its issuer is not one of auth.issuers');
    if (!isAccessToken(token)) throw invalidToken('it is not an access token (`typ` in its header)');
    // A revoked token still has a valid signature, so introspection is preferred.
    if (!issuer.introspects) return issuer.verifyJwt(token);
    const checked = await issuer.introspect(token);
    if (checked === undefined) throw invalidToken('its issuer does not know it, or it has expired or was revoked');
    return checked;
  }
  const asked = issuers.filter(({ introspects }) => introspects);
  if (asked.length === 0)
    throw invalidToken('it is not a JSON Web Token, and no issuer has `introspection` in the configuration');
  let outage: GatewayError | undefined;
  for (const issuer of asked) {
    try {
      const checked = await issuer.introspect(token);
      if (checked !== undefined) return checked;
    } catch (error) {
      // The token may be from another issuer that can be reached.
      if (!(error instanceof GatewayError) || error.code !== 'TOOL_ERR_ISSUER_UNREACHABLE') throw error;
      outage ??= error;
    }
  }
  throw outage ?? invalidToken('no issuer knows it, or it has expired or was revoked');
}

/** The issuer that a JSON Web Token names, not verified yet; `undefined` for another kind of token. */
function issuerIn(token: string): string | undefined {
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    return undefined;
  }
}

/** Issuers sign other tokens with the same keys, such as logout tokens; `typ` tells them apart. */
function isAccessToken(token: string): boolean {
  try {
    const { typ = 'JWT' } = decodeProtectedHeader(token);
    return typeof typ === 'string' && /^(?:application\/)?(?:at\+)?jwt$/i.test(typ);
  } catch {
    // The header cannot be read; verifying the signature reports that.
    return true;
  }
}
