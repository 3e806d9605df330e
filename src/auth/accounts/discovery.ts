/** Discovery of a server's authorization metadata (RFC 9728, RFC 8414, OpenID Connect Discovery). */

import type { AuthChallenge } from '../../core/ports/accounts.ts';
import { isSecureUrl } from '../../lib/secure-url.ts';
import { metadataUrls } from '../metadata.ts';
import { AuthFailure } from './failure.ts';
import { objectIn, type SafeFetch } from './safe-fetch.ts';

/** A server as the resource that tokens are issued for. */
export interface Resource {
  /** Sent unchanged with every token request. */
  resource: string;
  /** The authorization servers that the server names; `undefined` if it names none. */
  issuers: readonly string[] | undefined;
  scopes: readonly string[];
}

export interface AuthorizationServer {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  registrationEndpoint: string | undefined;
  revocationEndpoint: string | undefined;
  scopes: readonly string[];
  /** The supported client authentication methods; `undefined` if not announced. */
  authMethods: readonly string[] | undefined;
  /** Whether it announces PKCE with S256. */
  hasPkce: boolean;
  /** Whether its responses contain `iss`. */
  namesItself: boolean;
  /** Whether it supports client ID metadata documents. */
  takesMetadataDocuments: boolean;
  /** Set if no metadata was found, and the default endpoints are assumed. */
  isAssumed?: true;
}

const RESOURCE_WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The server's URL as a resource indicator: without a fragment, and without a slash if there is no path. */
export function resourceOf(serverUrl: string): string {
  const { origin, pathname, search } = new URL(serverUrl);
  return `${origin}${pathname === '/' && search === '' ? '' : pathname}${search}`;
}

/** First the URL in the challenge, then the well-known URLs with the path of the server and at the root. */
function resourceMetadataUrls(serverUrl: string, { resourceMetadata }: Partial<AuthChallenge>): string[] {
  const { origin, pathname, search } = new URL(serverUrl);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      ...(resourceMetadata === undefined ? [] : [resourceMetadata]),
      `${origin}${RESOURCE_WELL_KNOWN}${path}${search}`,
      `${origin}${RESOURCE_WELL_KNOWN}`,
    ]),
  ];
}

export async function discoverResource(
  fetch: SafeFetch,
  serverUrl: string,
  challenge: Partial<AuthChallenge> = {},
): Promise<Resource> {
  for (const url of resourceMetadataUrls(serverUrl, challenge)) {
    const metadata = await document(fetch, url);
    if (metadata === undefined) continue;
    const { resource, scopes_supported: scopes, authorization_servers: issuers } = metadata;
    if (typeof resource !== 'string' || !covers(resource, serverUrl)) {
      throw new AuthFailure(
        `${url} describes the resource ${JSON.stringify(resource)}, not ${resourceOf(serverUrl)}; tokens for it would not be for this server`,
      );
    }
    const named = texts(issuers);
    return { resource, issuers: named.length > 0 ? named : undefined, scopes: texts(scopes) };
  }
  return { resource: resourceOf(serverUrl), issuers: undefined, scopes: [] };
}

/** Whether a resource is the server or a parent path of it. */
function covers(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname } = new URL(resource);
  const server = new URL(serverUrl);
  const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return origin === server.origin && withSlash(server.pathname).startsWith(withSlash(pathname));
}

/** Throws if the metadata is missing or names another issuer. */
export async function discoverAuthorizationServer(fetch: SafeFetch, issuer: string): Promise<AuthorizationServer> {
  if (!isSecureUrl(issuer)) throw new AuthFailure(`the authorization server ${issuer} is not an https:// address`);
  for (const url of metadataUrls(issuer)) {
    const metadata = await document(fetch, url);
    if (metadata === undefined) continue;
    return read(metadata, issuer, url);
  }
  throw new AuthFailure(
    `no metadata of the authorization server ${issuer} was found at ${metadataUrls(issuer).join(', ')}`,
  );
}

/** In the first version of MCP authorization, a server is its own authorization server, possibly without metadata. */
export async function discoverOwnAuthorizationServer(
  fetch: SafeFetch,
  serverUrl: string,
): Promise<AuthorizationServer> {
  const { origin } = new URL(serverUrl);
  for (const url of metadataUrls(origin)) {
    const metadata = await document(fetch, url);
    if (metadata !== undefined) return read(metadata, origin, url);
  }
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    revocationEndpoint: undefined,
    scopes: [],
    authMethods: undefined,
    hasPkce: false,
    namesItself: false,
    takesMetadataDocuments: false,
    isAssumed: true,
  };
}

function read(metadata: Record<string, unknown>, expected: string, url: string): AuthorizationServer {
  const { issuer } = metadata;
  // Otherwise one authorization server could impersonate another. A slash after the origin makes no difference: URL adds it.
  const isSame = issuer === expected || (typeof issuer === 'string' && isRoot(expected) && `${issuer}/` === expected);
  if (!isSame) throw new AuthFailure(`${url} is the metadata of issuer ${JSON.stringify(issuer)}, not of ${expected}`);
  const required = (field: string): string => {
    const found = secureUrlIn(metadata, field, url);
    if (found === undefined) throw new AuthFailure(`${url} has no ${field}`);
    return found;
  };
  const { token_endpoint_auth_methods_supported: authMethods } = metadata;
  return {
    issuer,
    authorizationEndpoint: required('authorization_endpoint'),
    tokenEndpoint: required('token_endpoint'),
    registrationEndpoint: secureUrlIn(metadata, 'registration_endpoint', url),
    revocationEndpoint: secureUrlIn(metadata, 'revocation_endpoint', url),
    scopes: texts(metadata['scopes_supported']),
    authMethods: Array.isArray(authMethods) ? texts(authMethods) : undefined,
    hasPkce: texts(metadata['code_challenge_methods_supported']).includes('S256'),
    namesItself: metadata['authorization_response_iss_parameter_supported'] === true,
    takesMetadataDocuments: metadata['client_id_metadata_document_supported'] === true,
  };
}

const isRoot = (url: string): boolean => new URL(url).pathname === '/' && url.endsWith('/');

/** Requires https, because codes, tokens, secrets and people are sent there. */
function secureUrlIn(metadata: Record<string, unknown>, field: string, from: string): string | undefined {
  const { [field]: url } = metadata;
  if (url === undefined || url === null) return undefined;
  if (typeof url !== 'string' || !isSecureUrl(url))
    throw new AuthFailure(`${field} in ${from} is not an https:// address`);
  return url;
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string' && each !== '') : [];

/** The JSON object at a URL; `undefined` if there is none. */
async function document(fetch: SafeFetch, url: string): Promise<Record<string, unknown> | undefined> {
  const response = await fetch(url);
  const { status } = response;
  if (status >= 500 && status !== 502)
    throw new AuthFailure(`${url} responds with status ${status}`, { mayPass: true });
  return status === 200 ? objectIn(response) : undefined;
}
