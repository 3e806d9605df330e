import type { Backends } from '../core/ports.ts';
import { addressCheck, type AddressCheck, type AllowedAddresses } from '../lib/addresses.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ServerConnection, type ConnectionSettings } from './connection.ts';
import { Dialler, GATEWAY_IDENTITY } from './dial.ts';
import { MessageLimits } from './transport/message-size.ts';

export interface BackendSettings extends Omit<
  ConnectionSettings,
  'persistent' | 'preferences' | 'clock' | 'onUnmatchedPattern'
> {
  connectTimeoutMs: number;
  /** The largest message that is taken from a server. */
  messageBytes: number;
  clock?: Clock;
}

/** `addressesForClients`: where servers may be that clients added. */
export function createBackends(
  { messageBytes, connectTimeoutMs, clock = systemClock, ...settings }: BackendSettings,
  addressesForClients: AllowedAddresses,
  log: Log,
): Backends {
  const limits = new MessageLimits(messageBytes);
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
    connect: (server, config, sink, { roots, preferences, addedBy }) => {
      const dialler = from[addedBy][roots ? 'withRoots' : 'plain'];
      return new ServerConnection(
        server,
        config,
        sink,
        dialler,
        { ...settings, preferences, persistent: true, clock, onUnmatchedPattern },
        log,
      );
    },
  };
}
