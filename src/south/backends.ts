import type { Backends, ClientTraits, Connection, ConnectionSink, ServerConfig } from '../core/ports.ts';
import type { Log } from '../lib/log.ts';
import { ServerConnection, type ConnectionSettings } from './connection.ts';
import { Dialler, GATEWAY_FACE } from './dial.ts';

export function createBackends(settings: Omit<ConnectionSettings, 'persistent' | 'wish'>, log: Log): Backends {
  const dialler = new Dialler(settings.connectTimeoutMs, GATEWAY_FACE);
  const withRoots = new Dialler(settings.connectTimeoutMs, { ...GATEWAY_FACE, roots: true });
  return {
    connect: (server: string, config: ServerConfig, sink: ConnectionSink, { roots, wish }: ClientTraits): Connection =>
      new ServerConnection(
        server,
        config,
        sink,
        roots ? withRoots : dialler,
        { ...settings, wish, persistent: true },
        log,
      ),
  };
}
