/** Composition root: the only file that knows every room. */

import type { Config } from './config/schema.ts';
import { Gateway } from './core/gateway.ts';
import { shareConnections } from './core/session/shared-connections.ts';
import { stderrLog, type Log } from './lib/log.ts';
import { HttpListener } from './north/http/listener.ts';
import { Hub } from './north/hub/hub.ts';
import { listenOnStdio } from './north/stdio/listener.ts';
import { createBackends } from './south/backends.ts';
import { StoreError } from './store/store-error.ts';
import { openSqliteStore } from './store/sqlite/store.ts';

export type { Config } from './config/schema.ts';
export { loadConfig } from './config/load.ts';
export { exportStore } from './store/sqlite/export.ts';
export { inspectStore, type KindSummary, type StoreSummary } from './store/sqlite/inspect.ts';
export { pruneStore, type PruneReport } from './store/sqlite/prune.ts';

export interface RunningGateway {
  gateway: Gateway;
  log: Log;
  /** Lets go of everything: sessions, children, ports, store. */
  close(): Promise<void>;
}

export interface HttpGateway extends RunningGateway {
  url: string;
  listener: HttpListener;
}

export interface StdioGateway extends RunningGateway {
  /** Resolves when the client has left. */
  closed: Promise<void>;
}

/** Answers at an HTTP address. */
export async function startHttp(config: Config, log: Log = stderrLog(config.settings)): Promise<HttpGateway> {
  const { gateway, stop } = await startCore(config, log);
  try {
    const listener = new HttpListener(gateway, new Hub(gateway), config.settings);
    const url = await listener.listen();
    log.info('listening', { url });
    const close = async (): Promise<void> => {
      // Nobody new first; then the sessions, so that their clients get a last word; then the port.
      listener.stopListening();
      await stop(() => listener.close());
    };
    return { gateway, log, url, listener, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Serves the one client on standard input and output: the hub, or one server as it is. */
export async function startStdio(
  config: Config,
  server?: string,
  log: Log = stderrLog(config.settings),
): Promise<StdioGateway> {
  const { gateway, stop } = await startCore(config, log).catch(async (error: unknown) => {
    if (config.ownStore || !(error instanceof StoreError) || error.code !== 'STORE_IN_USE') throw error;
    // A second client in the same project: it has what it needs, but nothing of it survives the program.
    log.warn('store_in_use', { path: config.settings.store, instead: ':memory:' });
    return startCore({ ...config, settings: { ...config.settings, store: ':memory:' } }, log);
  });
  const { taskAfterMs } = config.settings.direct;
  const shown = server === undefined ? { hub: new Hub(gateway) } : { server, taskAfterMs };
  const listener = await listenOnStdio(gateway, shown);
  log.info('listening', { url: 'stdio:' });
  return {
    gateway,
    log,
    closed: listener.closed,
    close: async () => {
      // The session ends with its connection; then nothing of it is worth keeping.
      await listener.close();
      await stop();
    },
  };
}

async function startCore(
  { settings, servers }: Pick<Config, 'settings' | 'servers'>,
  log: Log,
  attempt = 1,
): Promise<{ gateway: Gateway; stop: (closeListener?: () => Promise<void>) => Promise<void> }> {
  const store = await openSqliteStore({ path: settings.store, log, maxBytes: settings.limits.storeBytes });
  const { messageBytes } = settings.limits;
  const connections = createBackends({ ...settings.servers, messageBytes }, settings.addServerAddresses, log);
  const backends = shareConnections(connections, log);
  const principals = Object.keys(settings.auth.tokens);
  const gateway = new Gateway({ store, backends, settings, log, principals });
  try {
    await gateway.start(servers);
  } catch (error) {
    await store.close();
    const damaged = error instanceof StoreError && error.code === 'STORE_DAMAGED';
    // Opened once more, it is looked through and put aside.
    if (damaged && attempt === 1) return startCore({ settings, servers }, log, 2);
    throw error;
  }
  let stopping: Promise<void> | undefined;
  const stop = (closeListener: () => Promise<void> = async () => {}): Promise<void> => {
    stopping ??= (async () => {
      await gateway.close('the gateway is shutting down');
      await closeListener();
      await store.close();
    })();
    return stopping;
  };
  return { gateway, stop };
}
