import { systemClock, type Clock } from '../lib/clock.ts';
import { secretId } from '../lib/ids.ts';
import { loadOnce } from '../lib/load-once.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { within } from '../lib/timers.ts';
import type { Ending } from './call/request.ts';
import type { Access } from './access/access.ts';
import { PrincipalBudgets, type Budget } from './budget.ts';
import { GatewayError, orStoreFailed, OwnedElsewhere, shuttingDown } from './errors.ts';
import { requireGroup } from './groups.ts';
import { startHousekeeping } from './housekeeping.ts';
import type { AuditRecorder } from './audit/recorder.ts';
import type { EventSink } from './event/log.ts';
import { Recorder } from './history/recorder.ts';
import { standingAnswers, type StandingAnswers } from './interaction/standing-answers.ts';
import type { Notifier } from './notify/notifier.ts';
import type { Observed } from './observer.ts';
import type { Policy } from './policy/policy-gate.ts';
import type { Accounts, SignIn } from './ports/accounts.ts';
import type { Backends } from './ports/connection.ts';
import type { Identity, TokenFacts } from './ports/identity.ts';
import type { Models } from './ports/models.ts';
import type { ServerConfig } from './ports/server-config.ts';
import type { ClaimedSession, Store } from './ports/store.ts';
import { ClaimLost, claimKey, Claims, isState, untilOwned, type GatewayStage } from './cluster/claims.ts';
import { certainClock } from './cluster/certain-clock.ts';
import { HandOver } from './cluster/hand-over.ts';
import { Neighbourhood, type Neighbours } from './cluster/neighbours.ts';
import { Ownership } from './cluster/ownership.ts';
import type { Owner, View } from './session/kind.ts';
import { LiveSessions } from './session/live-sessions.ts';
import type { Quotas } from './quota/quotas.ts';
import { ServerRegistry, type Audience, type VisibleServers } from './session/registry.ts';
import { SignInWatch } from './sign-in/watch.ts';
import { Restorer } from './session/restorer.ts';
import { ServerChanges } from './server-changes.ts';
import type { SessionParts } from './session/composition.ts';
import type { Session } from './session/session.ts';
import { States, type StateAddress } from './session/states.ts';
import { gatewayLimits, noteElsewhere, usageOf, type GatewayLimits } from './gateway-limits.ts';
import type { CoreSettings } from './settings.ts';

export interface GatewayParts {
  store: Store;
  /** Called once, for the first session. */
  backends: () => Promise<Backends>;
  /** Absent if the config has none. */
  models?: Models | undefined;
  settings: CoreSettings;
  log: Log;
  /** The configured principals; each gets a share of the limits. */
  principals?: readonly string[];
  /** Metrics and traces, once they are in use. */
  observed?: Observed;
  /** Creates the notifier; absent without notification targets. */
  notifier?: ((gateway: Pick<Gateway, 'store' | 'clock' | 'log' | 'observed'>) => Notifier) | undefined;
  /** Absent without rules. */
  policy?: Policy | undefined;
  /** Absent without access rules. */
  access?: Access | undefined;
  /** Creates the quotas of principals; absent without quotas. */
  quotas?: ((parts: ConstructorParameters<typeof Quotas>[1]) => Quotas) | undefined;
  /** Absent if the audit record is off. */
  audit?: AuditRecorder | undefined;
  /** Absent if servers are used without accounts. */
  accounts?: Accounts | undefined;
  /** The page where a person starts a sign-in; `undefined` if no page can be served. */
  signInLink?: ((signIn: SignIn) => Promise<string | undefined>) | undefined;
  clock?: Clock;
}

/** What sessions are composed of. */
interface SessionModules {
  Session: typeof Session;
  backends: Backends;
}

export interface OpenOptions {
  id?: string;
  view: View;
  owner: Owner;
  /** The client has not initialized yet: connect to servers only after that. */
  later?: boolean;
  /** The scopes and claims of the client's token that the configuration uses. */
  facts?: TokenFacts | undefined;
  /** For sessions of the gateway itself: access rules do not apply. */
  unrestricted?: boolean;
  /** Throws if this gateway no longer owns the session. */
  assertOwned?: (() => void) | undefined;
}

/** How many sessions of a dead gateway are restored at the same time. */
const AT_ONCE = 8;
/** How long the removal of a server waits until the tokens for it are deleted. */
const FORGET_MS = 3000;

/** All sessions and the servers they share. */
export class Gateway {
  readonly registry: ServerRegistry;
  readonly servers: ServerChanges;
  readonly settings: CoreSettings;
  readonly log: Log;
  readonly clock: Clock;
  readonly observed: Observed;
  readonly store: Store;
  /** Absent if the history is off. */
  readonly recorder: Recorder | undefined;
  readonly audit: AuditRecorder | undefined;
  /** Absent without access rules. */
  readonly access: Access | undefined;
  /** Absent without notification targets. */
  readonly notifier: Notifier | undefined;
  /** Absent if servers are used without accounts. */
  readonly accounts: Accounts | undefined;
  readonly signInLink: (signIn: SignIn) => Promise<string | undefined>;
  readonly #signIns: SignInWatch | undefined;
  readonly #backends: () => Promise<Backends>;
  /** Loaded with the first session: an idle gateway does without half of the program. */
  readonly #sessionModules = loadOnce(async (): Promise<SessionModules> => {
    const [{ Session: Loaded }, backends] = await Promise.all([import('./session/session.ts'), this.#backends()]);
    return { Session: Loaded, backends };
  });
  readonly #models: Models | undefined;
  readonly #standing: StandingAnswers | undefined;
  readonly #policy: Policy | undefined;
  readonly #limits: GatewayLimits;
  /** Absent without quotas. */
  readonly #quotas: Quotas | undefined;
  readonly #memory: PrincipalBudgets;
  readonly #events: PrincipalBudgets;
  readonly #sessions: LiveSessions;
  readonly #restorer: Restorer;
  readonly #states: States;
  /** Absent if no other gateway can use the store. */
  readonly #handOver: HandOver | undefined;
  #startedAt = 0;
  readonly #stopTimers: (() => void)[] = [];
  #closing = false;
  /** Absent if no other gateway can use the store. */
  readonly #ownership: Ownership | undefined;
  #neighbourhood: Neighbourhood | undefined;
  readonly #claims: Claims;
  /** Called when a session has ended here, so that listeners release their state for it. */
  readonly onSessionEnded: Set<(session: Session, ending: Ending) => void>;

  constructor(parts: GatewayParts) {
    const { store, settings, log, principals = [], observed = {}, clock = systemClock } = parts;
    this.store = store;
    this.audit = parts.audit;
    this.access = parts.access;
    this.observed = observed;
    this.settings = settings;
    const { totalBytes, principalShare: reserved } = settings.limits;
    this.#memory = new PrincipalBudgets(totalBytes, 'limits.totalBytes', { names: principals, reserved });
    this.#events = new PrincipalBudgets(settings.events.total, 'events.total', { names: principals, reserved });
    this.log = log;
    this.clock = store.cluster ? certainClock(clock, () => this.isInDoubt) : clock;
    this.#backends = parts.backends;
    this.#models = parts.models;
    this.#standing = standingAnswers(settings.answers, { dryRun: settings.answersDryRun, log });
    this.#policy = parts.policy;
    this.accounts = parts.accounts;
    this.signInLink = parts.signInLink ?? (async () => undefined);
    this.#signIns = parts.accounts && new SignInWatch(parts.accounts, (...changed) => this.#accountChanged(...changed));
    this.registry = new ServerRegistry(store, settings, this.clock);
    this.servers = new ServerChanges({
      registry: this.registry,
      log,
      sessions: () => this.sessions,
      end: async (session, reason) => this.end(session, reason),
      onChange: (event, server, session, config) => this.audit?.serverChanged(event, server, session.recorded, config),
      onUnused: async (...unused) => this.#forgetAccounts(...unused),
    });
    this.#limits = gatewayLimits(settings, principals);
    const memoryOf = (principal: string): Budget => this.#memory.of(principal);
    this.#quotas = parts.quotas?.({ clock: this.clock, observed, memoryOf });
    this.#claims = new Claims(store, () => this.#stage);
    this.#sessions = new LiveSessions(store, log);
    this.onSessionEnded = this.#sessions.onEnded;
    const [claims, sessions] = [this.#claims, this.#sessions];
    this.#restorer = new Restorer({
      store,
      claims,
      sessions,
      composer: async () => {
        const modules = await this.#sessionModules();
        return ({ id, principal, createdAt, key, view, owner, preferences, remembered, facts }, claimed) => {
          const about = { id, principal, createdAt, key, view, owner, preferences, remembered, facts };
          return this.#newSession(about, claimed, modules);
        };
      },
      memoryOf: (principal) => this.memoryOf(principal),
      isClosing: () => this.#closing,
      startedAt: () => this.#startedAt,
      settings,
      log,
      clock: this.clock,
    });
    this.#states = new States({
      store,
      claims,
      sessions,
      restorer: this.#restorer,
      open: async (principal, state) => this.open(principal, state),
    });
    const { cluster, history } = store;
    const shared = cluster !== undefined;
    this.recorder =
      settings.history.keepMs === 0
        ? undefined
        : new Recorder({ history, settings: settings.history, shared, log, clock });
    this.notifier = parts.notifier?.({ store, clock, log, observed });
    this.#ownership =
      cluster &&
      new Ownership({
        cluster,
        clock,
        log,
        usage: () => ({ ...usageOf(this.#limits), ...this.#quotas?.usage }),
        onUsage: (others) => {
          noteElsewhere(this.#limits, others);
          this.#quotas?.noteElsewhere(others);
        },
        onLost: (ids) => this.#lost(ids),
        onGone: async () => this.#takeOver(),
      });
    this.#handOver =
      cluster &&
      new HandOver({
        cluster,
        claims,
        sessions,
        pending: () => [...this.#restorer.pending, ...this.#states.pending],
        drainMs: settings.cluster.drainMs,
        recorder: this.recorder,
        log,
        clock: this.clock,
      });
  }

  async start(servers: ReadonlyMap<string, ServerConfig>): Promise<void> {
    this.#startedAt = this.clock.now();
    await this.registry.load(servers);
    if (this.#ownership) {
      // Old tasks and the sessions of other gateways must not delay the start.
      this.#ownership.start();
      this.#stopTimers.push(
        this.store.watchServers((id, record) => {
          this.servers.follow(id, record).catch((error: unknown) => {
            this.log.error('server_change_failed', { server: id, error: messageOf(error) });
          });
        }),
      );
    } else {
      await this.store.dropOverdue(this.#startedAt);
      for (const { id, principal } of await this.store.sessionsToResume()) {
        await this.#restorer.restoreIfPossible(id, principal);
      }
    }
    this.recorder?.start();
    this.audit?.start();
    this.notifier?.start();
    const { store, settings, log, clock } = this;
    const [sessions, startedAt] = [this.#sessions, this.#startedAt];
    this.#stopTimers.push(...startHousekeeping({ store, sessions, startedAt, settings, log, clock }));
  }

  // --- Several gateways ---

  /** Publishes the address of this gateway, which from now on also continues the work of dead gateways. */
  async announce(address: string, neighbours?: Neighbours): Promise<void> {
    const { cluster } = this.store;
    if (cluster === undefined) return;
    this.#neighbourhood = neighbours && new Neighbourhood(cluster, neighbours, this);
    await cluster.announce(address);
    this.#ownership?.takePart();
  }

  /** The other gateways on the same store, if there can be any. */
  get neighbourhood(): Neighbourhood | undefined {
    return this.#neighbourhood;
  }

  /** Restores the unclaimed sessions of a principal that still have tasks or questions. */
  async restoreUnowned(principal: string): Promise<void> {
    const { cluster } = this.store;
    // Without an address, clients could not reach the sessions here.
    if (cluster === undefined || this.#neighbourhood === undefined || this.draining) return;
    for (const id of await orStoreFailed(cluster.leftOf(principal))) {
      await this.#restorer.restoreIfPossible(id, principal);
    }
  }

  /**
   * The direct session of the principal that has this task or question; throws if another gateway owns it. Sessions that are
   * not in memory are looked up in the store.
   */
  async nativeSessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<Session | undefined> {
    const { cluster } = this.store;
    if (cluster === undefined || this.#neighbourhood === undefined) return undefined;
    const record = await orStoreFailed(cluster.sessionWith(kind, id, principal));
    if (record === undefined || record.view.kind === 'hub') return undefined;
    try {
      return await this.restore(record.id, principal);
    } catch (error) {
      // The claim covers all states of the principal; the caller needs this one.
      throw error instanceof OwnedElsewhere ? new OwnedElsewhere(record.id, error.owner) : error;
    }
  }

  /** Nobody needs the tokens for a server that is not used any more. That a store or a key is missing must not keep the server. */
  async #forgetAccounts(server: string, config: ServerConfig, audience: Audience): Promise<void> {
    if (this.accounts === undefined || !('url' in config)) return;
    const forgetting = this.accounts
      .forgetServer(server, config.url, audience.everyone ? undefined : audience.principal)
      .catch((error: unknown) => {
        const fix = `meanwhile logout ${server}`;
        this.log.error('tokens_not_deleted', { server, error: messageOf(error), fix });
      });
    await within(FORGET_MS, forgetting, this.clock);
  }

  #accountChanged(principal: string, server: string): void {
    for (const session of this.sessions) if (session.principal === principal) session.accountChanged(server);
  }

  /** Reports an event in a session of another gateway to the hub clients of the principal. */
  notifyHubSessions(principal: string, ...event: Parameters<EventSink['add']>): void {
    for (const hub of this.sessions) {
      if (hub.view.kind === 'hub' && hub.principal === principal) hub.events.add(...event);
    }
  }

  /** Whether other gateways may own the sessions: nothing may happen in them until `certain` resolves with true. */
  get isInDoubt(): boolean {
    return this.#ownership?.isInDoubt === true;
  }

  /** Whether another gateway may have claimed the sessions because the lease could not be renewed. Fast calls continue. */
  get mayHaveLost(): boolean {
    return this.store.cluster?.holdsLease === false;
  }

  /** Asks the store who owns the sessions; resolves with whether that is known now. */
  async certain(): Promise<boolean> {
    await this.#ownership?.renew();
    return !this.isInDoubt;
  }

  /** Other gateways own these sessions now: drops them without telling anyone. */
  #lost(ids: readonly string[]): void {
    const lost = new Set(ids);
    const principals = this.#claims.statesLost(lost);
    for (const session of this.sessions) {
      // One gateway owns all states of a principal.
      const goesAlong = isState(session) && principals.has(session.principal);
      if (lost.has(session.id) || goesAlong) this.#sessions.leave(session);
    }
  }

  /** Resumes unfinished sessions that no gateway owns, as after a restart. */
  async #takeOver(): Promise<void> {
    for (;;) {
      const found = (await this.store.sessionsToResume()).filter(({ id }) => !this.#sessions.has(id));
      let taken = 0;
      while (found.length > 0 && !this.#closing && !this.draining) {
        const some = found.splice(0, AT_ONCE);
        const restored = await Promise.all(
          some.map(async ({ id, principal }) => this.#restorer.restoreIfPossible(id, principal)),
        );
        taken += restored.filter(Boolean).length;
      }
      // Failed sessions are retried when the next gateway dies, or when their client returns.
      if (taken === 0) return;
    }
  }

  get #stage(): GatewayStage {
    if (this.#closing) return 'closing';
    return this.draining ? 'draining' : 'open';
  }

  /**
   * Hands all sessions over to other gateways, each as soon as its calls that no other gateway could continue have ended. Calls
   * that take longer than `cluster.drainMs` are lost.
   */
  async drain(): Promise<void> {
    return this.#handOver?.drain();
  }

  /** Whether this gateway is stopping and hands over its sessions. */
  get draining(): boolean {
    return this.#handOver?.hasBegun === true;
  }

  /** Resolves when a session, or the states of a principal, are handed over; `undefined` if they are not going to be. */
  whenLeft(key: string): Promise<void> | undefined {
    return this.#handOver?.whenLeft(key);
  }

  // --- Sessions ---

  async open(
    principal: string,
    { id = secretId(), view, owner, later = false, facts, unrestricted, assertOwned }: OpenOptions,
  ): Promise<Session> {
    // A request for another state may be restoring it, and holds the claim meanwhile.
    await this.#restorer.whenRestored(id);
    await this.#claims.assertTakesNew();
    return untilOwned(async () =>
      this.#open(principal, { id, view, owner, later, facts, unrestricted: unrestricted === true, assertOwned }),
    );
  }

  async #open(
    principal: string,
    { id, view, owner, later, facts, unrestricted, assertOwned }: OpenOptions & { id: string },
  ): Promise<Session> {
    const modules = await this.#sessionModules();
    const claimed = await this.#claims.claim(id, claimKey({ id, principal, owner }));
    if (claimed === undefined) throw new GatewayError('TOOL_ERR_STORE', 'the session is in use; try again');
    try {
      if (this.#closing || this.draining) throw shuttingDown();
      if (claimed.isLost) throw new ClaimLost();
      assertOwned?.();
      this.#quotas?.for({ principal, facts }).assertRoom('sessions');
      this.#limits.sessions.assertRoom(principal);
      if (view.kind === 'direct') this.serversFor({ principal, facts }).require(view.server);
      if (view.kind === 'group') requireGroup(view.group, this.settings);
      const session = this.#newSession(
        { id, principal, view, owner, facts },
        claimed,
        modules,
        unrestricted ? undefined : this.access,
      );
      this.#sessions.add(session);
      claimed.put('session', session.record);
      this.log.info('session_created', { sessionId: id });
      if (!later) session.connectEager();
      return session;
    } catch (error) {
      await claimed.release();
      throw error;
    }
  }

  #newSession(
    about: Pick<
      SessionParts,
      'id' | 'principal' | 'createdAt' | 'key' | 'view' | 'owner' | 'preferences' | 'remembered' | 'facts'
    >,
    store: ClaimedSession,
    { Session: Loaded, backends }: SessionModules,
    access = this.access,
  ): Session {
    const { settings, log, observed, recorder, audit, notifier, clock, registry } = this;
    const notifyHub: EventSink['add'] = (type, server, data) => {
      this.notifyHubSessions(about.principal, type, server, data);
      this.#neighbourhood?.tell(about.principal, { ask: 'event', type, server, data }).catch((error: unknown) => {
        this.log.warn('gateways_not_told', { error: messageOf(error) });
      });
    };
    const own = this.#quotas?.of(about.principal);
    const quotas = {
      session: this.#limits.sessions.quotaFor(about.principal, own?.holder('sessions')),
      requests: this.#limits.requests.quotaFor(about.principal),
      tasks: this.#limits.tasks.quotaFor(about.principal, own?.holder('tasks')),
      ...(own && { questions: own.holder('questions') }),
    };
    const memory = this.memoryOf(about.principal);
    const eventTotal = this.#events.of(about.principal);
    const session: Session = new Loaded({
      quotas,
      own,
      memory,
      eventTotal,
      notifyHub,
      onQuestions: (any) => this.#sessions.noteQuestions(session, any),
      store,
      backends,
      standing: this.#standing,
      models: this.#models,
      counters: this.store,
      registry,
      access,
      settings,
      log,
      observed,
      recorder,
      notifier,
      policy: this.#policy,
      accounts: this.accounts,
      signIns: this.#signIns,
      audit,
      clock,
      // Last: otherwise V8 would make a hidden class for each session (docs/PERFORMANCE.md).
      ...about,
    });
    return session;
  }

  /** The servers that the identity can use. */
  serversFor(identity: Identity): VisibleServers {
    const grant = this.access?.grantOf(identity);
    return this.registry.of(identity.principal, grant && ((server) => grant.sees(server)));
  }

  /** Whether access rules hide none of the shared servers. */
  seesAll(identity: Identity): boolean {
    const grant = this.access?.grantOf(identity);
    return grant === undefined || this.registry.shared.every((server) => grant.sees(server));
  }

  /** The memory used by the sessions of a principal and the bodies of its open requests. */
  memoryOf(principal: string): Budget {
    return this.#quotas?.of(principal).memory ?? this.#memory.of(principal);
  }

  /** Applies the quotas that match the token of a request. */
  identify(identity: Identity): void {
    this.#quotas?.for(identity);
  }

  /** The native sessions of the same principal; the hub shows the tasks and questions that their clients leave. */
  nativeSessionsOf({ principal }: Pick<Session, 'principal'>): ReadonlySet<Session> {
    return this.#sessions.nativeOf(principal);
  }

  /** Whether any of these sessions has questions; there may be thousands of sessions. */
  anyNativeQuestions({ principal }: Session): boolean {
    return this.#sessions.anyNativeQuestions(principal);
  }

  /** The session for a client whose protocol has none: immediately if it is in memory, otherwise once opened or restored. */
  stateOf(address: StateAddress): Session | Promise<Session> {
    return this.#states.of(address);
  }

  /** The most recently used state of the principal for the hub or for one server. */
  latestState(principal: string, view: View): Session | undefined {
    return this.#states.latest(principal, view);
  }

  /** The other states of the principal for the same view. */
  async otherStates(own: Session): Promise<Session[]> {
    return this.#states.others(own);
  }

  /** Restores a stored session when its client returns. */
  async restore(id: string, principal: string): Promise<Session | undefined> {
    return this.#restorer.restore(id, principal);
  }

  get sessions(): Session[] {
    return this.#sessions.all();
  }

  /** Ends a session for good and deletes its data. */
  async end(session: Session, reason: string): Promise<void> {
    return this.#sessions.end(session, reason);
  }

  get closing(): boolean {
    return this.#closing;
  }

  async close(reason: string): Promise<void> {
    this.#closing = true;
    for (const stop of this.#stopTimers) stop();
    this.#signIns?.close();
    this.#ownership?.stop();
    this.log.info('registry_shutdown_start', { serverCount: this.registry.size });
    await Promise.allSettled(this.#restorer.pending);
    await this.#sessions.closeAll(reason);
    await Promise.all([this.recorder?.close(), this.audit?.close(), this.notifier?.close()]);
    this.log.info('registry_shutdown_complete', {});
  }

  /** Resolves when the replies to requests that were answered just now have been written. */
  async repliesSent(): Promise<void> {
    return this.#sessions.repliesSent();
  }
}
