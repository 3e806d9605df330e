/** Requests to the endpoints of an authorization server that require client authentication. */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { cleanLine } from '../../lib/clean.ts';
import { messageOf } from '../../lib/log.ts';
import { shortenText } from '../../lib/shorten.ts';
import type { AuthorizationServer } from './discovery.ts';
import { AuthFailure } from './failure.ts';
import { objectIn, type SafeFetch, type SafeResponse } from './safe-fetch.ts';
import { scopesIn } from './scopes.ts';

export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** The gateway as a client of one authorization server. */
export interface OAuthClient {
  id: string;
  secret?: string;
  method: AuthMethod;
  /** For `private_key_jwt`. */
  key?: { file: string; id?: string; algorithm: string };
}

export interface IssuedTokens {
  accessToken: string;
  refreshToken?: string;
  /** In seconds. */
  expiresIn?: number;
  /** Absent if all requested scopes were granted. */
  scopes?: string[];
}

/** How long a client assertion is valid. */
const ASSERTION_SECONDS = 60;

export async function requestTokens(
  fetch: SafeFetch,
  server: Pick<AuthorizationServer, 'issuer' | 'tokenEndpoint'>,
  client: OAuthClient,
  fields: Record<string, string>,
): Promise<IssuedTokens> {
  const response = await post(fetch, server, server.tokenEndpoint, client, fields);
  const said = objectIn(response) ?? {};
  if (response.status !== 200) throw refusalOf(response, said, server.issuer);
  const { access_token: accessToken, token_type: type, refresh_token: refreshToken, expires_in: expires, scope } = said;
  if (typeof accessToken !== 'string' || !/^[\x21-\x7e]+$/.test(accessToken))
    throw new AuthFailure(`${server.issuer} sent no access token`);
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer')
    throw new AuthFailure(`${server.issuer} sent a token of type ${cleanLine(type)}; only Bearer is supported`);
  const expiresIn = Number(expires);
  return {
    accessToken,
    ...(typeof refreshToken === 'string' && refreshToken !== '' && { refreshToken }),
    ...(expires !== undefined && expires !== null && expiresIn > 0 && { expiresIn }),
    ...(typeof scope === 'string' && scope !== '' && { scopes: scopesIn(scope) }),
  };
}

/** Revokes a token (RFC 7009). */
export async function revokeToken(
  fetch: SafeFetch,
  server: Pick<AuthorizationServer, 'issuer' | 'revocationEndpoint'>,
  client: OAuthClient,
  token: { value: string; hint: 'refresh_token' | 'access_token' },
): Promise<void> {
  if (server.revocationEndpoint === undefined) return;
  const fields = { token: token.value, token_type_hint: token.hint };
  const response = await post(fetch, server, server.revocationEndpoint, client, fields);
  if (response.status !== 200) throw refusalOf(response, objectIn(response) ?? {}, server.issuer);
}

async function post(
  fetch: SafeFetch,
  { issuer }: Pick<AuthorizationServer, 'issuer'>,
  url: string,
  client: OAuthClient,
  fields: Record<string, string>,
): Promise<SafeResponse> {
  const body = new URLSearchParams(fields);
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  switch (client.method) {
    case 'client_secret_basic': {
      const credentials = [client.id, client.secret ?? ''].map(formEncoded).join(':');
      headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
      break;
    }
    case 'client_secret_post':
      body.set('client_id', client.id);
      body.set('client_secret', client.secret ?? '');
      break;
    case 'private_key_jwt':
      body.set('client_id', client.id);
      body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      body.set('client_assertion', await assertion(client, issuer));
      break;
    case 'none':
      body.set('client_id', client.id);
      break;
  }
  return fetch(url, { method: 'POST', headers, body: body.toString() });
}

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** The client assertion for `private_key_jwt` (RFC 7523). */
async function assertion({ id, key }: OAuthClient, issuer: string): Promise<string> {
  if (key === undefined) throw new AuthFailure('the client has no private key; set privateKeyFile');
  const { importPKCS8, SignJWT } = await import('jose');
  try {
    const privateKey = await importPKCS8(await readFile(key.file, 'utf8'), key.algorithm);
    return await new SignJWT({})
      .setProtectedHeader({ alg: key.algorithm, typ: 'JWT', ...(key.id !== undefined && { kid: key.id }) })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(issuer)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime(`${ASSERTION_SECONDS}s`)
      .sign(privateKey);
  } catch (error) {
    throw new AuthFailure(`the key in ${key.file} cannot be used with ${key.algorithm}: ${messageOf(error)}`);
  }
}

const SHOWN_CHARS = 200;

/** Text from an authorization server, cleaned and shortened to show it to people. */
export const quoted = (text: unknown): string =>
  typeof text === 'string' ? shortenText(cleanLine(text), SHOWN_CHARS) : '';

export function refusalOf({ status }: SafeResponse, said: Record<string, unknown>, issuer: string): AuthFailure {
  const code = typeof said['error'] === 'string' ? quoted(said['error']) : undefined;
  const why = [code ?? `status ${status}`, quoted(said['error_description'])].filter((part) => part !== '').join(': ');
  const mayPass =
    code === undefined ? status >= 500 || status === 429 : ['temporarily_unavailable', 'server_error'].includes(code);
  return new AuthFailure(`${issuer} refused the request: ${why}`, { oauthError: code, mayPass });
}
