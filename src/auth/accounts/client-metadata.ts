/** The metadata of the gateway as an OAuth client. */

import { isSecureUrl } from '../../lib/secure-url.ts';
import { SIGN_IN_CALLBACK_PATH } from '../../lib/sign-in-paths.ts';

/** The path of the metadata document; for a single issuer `/oauth/client-metadata/<segment>.json`. */
const METADATA_PATH = '/oauth/client-metadata';

export const CLIENT_NAME = 'Meanwhile';
export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/** The client ID metadata document at `<publicUrl>/oauth/client-metadata.json`; with a segment, the one for a single issuer. */
export function clientMetadata(publicUrl: string, segment?: string): Record<string, unknown> {
  const base = publicUrl.replace(/\/$/, '');
  return {
    client_id: metadataUrl(base, segment),
    client_name: CLIENT_NAME,
    client_uri: base,
    redirect_uris: [withSegment(`${base}${SIGN_IN_CALLBACK_PATH}`, segment)],
    grant_types: GRANT_TYPES,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  };
}

/** The URL of the document; `undefined` if authorization servers could not read or would not trust it. */
export function clientMetadataUrl(publicUrl: string | undefined, segment?: string): string | undefined {
  if (publicUrl === undefined || !publicUrl.startsWith('https://') || !isSecureUrl(publicUrl)) return undefined;
  return metadataUrl(publicUrl.replace(/\/$/, ''), segment);
}

const metadataUrl = (base: string, segment: string | undefined): string =>
  `${withSegment(`${base}${METADATA_PATH}`, segment)}.json`;

export const withSegment = (address: string, segment: string | undefined): string =>
  segment === undefined ? address : `${address}/${segment}`;

/** `native` if the browser returns to the machine of its user. */
export function applicationType(redirectUri: string): 'native' | 'web' {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'http:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname) ? 'native' : 'web';
}
