/** `auth` of a server: how the gateway signs in there, beyond what the server says itself. */

import { isSecureUrl } from '../lib/secure-url.ts';
import * as z from '../lib/schema/kinds.ts';

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** An https URL with a path, as authorization servers require it of a client id. */
function isDocumentUrl(text: string): boolean {
  if (!text.startsWith('https://') || !URL.canParse(text)) return false;
  const { pathname, search, hash, username } = new URL(text);
  return pathname !== '/' && search === '' && hash === '' && username === '';
}

const settings = z
  .strictObject({
    grant: z
      .enum(['authorization_code', 'client_credentials'])
      .default('authorization_code')
      .describe(
        '`authorization_code`: each person signs in, when the server first asks for it. `client_credentials`: the gateway signs in by ' +
          'itself with `clientId` and `clientSecret` or `privateKeyFile`, for all.',
      ),
    clientId: z
      .string()
      .min(1)
      .optional()
      .describe('The id of a client that is registered at the authorization server.'),
    clientSecret: z.string().min(1).optional().describe('Its secret, as a variable.'),
    privateKeyFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'A private key (PKCS #8, PEM) with which the client proves who it is, in place of a secret; relative to the folder of this file.',
      ),
    keyId: z.string().min(1).optional().describe('The id of that key (`kid`), if the authorization server needs it.'),
    algorithm: z.enum(ALGORITHMS).optional().describe('The algorithm of that key; `RS256` by default.'),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope has no spaces, quotes or backslashes'))
      .optional()
      .describe(
        'The scopes to ask for, in place of all that the server names. Those that it requires for a request are added.',
      ),
    issuer: z
      .string()
      .refine(isSecureUrl, 'expected the issuer as its metadata names it: https://…')
      .optional()
      .describe(
        'The authorization server, if the server names several or none. A client of the config is used with no other.',
      ),
    clientMetadataUrl: z
      .string()
      .refine(isDocumentUrl, 'expected an https:// URL with a path, without a query')
      .optional()
      .describe('The URL of a client ID metadata document, in place of that of the gateway.'),
    allowWithoutPkce: z
      .boolean()
      .optional()
      .describe('Accepts an authorization server that does not say that it supports PKCE. It is used all the same.'),
    shared: z
      .boolean()
      .optional()
      .describe('Whether all principals use one account: whoever signs in does so for all.'),
  })
  .checked((given, issues) => {
    if (issues.length > 0) return;
    const { grant, clientId, clientSecret, privateKeyFile, keyId, algorithm } = given as Record<
      string,
      string | undefined
    >;
    const mistake = (key: string, message: string): void => void issues.push({ code: 'custom', path: [key], message });
    if (clientSecret !== undefined && privateKeyFile !== undefined)
      mistake('privateKeyFile', 'remove it, or clientSecret');
    if (clientId === undefined && (clientSecret ?? privateKeyFile) !== undefined)
      mistake('clientId', 'missing: the secret or key is of a client');
    if (privateKeyFile === undefined && (keyId ?? algorithm) !== undefined)
      mistake(keyId === undefined ? 'algorithm' : 'keyId', 'has no effect without privateKeyFile');
    if (grant === 'client_credentials' && (clientId === undefined || (clientSecret ?? privateKeyFile) === undefined))
      mistake('grant', 'client_credentials needs a clientId, and a clientSecret or a privateKeyFile');
  });

export const serverAuthSchema = z
  .union([settings, z.literal(false)])
  .optional()
  .describe(
    'How the gateway [signs in](ACCOUNTS.md) at this server, where that is not what the server says itself; `false`: never. ' +
      'Not needed for most servers.',
  );
