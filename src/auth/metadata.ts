/** The metadata of an authorization server (RFC 8414, OpenID Connect Discovery). */

import { messageOf } from '../lib/log.ts';
import { isSecureUrl } from '../lib/secure-url.ts';
import { isObject } from '../lib/values.ts';
import { fetchJson } from './fetch-json.ts';

export interface IssuerMetadata {
  jwksUrl: string | undefined;
  introspectionUrl: string | undefined;
  authorizationUrl: string | undefined;
  tokenUrl: string | undefined;
  /** The page to sign out on. */
  endSessionUrl: string | undefined;
  /** Whether authorization responses name the issuer (RFC 9207). */
  namesItself: boolean;
  /** `undefined` if not announced, like the next list. */
  challengeMethods: string[] | undefined;
  clientAuthMethods: string[] | undefined;
}

/** The possible URLs of the metadata: with the well-known part before the path or, as in OpenID Connect, after it. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
}

export class MetadataError extends Error {
  /** The issuer that the metadata names instead. */
  readonly otherIssuer: string | undefined;

  constructor(message: string, otherIssuer: string | undefined) {
    super(message);
    this.otherIssuer = otherIssuer;
  }
}

/** Throws a `MetadataError` if the issuer has no metadata. */
export async function discoverIssuer(issuer: string): Promise<IssuerMetadata> {
  const failures: string[] = [];
  let otherIssuer: string | undefined;
  for (const url of metadataUrls(issuer)) {
    try {
      const metadata = await fetchJson(url);
      if (!isObject(metadata)) throw new Error('not a JSON object');
      // Otherwise one issuer could impersonate another.
      const { issuer: named } = metadata;
      if (named !== issuer) {
        if (typeof named === 'string') otherIssuer ??= named;
        throw new Error(`it names another issuer, ${JSON.stringify(named)}`);
      }
      return {
        jwksUrl: urlIn(metadata, 'jwks_uri'),
        introspectionUrl: urlIn(metadata, 'introspection_endpoint'),
        authorizationUrl: urlIn(metadata, 'authorization_endpoint'),
        tokenUrl: urlIn(metadata, 'token_endpoint'),
        endSessionUrl: urlIn(metadata, 'end_session_endpoint'),
        namesItself: metadata['authorization_response_iss_parameter_supported'] === true,
        challengeMethods: listIn(metadata, 'code_challenge_methods_supported'),
        clientAuthMethods: listIn(metadata, 'token_endpoint_auth_methods_supported'),
      };
    } catch (error) {
      failures.push(`${url}: ${messageOf(error)}`);
    }
  }
  throw new MetadataError(`no metadata of issuer ${issuer} was found (${failures.join('; ')})`, otherIssuer);
}

/** Requires https: without it, keys could be forged and tokens intercepted. */
function urlIn(metadata: Record<string, unknown>, field: string): string | undefined {
  const { [field]: url } = metadata;
  return typeof url === 'string' && isSecureUrl(url) ? url : undefined;
}

function listIn(metadata: Record<string, unknown>, field: string): string[] | undefined {
  const { [field]: list } = metadata;
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : undefined;
}
