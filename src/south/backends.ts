import type { Backends, Connection, ConnectionSink, ServerConfig } from '../core/ports.ts';
import type { Log } from '../lib/log.ts';
import { ServerConnection, type ConnectionSettings } from './connection.ts';
import { Dialler, GATEWAY_FACE } from './dial.ts';

export function createBackends(settings: Omit<ConnectionSettings, 'persistent'>, log: Log): Backends {
  const dialler = new Dialler(settings.connectTimeoutMs, GATEWAY_FACE);
  return {
    connect: (server: string, config: ServerConfig, sink: ConnectionSink): Connection =>
      new ServerConnection(server, config, sink, dialler, { ...settings, persistent: true }, log),
  };
}
