/** The OAuth client that the gateway uses: from the config, with a metadata document, or registered dynamically. */

import type { AccountAt } from '../../core/ports/accounts.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import { applicationType, CLIENT_NAME, clientMetadataUrl, GRANT_TYPES } from './client-metadata.ts';
import type { AuthorizationServer } from './discovery.ts';
import { AuthFailure } from './failure.ts';
import { digest, type AccountRecords, type DecryptedRecord } from './records.ts';
import { objectIn, type SafeFetch } from './safe-fetch.ts';
import { includesAll, mergeScopes } from './scopes.ts';
import { refusalOf, type AuthMethod, type OAuthClient } from './token-endpoint.ts';

export interface ClientsParts {
  records: AccountRecords;
  clock: Clock;
  publicUrl?: string | undefined;
}

interface Wanted {
  fetch: SafeFetch;
  server: AuthorizationServer;
  redirectUri: string;
  /** The end of the redirect URI and of the document's URL, if they are for this issuer only. */
  segment?: string | undefined;
  scopes: readonly string[];
}

/** A registration for one server. Each server has its own, so that it cannot get the scopes of another. */
interface Registration {
  issuer: string;
  redirectUri: string;
  server: string;
  url: string;
}

const DEFAULT_ALGORITHM = 'RS256';
/** How long new sign-ins use the same registration. Existing tokens work without it. */
const REGISTRATION_MS = 90 * 86_400_000;

/** The client in the config of a server; `undefined` if there is none. Throws if it belongs to another authorization server. */
export async function configuredClient(
  records: AccountRecords,
  { server: name, config: { auth, url } }: AccountAt,
  server: AuthorizationServer,
): Promise<OAuthClient | undefined> {
  if (!auth || auth.clientId === undefined) return undefined;
  const { clientId: id, clientSecret: secret, privateKeyFile: file, keyId, algorithm = DEFAULT_ALGORITHM } = auth;
  if (auth.issuer === undefined) await bindToIssuer(records, { name, url, clientId: id }, server.issuer);
  if (file !== undefined)
    return { id, method: 'private_key_jwt', key: { file, algorithm, ...(keyId !== undefined && { id: keyId }) } };
  if (secret === undefined) return { id, method: 'none' };
  const isPost =
    server.authMethods?.includes('client_secret_basic') === false && server.authMethods.includes('client_secret_post');
  return { id, secret, method: isPost ? 'client_secret_post' : 'client_secret_basic' };
}

/** Binds the credentials to the issuer that the server names first, so that it cannot steal them by naming another one. */
async function bindToIssuer(
  records: AccountRecords,
  { name, url, clientId }: { name: string; url: string; clientId: string },
  issuer: string,
): Promise<void> {
  const id = digest('issuer of', name, url, clientId);
  const first = await records.put({ kind: 'client', id, principal: '', server: '' }, { issuer }, 'none');
  const bound = first ?? (await records.get('client', id));
  if (bound === undefined) {
    throw new AuthFailure(
      `the authorization server of the client for '${name}' is unknown, because its record is encrypted with another key; ` +
        `set mcpServers.${name}.auth.issuer`,
    );
  }
  if (bound.value.issuer !== issuer) {
    throw new AuthFailure(
      `'${name}' names the authorization server ${issuer}, but its client in the config was used with ${bound.value.issuer}; ` +
        `check that the change is intended, and set mcpServers.${name}.auth.issuer`,
    );
  }
}

/**
 * An authorization server that does not name itself in its responses gets its own redirect URI, so that another one cannot present such
 * a response as its own (RFC 9700, 4.4.2). A client that was registered by hand has the redirect URI that its operator entered.
 */
export function segmentFor({ config: { auth } }: AccountAt, server: AuthorizationServer): string | undefined {
  const isByHand = auth && (auth.clientId !== undefined || auth.clientMetadataUrl !== undefined);
  return server.namesItself || isByHand ? undefined : digest('redirect URI for', server.issuer);
}

export class Clients {
  readonly #parts: ClientsParts;

  constructor(parts: ClientsParts) {
    this.#parts = parts;
  }

  async find(account: AccountAt, wanted: Wanted): Promise<OAuthClient> {
    const { server } = wanted;
    const configured = await configuredClient(this.#parts.records, account, server);
    if (configured) return configured;
    const { auth } = account.config;
    const document =
      (auth ? auth.clientMetadataUrl : undefined) ?? clientMetadataUrl(this.#parts.publicUrl, wanted.segment);
    if (server.takesMetadataDocuments && document !== undefined) return { id: document, method: 'none' };
    if (server.registrationEndpoint !== undefined)
      return this.#registered(account, server.registrationEndpoint, wanted);
    const documents = server.takesMetadataDocuments
      ? ', or set an https publicUrl so that it can read the metadata document of the gateway'
      : '';
    throw new AuthFailure(
      `${server.issuer} does not support dynamic client registration: register a client there with the redirect URI ${wanted.redirectUri}, and set ` +
        `mcpServers.${account.server}.auth.clientId${documents}`,
    );
  }

  /** Called when the authorization server no longer knows this client. */
  async forget({ client, ...registration }: Registration & { client: OAuthClient }): Promise<void> {
    const kept = await this.#parts.records.get('client', registrationId(registration));
    if (kept?.value.client?.id === client.id) await this.#parts.records.drop(kept);
  }

  /** Deletes the registrations for a server that no tokens or sign-ins use. */
  async dropUnused(server: string): Promise<void> {
    const { records } = this.#parts;
    const registrations = await records.list('client', { server });
    if (registrations.length === 0) return;
    const users = [...(await records.list('tokens', { server })), ...(await records.list('sign_in', { server }))];
    const isUsed = ({ value: { issuer, client } }: DecryptedRecord<'client'>): boolean =>
      users.some(({ value }) => value.issuer === issuer && value.client.id === client?.id);
    for (const kept of registrations) if (!isUsed(kept)) await records.drop(kept);
  }

  async #registered(
    { server: name, config: { url } }: AccountAt,
    endpoint: string,
    wanted: Wanted,
  ): Promise<OAuthClient> {
    const { records, clock } = this.#parts;
    const { server, redirectUri, scopes } = wanted;
    const id = registrationId({ issuer: server.issuer, redirectUri, server: name, url });
    const kept = await records.get('client', id);
    const known = usable(kept, scopes);
    if (known) return known;
    const all = mergeScopes(kept?.value.scopes ?? [], scopes);
    const { client, secretExpiresAt } = await register(endpoint, { ...wanted, scopes: all });
    const keepUntil = Math.min(secretExpiresAt ?? Infinity, clock.now() + REGISTRATION_MS);
    const record = { kind: 'client' as const, id, principal: '', server: name, keepUntil };
    const put = await records.put(record, { issuer: server.issuer, client, scopes: all }, kept ?? 'none');
    // Another gateway was faster, or the stored record cannot be decrypted.
    if (put === undefined) {
      const other = usable(await records.get('client', id), scopes);
      if (other) return other;
      await records.put(record, { issuer: server.issuer, client, scopes: all }, 'any');
    }
    return client;
  }
}

const registrationId = ({ issuer, redirectUri, server, url }: Registration): string =>
  digest('client', issuer, redirectUri, server, url);

/** Some authorization servers grant a client only the scopes that it registered for. */
function usable(kept: DecryptedRecord<'client'> | undefined, scopes: readonly string[]): OAuthClient | undefined {
  return kept?.value.client && includesAll(kept.value.scopes ?? [], scopes) ? kept.value.client : undefined;
}

/** A program on the machine of its user cannot keep a secret; the gateway of a team can. */
function authMethod(supported: readonly string[] = ['client_secret_basic'], redirectUri: string): AuthMethod {
  const secrets = ['client_secret_basic', 'client_secret_post'] as const;
  const order: AuthMethod[] = applicationType(redirectUri) === 'native' ? ['none', ...secrets] : [...secrets, 'none'];
  return order.find((method) => supported.includes(method)) ?? 'none';
}

interface Registered {
  client: OAuthClient;
  secretExpiresAt?: number;
}

async function register(endpoint: string, wanted: Wanted): Promise<Registered> {
  const { scopes } = wanted;
  try {
    return await tryToRegister(endpoint, wanted, scopes);
  } catch (error) {
    // The authorization server may not allow clients to register for these scopes.
    if (!(error instanceof AuthFailure) || error.mayPass || scopes.length === 0) throw error;
    return tryToRegister(endpoint, wanted, []);
  }
}

async function tryToRegister(
  endpoint: string,
  { fetch, server, redirectUri }: Wanted,
  scopes: readonly string[],
): Promise<Registered> {
  const method = authMethod(server.authMethods, redirectUri);
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: CLIENT_NAME,
      redirect_uris: [redirectUri],
      grant_types: GRANT_TYPES,
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: applicationType(redirectUri),
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    }),
  });
  const said = objectIn(response) ?? {};
  if (response.status !== 201 && response.status !== 200) {
    const refusal = refusalOf(response, said, server.issuer);
    throw new AuthFailure(
      `${messageOf(refusal)} (when registering the gateway with the redirect URI ${redirectUri})`,
      refusal,
    );
  }
  const {
    client_id: id,
    client_secret: secret,
    token_endpoint_auth_method: given = method,
    client_secret_expires_at: end,
  } = said;
  if (typeof id !== 'string' || id === '')
    throw new AuthFailure(`${server.issuer} registered the gateway without a client_id`);
  const chosen = (['none', 'client_secret_basic', 'client_secret_post'] as const).find((each) => each === given);
  if (chosen === undefined)
    throw new AuthFailure(`${server.issuer} requires a client authentication method that is not supported`);
  const hasSecret = typeof secret === 'string' && secret !== '';
  return {
    client: { id, method: hasSecret ? chosen : 'none', ...(hasSecret && { secret }) },
    ...(typeof end === 'number' && end > 0 && { secretExpiresAt: end * 1000 }),
  };
}
