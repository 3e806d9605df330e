/** Checks for `meanwhile doctor` whether the gateway can use an authorization server as configured. */

import { GatewayError } from '../core/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { createLog, messageOf } from '../lib/log.ts';
import { isSecureUrl } from '../lib/secure-url.ts';
import { isObject } from '../lib/values.ts';
import { fetchJson } from './fetch-json.ts';
import { createLogins } from './login.ts';
import { discoverIssuer, MetadataError, type IssuerMetadata } from './metadata.ts';
import type { AuthSettings, IssuerSettings } from './settings.ts';
import { createIssuers } from './verifier.ts';

const TIMEOUT_MS = 5000;

export interface IssuerProblem {
  problem: string;
  fix?: string;
}

export interface GatewayUrls {
  /** Where people and clients reach the gateway. */
  publicUrl: string | undefined;
  /** The address to use without `publicUrl`. */
  listening: string;
}

export async function examineIssuer(
  settings: IssuerSettings,
  scopes: AuthSettings['scopes'],
  address: GatewayUrls,
): Promise<IssuerProblem[]> {
  const { issuer } = settings;
  let metadata: IssuerMetadata | undefined;
  const problems = addressProblems(address);
  try {
    metadata = await discoverIssuer(issuer);
  } catch (error) {
    // With `jwksUrl` and without `console`, the gateway does not need the metadata.
    if (settings.jwksUrl === undefined || settings.console !== undefined) problems.push(metadataProblem(error));
  }
  problems.push(...(await keyProblems(settings, metadata)));
  if (metadata !== undefined) {
    if (
      settings.introspection !== undefined &&
      (settings.introspection.url ?? metadata.introspectionUrl) === undefined
    ) {
      problems.push({
        problem: 'its metadata names no introspection_endpoint with https',
        fix: 'set introspection.url of this issuer, or remove introspection',
      });
    }
    if (settings.console !== undefined) problems.push(...(await loginProblems(settings, scopes, address)));
  }
  return problems;
}

function addressProblems({ publicUrl, listening }: GatewayUrls): IssuerProblem[] {
  const example = 'such as https://gateway.example.com';
  if (publicUrl === undefined) {
    if (isSecureUrl(listening)) return [];
    const problem =
      'publicUrl is missing: tokens are issued for the address that clients use, which the gateway does not know';
    return [{ problem, fix: `set publicUrl to the address that clients use, ${example}` }];
  }
  if (isSecureUrl(publicUrl)) return [];
  const problem = `publicUrl is ${publicUrl}, without https: tokens can be intercepted, and clients refuse to send them`;
  return [{ problem, fix: `put a TLS proxy in front of the gateway, and set publicUrl to its address, ${example}` }];
}

function metadataProblem(error: unknown): IssuerProblem {
  const other = error instanceof MetadataError ? error.otherIssuer : undefined;
  if (other !== undefined) {
    return {
      problem: `its metadata is that of the issuer ${JSON.stringify(other)}: tokens would not be accepted`,
      fix: 'write the issuer in the config exactly as its metadata names it, with or without a slash at the end',
    };
  }
  return {
    problem: messageOf(error),
    fix: 'check the issuer; the machine of the gateway must reach it over https',
  };
}

async function keyProblems(
  { jwksUrl, introspection }: IssuerSettings,
  metadata?: IssuerMetadata,
): Promise<IssuerProblem[]> {
  const url = jwksUrl ?? metadata?.jwksUrl;
  if (url === undefined) {
    // Missing metadata is reported already, and introspection needs no keys.
    if (metadata === undefined || introspection !== undefined) return [];
    return [
      {
        problem: 'its metadata names no jwks_uri with https, so no signature can be checked',
        fix: 'set jwksUrl of this issuer',
      },
    ];
  }
  const fix = jwksUrl === undefined ? 'the machine of the gateway must reach it' : 'check jwksUrl of this issuer';
  try {
    const found = await fetchJson(url);
    const keys = isObject(found) && Array.isArray(found['keys']) ? found['keys'] : [];
    return keys.length > 0 ? [] : [{ problem: `there are no keys at ${url}`, fix }];
  } catch (error) {
    return [{ problem: `its keys at ${url} cannot be read: ${messageOf(error)}`, fix }];
  }
}

/** Starts a sign-in like a browser, without a person, and returns the problems on the way. */
async function loginProblems(
  settings: IssuerSettings,
  scopes: AuthSettings['scopes'],
  { publicUrl, listening }: GatewayUrls,
): Promise<IssuerProblem[]> {
  const { issuer } = settings;
  const log = createLog('silent');
  const auth = { issuers: [settings], scopes };
  const logins = createLogins({ issuers: createIssuers(auth, systemClock, log), scopes, log });
  const redirectUri = `${(publicUrl ?? listening).replace(/\/$/, '')}/console/callback`;
  try {
    const { url, pending } = await logins.begin(issuer, redirectUri);
    const refusal = await authorizationProblem(url, redirectUri);
    if (refusal !== undefined) return [refusal];
    // The code is invalid. The issuer reports that only to a client whose credentials it accepts.
    const parameters = new URLSearchParams({ state: pending.state, iss: issuer, code: 'meanwhile-doctor' });
    await logins.complete(pending, parameters);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'TOOL_ERR_UNAUTHORIZED') return [];
    const fix = 'check clientId, clientSecret and clientAuth in console of this issuer';
    return [{ problem: `console: ${error.message}`, ...(error.code === 'TOOL_ERR_EXECUTION_FAILED' && { fix }) }];
  }
}

/** An issuer redirects the browser back only if it knows the client and the redirect URI. Otherwise it shows an error page. */
async function authorizationProblem(authorizationUrl: string, redirectUri: string): Promise<IssuerProblem | undefined> {
  const url = new URL(authorizationUrl);
  url.searchParams.set('prompt', 'none');
  let response: Response;
  try {
    response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
  } catch (error) {
    return { problem: `console: ${url.origin}${url.pathname} cannot be reached: ${messageOf(error)}` };
  }
  const location = response.headers.get('location') ?? '';
  if (response.status >= 400 && response.status < 500) {
    return {
      problem: `console: the issuer refuses the client ${JSON.stringify(url.searchParams.get('client_id'))} with the redirect URI ${redirectUri} (HTTP status ${response.status})`,
      fix: `add ${redirectUri}, exactly so, to the redirect URIs of the client at the issuer, and check clientId`,
    };
  }
  if (!location.startsWith(`${redirectUri}?`)) return undefined;
  const said = new URL(location).searchParams;
  const error = said.get('error') ?? '';
  // The issuer requires a person to sign in, as expected.
  if (error === '' || /^(?:login|interaction|consent|account_selection)_required$/.test(error)) return undefined;
  const fix =
    error === 'invalid_scope'
      ? 'allow the client to request these scopes at the issuer, or set others in console.scopes and auth.scopes'
      : 'check the settings of the client at the issuer: it must allow the authorization code flow with PKCE';
  const description = said.get('error_description') ?? '';
  return { problem: `console: the issuer responds with ${error}${description === '' ? '' : ` (${description})`}`, fix };
}
