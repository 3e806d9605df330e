/** Who the gateway is for an authorization server: registered before, by a document, or registered on the spot. */

import type { AccountAt } from '../../core/ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import { applicationType, CLIENT_NAME, clientMetadataUrl, GRANT_TYPES } from './client-metadata.ts';
import type { AuthorizationServer } from './discovery.ts';
import { AuthFailure } from './failure.ts';
import { digest, type AccountRecords, type Kept } from './records.ts';
import { objectIn, type SafeFetch } from './safe-fetch.ts';
import { includesAll, union } from './scopes.ts';
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
  /** At the end of the redirect URI and of the address of the document, if they are for this issuer alone. */
  segment?: string | undefined;
  scopes: readonly string[];
}

/** A registration for one server. Another server must not get the scopes of this one with it, so it has a registration of its own. */
interface Registration {
  issuer: string;
  redirectUri: string;
  server: string;
  url: string;
}

const DEFAULT_ALGORITHM = 'RS256';
/** So long, people who sign in use the same registration. Tokens that were issued to it do not need it. */
const REGISTRATION_MS = 90 * 86_400_000;

/** The client that the config names for a server; `undefined` if it names none. Throws if it is for another authorization server. */
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

/** A server must not get the credentials by naming another authorization server: they belong to the one that it named first. */
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
 * An authorization server that does not name itself in its responses gets a redirect URI of its own, so that another one cannot pass a
 * response of it off as its own (RFC 9700, 4.4.2). A client that was registered by hand has the redirect URI that its operator entered.
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

  /** The authorization server does not know this client any more. */
  async forget({ client, ...registration }: Registration & { client: OAuthClient }): Promise<void> {
    const kept = await this.#parts.records.get('client', registrationId(registration));
    if (kept?.value.client?.id === client.id) await this.#parts.records.drop(kept);
  }

  /** Deletes the registrations for a server that neither tokens nor sign-ins use any more. */
  async dropUnused(server: string): Promise<void> {
    const { records } = this.#parts;
    const registrations = await records.list('client', { server });
    if (registrations.length === 0) return;
    const users = [...(await records.list('tokens', { server })), ...(await records.list('sign_in', { server }))];
    const isUsed = ({ value: { issuer, client } }: Kept<'client'>): boolean =>
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
    const all = union(kept?.value.scopes ?? [], scopes);
    const { client, secretExpiresAt } = await register(endpoint, { ...wanted, scopes: all });
    const keepUntil = Math.min(secretExpiresAt ?? Infinity, clock.now() + REGISTRATION_MS);
    const record = { kind: 'client' as const, id, principal: '', server: name, keepUntil };
    const put = await records.put(record, { issuer: server.issuer, client, scopes: all }, kept ?? 'none');
    // Another gateway was faster, or the record is one that cannot be opened.
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

/** Some authorization servers let a client have only the scopes that it was registered for. */
function usable(kept: Kept<'client'> | undefined, scopes: readonly string[]): OAuthClient | undefined {
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
    // Scopes that clients must not be registered for, perhaps.
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
