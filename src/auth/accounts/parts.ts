/** Dependencies and discovery that all accounts share. */

import type { TokensChange } from '../../core/ports/account-store.ts';
import type { AccountAt, AuthChallenge } from '../../core/ports/accounts.ts';
import type { HttpServerConfig } from '../../core/ports/server-config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import {
  discoverAuthorizationServer,
  discoverOwnAuthorizationServer,
  discoverResource,
  type AuthorizationServer,
  type Resource,
} from './discovery.ts';
import type { Clients } from './clients.ts';
import { AuthFailure } from './failure.ts';
import { digest, type AccountRecords, type TokensRecord } from './records.ts';
import type { RefusedSignIns } from './refused-sign-ins.ts';
import type { SafeFetch } from './safe-fetch.ts';

export interface Shared {
  records: AccountRecords;
  clients: Clients;
  refused: RefusedSignIns;
  clock: Clock;
  log: Log;
  /** The fetch function that reaches only addresses which this server may name. */
  fetchFor(server: string, config: HttpServerConfig): Promise<SafeFetch>;
  /** Where the browser returns after a sign-in; `undefined` if the gateway does not listen. */
  redirectUri(): string | undefined | Promise<string | undefined>;
  changed(owner: string, server: string, what: TokensChange): void;
  /** Revokes the tokens if possible. */
  revoke(tokens: TokensRecord): Promise<void>;
}

/** Includes the URL, so that another server with the same name cannot get the tokens. */
export const tokensId = (owner: string, server: string, url: string): string => digest('tokens', owner, server, url);

export interface Authorization {
  resource: Resource;
  server: AuthorizationServer;
}

/** Discovers the authorization server of a server. */
export async function discoverAuthorization(
  fetch: SafeFetch,
  { server: name, config: { url, auth } }: AccountAt,
  challenge?: AuthChallenge,
): Promise<Authorization> {
  const resource = await discoverResource(fetch, url, challenge);
  const wanted = auth ? auth.issuer : undefined;
  if (
    wanted !== undefined &&
    resource.issuers !== undefined &&
    !resource.issuers.some((each) => isSame(each, wanted))
  ) {
    throw new AuthFailure(
      `'${name}' names the authorization server ${resource.issuers.join(', ')}, and mcpServers.${name}.auth.issuer is ${wanted}`,
    );
  }
  const issuer = wanted ?? resource.issuers?.[0];
  const server =
    issuer === undefined
      ? await discoverOwnAuthorizationServer(fetch, url)
      : await discoverAuthorizationServer(fetch, issuer);
  return { resource, server };
}

/** Whether two URLs differ at most in a trailing slash. */
export const isSame = (a: string, b: string): boolean => a === b || `${a}/` === b || `${b}/` === a;

/** Whether a server names this authorization server, or none at all. */
export const mayBeIssuer = ({ issuers }: Resource, issuer: string): boolean =>
  issuers === undefined || issuers.some((each) => isSame(each, issuer));
