/** Composition root of the gateway: the only file that imports every part. */

import { randomBytes } from 'node:crypto';
import type { IssuerProblem } from './auth/examine.ts';
import { ConfigError } from './config/config-error.ts';
import type { Config } from './config/schema.ts';
import type { Gateway, GatewayParts } from './core/gateway.ts';
import type { Observed } from './core/observer.ts';
import { lazyAccounts } from './core/sign-in/lazy-accounts.ts';
import type { AccountAt, Accounts, SignIn } from './core/ports/accounts.ts';
import type { Backends } from './core/ports/connection.ts';
import type { Models } from './core/ports/models.ts';
import type { ServerConfig } from './core/ports/server-config.ts';
import type { Store } from './core/ports/store.ts';
import { HUB_VIEW } from './core/session/kind.ts';
import { systemClock, type Clock } from './lib/clock.ts';
import { createLog, stderrLog, type Log } from './lib/log.ts';
import { isPostgresUrl } from './lib/postgres-url.ts';
import { SIGN_IN_CALLBACK_PATH, SIGN_IN_START_PATH } from './lib/sign-in-paths.ts';
import type { HttpListener, HttpSettings } from './north/http/listener.ts';
import { LOCAL_PRINCIPAL } from './lib/local-principal.ts';
import type { LoopbackPages } from './north/oauth/loopback.ts';
import type { IssuerAuth } from './north/http/protected-resource.ts';
import type { StdioStreams } from './north/stdio/listener.ts';
import type { TestOutcome } from './notify/start.ts';
import { Program } from './program.ts';
import type { BackendSettings } from './south/backends.ts';
import { StoreError } from './store/store-error.ts';
import { openSqliteStore } from './store/sqlite/store.ts';

export type { Config } from './config/schema.ts';
export { loadConfig } from './config/load.ts';
export { exportStore, inspectStore, openAuditToRead, pruneStore } from './store/commands.ts';
export type { IssuerProblem, TestOutcome };
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
  const links = newLinks();
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
    const { publicUrl } = config.settings;
    const signIns = {
      base: () => originOf(publicUrl) ?? links.base ?? '',
      ...(publicUrl?.startsWith('https:') && {
        clientMetadata: async (segment?: string) =>
          (await import('./auth/accounts/client-metadata.ts')).clientMetadata(new URL(publicUrl).origin, segment),
      }),
    };
    const settings = { ...config.settings, allowedHosts, metrics, console, issuerAuth, answerPages, signIns };
    const { listener, url } = await program.listen(HUB_VIEW, settings);
    const consoleUrl = consoleOf(url);
    links.base = new URL(consoleUrl).origin;
    links.listening.resolve(links.base);
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
  listening: { promise: Promise<string>; resolve: (base: string) => void };
}

function newLinks(): Links {
  let resolve: (base: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  return { listening: { promise, resolve } };
}

const originOf = (url: string | undefined): string | undefined => (url === undefined ? undefined : new URL(url).origin);

/** The settings for visitors of `publicUrl`, including links in messages: its host, and the pages that answer questions. */
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
  { auth, publicUrl, access, quotas }: Config['settings'],
  log: Log,
  clock: Clock,
): Promise<IssuerAuth | undefined> {
  if (auth.issuers.length === 0) return undefined;
  const { createIssuers, createVerifier } = await import('./auth/verifier.ts');
  const conditions = [...(access ?? []), ...(quotas?.overrides ?? [])];
  const readFacts = conditions.length > 0 ? (await import('./core/access/whom.ts')).factReader(conditions) : undefined;
  const issuers = createIssuers(auth, clock, log, readFacts);
  const asked = conditions.filter(({ scopes, claims }) => scopes !== undefined || claims !== undefined);
  const asks = asked.length > 0 ? JSON.stringify(asked.map(({ scopes, claims }) => [scopes, claims])) : undefined;
  const hasLogins = auth.issuers.some((issuer) => issuer.console !== undefined);
  return {
    verifier: createVerifier(issuers, clock),
    issuers: issuers.map(({ name }) => name),
    scopes: auth.scopes,
    publicUrl: publicUrl?.replace(/\/$/, ''),
    ...(hasLogins && {
      logins: (await import('./auth/login.ts')).createLogins({ issuers, scopes: auth.scopes, asks, log }),
    }),
  };
}

/** Looks whether the authorization servers of the configuration can be used; reports each as soon as it is known. */
export async function examineIssuers(
  { auth, publicUrl, host, port }: Config['settings'],
  report: (issuer: string, problems: IssuerProblem[]) => void,
): Promise<void> {
  if (auth.issuers.length === 0) return;
  const { examineIssuer } = await import('./auth/examine.ts');
  const listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  await Promise.all(
    auth.issuers.map(async (settings) => {
      report(settings.issuer, await examineIssuer(settings, auth.scopes, { publicUrl, listening }));
    }),
  );
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
  try {
    const { Hub } = await import('./north/hub/hub.ts');
    const hub = new Hub(gateway);
    const shown = native === undefined ? { hub } : { ...native, hub, taskAfterMs };
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
  if (groups.length === 0) return;
  const { clashIn } = await import('./north/all/clashes.ts');
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

/** Accounts on servers, which are loaded when one is first needed. */
function accountsFor(
  { settings, servers }: Pick<Config, 'settings' | 'servers'>,
  store: () => Store,
  pages: SignInPlace,
  log: Log,
  clock: Clock,
): Accounts {
  const { auth, publicUrl, addServerAddresses } = settings;
  const load = async (): Promise<Accounts> => {
    const { createAccounts } = await import('./auth/accounts/accounts.ts');
    return createAccounts({
      store: store(),
      keys: { ...auth, store: settings.store },
      servers,
      addServerAddresses,
      redirectUri: async () => `${await pages.base()}${SIGN_IN_CALLBACK_PATH}`,
      publicUrl: pages.isPublic ? originOf(publicUrl) : undefined,
      clock,
      log,
    });
  };
  return lazyAccounts({ store: () => store().accounts, load });
}

/** The pages where people sign in to servers, and to which authorization servers redirect. */
interface SignInPlace {
  base: () => Promise<string>;
  linkTo: (signIn: SignIn) => Promise<string>;
  /** Whether it is where `publicUrl` says. */
  isPublic: boolean;
  close: () => void;
}

/** The gateway's own address, once it listens: restored calls may continue before that. */
function atListener({ publicUrl }: Config['settings'], { listening }: Links): SignInPlace {
  const base = async (): Promise<string> => originOf(publicUrl) ?? listening.promise;
  return {
    base,
    linkTo: async ({ id }) => `${await base()}${SIGN_IN_START_PATH}${id}`,
    isPublic: true,
    close: () => {},
  };
}

/** A local port that is open only while a sign-in waits, for a gateway that does not listen. */
function atLoopback(parts: () => { store: Store; accounts: Accounts }, log: Log, clock: Clock): SignInPlace {
  let pages: Promise<LoopbackPages> | undefined;
  const loaded = async (): Promise<LoopbackPages> => {
    pages ??= import('./north/oauth/loopback.ts').then(({ LoopbackPages: Pages }) => {
      const { store, accounts } = parts();
      return new Pages({ gateway: { store, log }, accounts, clock });
    });
    return pages;
  };
  return {
    base: async () => (await loaded()).base(),
    linkTo: async (signIn) => (await loaded()).linkTo(signIn),
    isPublic: false,
    close: () => void pages?.then((each) => each.close()),
  };
}

export interface OwnAccounts {
  accounts: Accounts;
  principal: string;
  linkTo: (signIn: SignIn) => Promise<string>;
  close: () => Promise<void>;
}

/** The accounts in the store of a gateway that is not running, with their own sign-in pages. */
export async function openAccounts(
  { settings, servers }: Pick<Config, 'settings' | 'servers'>,
  { inMemoryIfInUse = false } = {},
): Promise<OwnAccounts> {
  const log = createLog('silent');
  const clock = systemClock;
  const store = await openStore(settings, log, {}, clock).catch(async (error: unknown) => {
    const inUse = error instanceof StoreError && error.code === 'STORE_IN_USE';
    if (!inMemoryIfInUse || !inUse) throw error;
    // A gateway has it, and the sign-in lasts only as long as this program.
    return openStore({ ...settings, store: ':memory:' }, log, {}, clock);
  });
  const pages = atLoopback(() => ({ store, accounts }), log, clock);
  const accounts: Accounts = accountsFor({ settings, servers }, () => store, pages, log, clock);
  const close = async (): Promise<void> => {
    pages.close();
    await store.close();
  };
  return { accounts, principal: LOCAL_PRINCIPAL, linkTo: pages.linkTo, close };
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
async function notifierFor(
  { notify, publicUrl }: Config['settings'],
  links: Links | undefined,
): Promise<GatewayParts['notifier']> {
  if (notify === undefined) return undefined;
  const { createNotifier } = await import('./notify/start.ts');
  return (gateway) => createNotifier({ ...gateway, settings: notify, base: () => originOf(publicUrl) ?? links?.base });
}

async function loadBackends(
  southbound: BackendSettings,
  addressesForClients: Config['settings']['addServerAddresses'],
  log: Log,
  clock: Clock,
): Promise<Backends> {
  const [{ createBackends }, { shareConnections }] = await Promise.all([
    import('./south/backends.ts'),
    import('./core/session/shared-connections.ts'),
  ]);
  return shareConnections(createBackends(southbound, addressesForClients, log), log, clock);
}

async function startProgram(
  { settings, servers, otel }: Pick<Config, 'settings' | 'servers' | 'otel'>,
  log: Log,
  clock: Clock,
  links?: Links,
): Promise<Program> {
  const { messageBytes } = settings.limits;
  let opened: Store | undefined;
  const store = (): Store => {
    if (opened === undefined) throw new Error('the store is not open yet');
    return opened;
  };
  const pages = links ? atListener(settings, links) : atLoopback(() => ({ store: store(), accounts }), log, clock);
  const accounts: Accounts = accountsFor({ settings, servers }, store, pages, log, clock);
  const observed: Observed = {};
  const stopTraces = await startTraces(otel, observed, log);
  const { linkTo } = pages;
  const southbound = {
    ...settings.servers,
    messageBytes,
    clock,
    observed,
    accounts: { tokens: (at: AccountAt) => accounts.tokens(at), linkTo },
  };
  const { rules } = settings;
  const policy = rules.length > 0 ? (await import('./core/policy/policy-gate.ts')).createPolicy(rules) : undefined;
  const access = settings.access && new (await import('./core/access/access.ts')).Access(settings.access);
  const { quotas } = settings;
  const { Quotas } = quotas ? await import('./core/quota/quotas.ts') : {};
  return Program.start({
    kind: 'gateway',
    openStore: async () => {
      opened = await openStore(settings, log, observed, clock);
      return { store: opened, close: async () => opened?.close() };
    },
    observed,
    notifier: await notifierFor(settings, links),
    onClosed: async () => {
      pages.close();
      await stopTraces();
    },
    policy,
    access,
    quotas: quotas && Quotas && ((parts) => new Quotas(quotas, parts)),
    backends: async () => loadBackends(southbound, settings.addServerAddresses, log, clock),
    models: modelsOf(settings, clock),
    accounts,
    signInLink: linkTo,
    servers,
    settings,
    log,
    clock,
    principals: Object.keys(settings.auth.tokens),
  });
}
