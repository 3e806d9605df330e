/** What a server and its authorization server say about authorization (RFC 9728, RFC 8414, OpenID Connect Discovery). */

import type { AuthChallenge } from '../../core/ports.ts';
import { isSecureUrl } from '../../lib/secure-url.ts';
import { metadataUrls } from '../metadata.ts';
import { AuthFailure } from './failure.ts';
import { objectIn, type SafeFetch } from './safe-fetch.ts';

/** A server as the resource that tokens are issued for. */
export interface Resource {
  /** Goes into every request for a token, exactly so. */
  resource: string;
  /** The authorization servers that it names; `undefined` if it does not say. */
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
  /** How clients prove who they are; `undefined` if it does not say. */
  authMethods: readonly string[] | undefined;
  /** Whether it says that it checks PKCE with SHA-256. */
  hasPkce: boolean;
  /** Whether its responses name it. */
  namesItself: boolean;
  /** Whether clients may be known by the URL of a document. */
  takesMetadataDocuments: boolean;
  /** Nothing says that there is one. */
  isAssumed?: true;
}

const RESOURCE_WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The server's URL as tokens name it: without a fragment, and without a slash where there is no path. */
export function resourceOf(serverUrl: string): string {
  const { origin, pathname, search } = new URL(serverUrl);
  return `${origin}${pathname === '/' && search === '' ? '' : pathname}${search}`;
}

/** The URL in the challenge first, then the well-known ones: with the path of the server, and at the root. */
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

/** Whether a resource is the server, or the part of its origin that the server is in. */
function covers(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname } = new URL(resource);
  const server = new URL(serverUrl);
  const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return origin === server.origin && withSlash(server.pathname).startsWith(withSlash(pathname));
}

/** Throws if there is none, or if it is that of another issuer. */
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

/** A server of the first version of MCP with authorization is its own authorization server, perhaps without metadata. */
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
  // Otherwise one authorization server could speak for another. Only a slash without a path is no difference: URLs are printed so.
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

/** Codes, tokens and secrets go there, and people are sent there. */
function secureUrlIn(metadata: Record<string, unknown>, field: string, from: string): string | undefined {
  const { [field]: url } = metadata;
  if (url === undefined || url === null) return undefined;
  if (typeof url !== 'string' || !isSecureUrl(url))
    throw new AuthFailure(`${field} in ${from} is not an https:// address`);
  return url;
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string' && each !== '') : [];

/** The JSON object there; `undefined` if there is none. */
async function document(fetch: SafeFetch, url: string): Promise<Record<string, unknown> | undefined> {
  const response = await fetch(url);
  const { status } = response;
  if (status >= 500 && status !== 502)
    throw new AuthFailure(`${url} responds with status ${status}`, { mayPass: true });
  return status === 200 ? objectIn(response) : undefined;
}
