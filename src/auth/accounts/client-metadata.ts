/** What the gateway says of itself as a client of authorization servers. */

import { isSecureUrl } from '../../lib/secure-url.ts';

/** Where the document of the gateway is. */
export const CLIENT_METADATA_PATH = '/oauth/client-metadata.json';
/** Where people come back to from an authorization server. */
export const CALLBACK_PATH = '/oauth/callback';

export const CLIENT_NAME = 'Meanwhile';
export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/** The client ID metadata document, which authorization servers read at `<publicUrl>/oauth/client-metadata.json`. */
export function clientMetadata(publicUrl: string): Record<string, unknown> {
  const base = publicUrl.replace(/\/$/, '');
  return {
    client_id: `${base}${CLIENT_METADATA_PATH}`,
    client_name: CLIENT_NAME,
    client_uri: base,
    redirect_uris: [`${base}${CALLBACK_PATH}`],
    grant_types: GRANT_TYPES,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  };
}

/** The URL of the document; nothing if authorization servers could not read it, or would not believe it. */
export function clientMetadataUrl(publicUrl: string | undefined): string | undefined {
  if (publicUrl === undefined || !publicUrl.startsWith('https://') || !isSecureUrl(publicUrl)) return undefined;
  return `${publicUrl.replace(/\/$/, '')}${CLIENT_METADATA_PATH}`;
}

/** A program on the machine of its user, if people come back to that machine. */
export function applicationType(redirectUri: string): 'native' | 'web' {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'http:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname) ? 'native' : 'web';
}
