import type { Accounts } from '../core/ports/accounts.ts';
import type { Backends } from '../core/ports/connection.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import { addressCheck, type AddressCheck, type AllowedAddresses } from '../lib/addresses.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ServerConnection, type ConnectionSettings } from './connection.ts';
import { Dialler, GATEWAY_IDENTITY } from './dial.ts';
import { PingSchedule } from './heartbeat.ts';
import { hasOwnCredentials, type ConnectionAccount } from '../core/sign-in/connection-account.ts';
import { MessageLimits } from './transport/message-size.ts';

export interface BackendSettings extends Omit<
  ConnectionSettings,
  'persistent' | 'preferences' | 'clock' | 'pings' | 'onUnmatchedPattern' | 'account'
> {
  connectTimeoutMs: number;
  pingMs: number;
  /** The largest accepted message of a server. */
  messageBytes: number;
  clock?: Clock;
  /** The accounts of principals on servers; without them, servers that require authorization refuse requests. */
  accounts?: BackendAccounts | undefined;
}

/** `linkTo`: the sign-in page. */
export interface BackendAccounts extends Pick<ConnectionAccount, 'linkTo'> {
  tokens: Accounts['tokens'];
}

/** `addressesForClients`: the allowed addresses of servers that clients added. */
export function createBackends(
  { messageBytes, connectTimeoutMs, pingMs, clock = systemClock, accounts, ...settings }: BackendSettings,
  addressesForClients: AllowedAddresses,
  log: Log,
): Backends {
  const limits = new MessageLimits(messageBytes, clock);
  const pings = new PingSchedule(pingMs, clock);
  const diallers = (isAllowed: AddressCheck | undefined): Record<'plain' | 'withRoots', Dialler> => ({
    plain: new Dialler(connectTimeoutMs, GATEWAY_IDENTITY, { isAllowed, limits, clock }),
    withRoots: new Dialler(connectTimeoutMs, { ...GATEWAY_IDENTITY, roots: true }, { isAllowed, limits, clock }),
  });
  const from = { 'config file': diallers(undefined), client: diallers(addressCheck(addressesForClients)) };
  const reported = new Set<string>();
  const onUnmatchedPattern = (server: string, pattern: string): void => {
    const key = `${server}\n${pattern}`;
    if (!reported.has(key)) log.warn('tool_pattern_unmatched', { server, pattern });
    reported.add(key);
  };
  return {
    connect: (server, config, sink, { roots, preferences, addedBy, principal }) => {
      const dialler = from[addedBy][roots ? 'withRoots' : 'plain'];
      const account = accountAt({ principal, server, config }, accounts);
      return new ServerConnection(
        server,
        config,
        sink,
        dialler,
        { preferences, persistent: true, clock, pings, onUnmatchedPattern, account, ...settings },
        log,
      );
    },
  };
}

/** No account for a server whose config has its own credentials or disables accounts. */
export function accountAt(
  { principal, server, config }: { principal: string; server: string; config: ServerConfig },
  accounts: BackendAccounts | undefined,
): ConnectionAccount | undefined {
  if (accounts === undefined || !('url' in config) || hasOwnCredentials(config)) return undefined;
  return { tokens: accounts.tokens({ principal, server, config }), linkTo: accounts.linkTo };
}
