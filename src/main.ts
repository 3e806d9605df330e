/** Composition root of the gateway: the only file that imports every part. */

import { randomBytes } from 'node:crypto';
import { ConfigError } from './config/config-error.ts';
import type { Config } from './config/schema.ts';
import type { Gateway, GatewayParts } from './core/gateway.ts';
import type { Observed } from './core/observer.ts';
import type { Models, ServerConfig, Store } from './core/ports.ts';
import { shareConnections } from './core/session/shared-connections.ts';
import { systemClock, type Clock } from './lib/clock.ts';
import { stderrLog, type Log } from './lib/log.ts';
import { isPostgresUrl } from './lib/postgres-url.ts';
import type { HttpListener, HttpSettings } from './north/http/listener.ts';
import type { IssuerAuth } from './north/http/protected-resource.ts';
import { clashIn } from './north/all/clashes.ts';
import { Hub } from './north/hub/hub.ts';
import type { StdioStreams } from './north/stdio/listener.ts';
import type { TestOutcome } from './notify/start.ts';
import { Program } from './program.ts';
import { createBackends } from './south/backends.ts';
import { StoreError } from './store/store-error.ts';
import { openSqliteStore } from './store/sqlite/store.ts';

export type { Config } from './config/schema.ts';
export { loadConfig } from './config/load.ts';
export { exportStore, inspectStore, openAuditToRead, pruneStore } from './store/commands.ts';
export type { TestOutcome };
export type { KindSummary, PruneReport, StoreSummary } from './store/summary.ts';

export interface RunningGateway {
  gateway: Gateway;
  log: Log;
  /** Releases sessions, child processes, ports and the store. */
  close(): Promise<void>;
}

export interface HttpGateway extends RunningGateway {
  url: string;
  /** The console, and the key that opens it. */
  console: { url: string; key: string };
  listener: HttpListener;
}

export interface StdioGateway extends RunningGateway {
  /** Resolves when the client has left. */
  closed: Promise<void>;
}

/** Serves the hub and every server at an HTTP address. `demo` is a server that people at the console can add. */
export async function startHttp(
  config: Config & { demo?: ServerConfig },
  log: Log = stderrLog(config.settings),
  clock: Clock = systemClock,
): Promise<HttpGateway> {
  logWarnings(config, log);
  const links: Links = {};
  const program = await startProgram(config, log, clock, links);
  const { gateway } = program;
  const metrics = async (): Promise<{ contentType: string; text: string }> =>
    (await import('./telemetry/start.ts')).metricsText(gateway, config.servers);
  try {
    await assertNoClash(config, gateway);
    // Not base64: a key that begins with a dash looks like an option on a command line.
    const key = randomBytes(24).toString('hex');
    const console = {
      key,
      operators: config.settings.auth.operators,
      startedAt: clock.now(),
      history: config.settings.history,
      ...(config.demo && { demo: config.demo }),
    };
    const issuerAuth = await loadIssuerAuth(config.settings, log, clock);
    const { answerPages, allowedHosts } = forPeople(config.settings);
    const settings = { ...config.settings, allowedHosts, metrics, console, issuerAuth, answerPages };
    const { listener, url } = await program.listen({ hub: new Hub(gateway) }, settings);
    const consoleUrl = consoleOf(url);
    links.base = new URL(consoleUrl).origin;
    log.info('listening', { url });
    log.info('console', { url: consoleUrl, open: 'meanwhile console' });
    return { gateway, log, url, console: { url: consoleUrl, key }, listener, close: async () => program.close() };
  } catch (error) {
    await program.close();
    throw error;
  }
}

/** Where people reach the gateway, once it listens. */
interface Links {
  base?: string;
}

const originOf = (url: string | undefined): string | undefined => (url === undefined ? undefined : new URL(url).origin);

/** What those need who come to `publicUrl`, also by links in messages: its host, and pages that answer questions. */
function forPeople({
  notify,
  publicUrl,
  allowedHosts,
}: Config['settings']): Pick<HttpSettings, 'answerPages' | 'allowedHosts'> {
  const targets = notify?.targets ?? {};
  const withLinks = Object.keys(targets).filter((name) => targets[name]?.answerLinks);
  return {
    answerPages: withLinks.length === 0 ? undefined : { targets: withLinks },
    allowedHosts: publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname],
  };
}

/** Checks access tokens, where the configuration names authorization servers. */
async function loadIssuerAuth(
  { auth, publicUrl }: Config['settings'],
  log: Log,
  clock: Clock,
): Promise<IssuerAuth | undefined> {
  if (auth.issuers.length === 0) return undefined;
  const { createVerifier } = await import('./auth/verifier.ts');
  const verifier = createVerifier({ settings: auth, log, clock });
  const issuers = auth.issuers.map(({ issuer }) => issuer);
  return { verifier, issuers, scopes: auth.scopes, publicUrl: publicUrl?.replace(/\/$/, '') };
}

/** A gateway that listens at all addresses is opened at the local one. */
function consoleOf(hub: string): string {
  const url = new URL('/console', hub);
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.href;
}

/** Serves the hub, one server as it is, or a group of them as one, to the client on standard input and output, or on the given streams. */
export async function startStdio(
  config: Config,
  native?: { server: string } | { group: string },
  log: Log = stderrLog(config.settings),
  streams?: StdioStreams,
  clock: Clock = systemClock,
): Promise<StdioGateway> {
  logWarnings(config, log);
  const program = await startProgram(config, log, clock).catch(async (error: unknown) => {
    if (config.ownStore || !(error instanceof StoreError) || error.code !== 'STORE_IN_USE') throw error;
    // A second client in the same project: it works, but nothing of it survives the program.
    log.warn('store_in_use', { path: config.settings.store, instead: ':memory:' });
    return startProgram({ ...config, settings: { ...config.settings, store: ':memory:' } }, log, clock);
  });
  const { gateway } = program;
  const { taskAfterMs } = config.settings.direct;
  const hub = new Hub(gateway);
  const shown = native === undefined ? { hub } : { ...native, hub, taskAfterMs };
  try {
    if (native !== undefined && 'group' in native) await assertNoClash(config, gateway, [native.group]);
    const { closed } = await program.listenOnStdio(shown, streams);
    log.info('listening', { url: 'stdio:' });
    return { gateway, log, closed, close: async () => program.close() };
  } catch (error) {
    await program.close();
    throw error;
  }
}

function logWarnings({ warnings }: Pick<Config, 'warnings'>, log: Log): void {
  for (const message of warnings) log.warn('config_warning', { message });
}

/** In a group without prefixes, two tools of the same name are a mistake in the configuration. */
async function assertNoClash(
  { file = 'the settings', settings }: Config,
  gateway: Gateway,
  groups = Object.keys(settings.groups),
): Promise<void> {
  const found = await Promise.all(groups.map(async (group) => clashIn(gateway, group)));
  const clashes = found.filter((clash) => clash !== undefined);
  if (clashes.length > 0) throw new ConfigError(clashes.map((clash) => `${file}: ${clash}`));
}

async function openStore(
  { store, limits, cluster }: Config['settings'],
  log: Log,
  observed: Observed,
  clock: Clock,
): Promise<Store> {
  if (!isPostgresUrl(store)) return openSqliteStore({ path: store, log, maxBytes: limits.storeBytes, observed });
  const { openPostgresStore } = await import('./store/postgres/store.ts');
  return openPostgresStore({ url: store, log, leaseMs: cluster.leaseMs, observed, clock });
}

/** The models of the config, which are loaded when one is first used. */
function modelsOf({ models: endpoints, limits }: Config['settings'], clock: Clock): Models | undefined {
  if (Object.keys(endpoints).length === 0) return undefined;
  let loaded: Promise<Models> | undefined;
  const load = async (): Promise<Models> => {
    const { createModels } = await import('./models/models.ts');
    return createModels({ endpoints, maxBytes: limits.messageBytes, clock });
  };
  return {
    ask: async (...request) => {
      loaded ??= load();
      return (await loaded).ask(...request);
    },
  };
}

/** Traces begin before anything is restored, and end after everything else. */
async function startTraces(otel: Config['otel'], observed: Observed, log: Log): Promise<() => Promise<void>> {
  const stop = otel && (await import('./telemetry/start.ts')).startTraces(observed, otel, log);
  return stop ?? (async () => {});
}

/** Sends a test message to the targets of these names. */
export async function testNotify(
  { notify, publicUrl }: Config['settings'],
  names: readonly string[],
): Promise<TestOutcome[]> {
  if (notify === undefined) return [];
  const { testTargets } = await import('./notify/start.ts');
  return testTargets(notify, names, systemClock, originOf(publicUrl));
}

/** Nothing of it is loaded unless it is configured. */
async function notifierFor({ notify, publicUrl }: Config['settings'], links: Links): Promise<GatewayParts['notifier']> {
  if (notify === undefined) return undefined;
  const { createNotifier } = await import('./notify/start.ts');
  return (gateway) => createNotifier({ ...gateway, settings: notify, base: () => originOf(publicUrl) ?? links.base });
}

async function startProgram(
  { settings, servers, otel }: Pick<Config, 'settings' | 'servers' | 'otel'>,
  log: Log,
  clock: Clock,
  links: Links = {},
): Promise<Program> {
  const { messageBytes } = settings.limits;
  const observed: Observed = {};
  const stopTraces = await startTraces(otel, observed, log);
  const southbound = { ...settings.servers, messageBytes, clock, observed };
  const connections = createBackends(southbound, settings.addServerAddresses, log);
  const { rules } = settings;
  const policy = rules.length > 0 ? (await import('./core/policy/gate.ts')).createPolicy(rules) : undefined;
  return Program.start({
    kind: 'gateway',
    openStore: async () => {
      const store = await openStore(settings, log, observed, clock);
      return { store, close: async () => store.close() };
    },
    observed,
    notifier: await notifierFor(settings, links),
    onClosed: stopTraces,
    policy,
    backends: shareConnections(connections, log, clock),
    models: modelsOf(settings, clock),
    servers,
    settings,
    log,
    clock,
    principals: Object.keys(settings.auth.tokens),
  });
}
