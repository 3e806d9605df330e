/** What an authorization server says of itself (RFC 8414, OpenID Connect Discovery). */

import { messageOf } from '../lib/log.ts';
import { isSecureUrl } from '../lib/secure-url.ts';
import { isObject } from '../lib/values.ts';
import { fetchJson } from './fetch-json.ts';

export interface IssuerMetadata {
  jwksUrl: string | undefined;
  introspectionUrl: string | undefined;
}

/** Where the metadata may be: with the well-known part before the path, or after it, as OpenID Connect has it. */
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

/** Throws if no metadata of this issuer can be found. */
export async function discover(issuer: string): Promise<IssuerMetadata> {
  const failures: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      const metadata = await fetchJson(url);
      if (!isObject(metadata)) throw new Error('no JSON object');
      // Otherwise one issuer could speak for another.
      if (metadata['issuer'] !== issuer) throw new Error(`it is that of issuer ${JSON.stringify(metadata['issuer'])}`);
      return { jwksUrl: urlIn(metadata, 'jwks_uri'), introspectionUrl: urlIn(metadata, 'introspection_endpoint') };
    } catch (error) {
      failures.push(`${url}: ${messageOf(error)}`);
    }
  }
  throw new Error(`no metadata of issuer ${issuer} was found (${failures.join('; ')})`);
}

/** Keys that come without https could be anybody's, and tokens that go without it would be read. */
function urlIn(metadata: Record<string, unknown>, field: string): string | undefined {
  const { [field]: url } = metadata;
  return typeof url === 'string' && isSecureUrl(url) ? url : undefined;
}
