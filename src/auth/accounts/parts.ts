/** What all accounts share. */

import type { AccountAt, AuthChallenge, HttpServerConfig, TokensChange } from '../../core/ports.ts';
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
  /** Requests to the addresses that a server may name. */
  fetchFor(server: string, config: HttpServerConfig): Promise<SafeFetch>;
  /** Where people come back to; `undefined` if the gateway does not listen. */
  redirectUri(): string | undefined | Promise<string | undefined>;
  changed(owner: string, server: string, what: TokensChange): void;
  /** Tells their issuer that tokens are not used any more, as far as that is possible. */
  revoke(tokens: TokensRecord): Promise<void>;
}

/** With the address: another server under the same name must not get the tokens. */
export const tokensId = (owner: string, server: string, url: string): string => digest('tokens', owner, server, url);

export interface Authorization {
  resource: Resource;
  server: AuthorizationServer;
}

/** Finds out who authorizes the clients of a server. */
export async function discover(
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

/** Whether two addresses differ at most in a slash at the end. */
export const isSame = (a: string, b: string): boolean => a === b || `${a}/` === b || `${b}/` === a;

/** Whether a server names this authorization server, or none at all. */
export const mayBeIssuer = ({ issuers }: Resource, issuer: string): boolean =>
  issuers === undefined || issuers.some((each) => isSame(each, issuer));
