import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, type Clock } from '../lib/clock.ts';
import { secretId } from '../lib/ids.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { every, sleep, within } from '../lib/timers.ts';
import type { Ending } from './call/request.ts';
import { PrincipalBudgets, type Budget } from './budget.ts';
import { GatewayError, orStoreFailed, OwnedElsewhere, shuttingDown } from './errors.ts';
import { requireGroup } from './groups.ts';
import type { AuditRecorder } from './audit/recorder.ts';
import type { EventSink } from './event/log.ts';
import { Recorder } from './history/recorder.ts';
import { standingAnswers, type StandingAnswers } from './interaction/standing-answers.ts';
import type { Notifier } from './notify/notifier.ts';
import type { Observed } from './observer.ts';
import type { Policy } from './policy/gate.ts';
import type {
  Backends,
  ClaimedSession,
  ClusterStore,
  Models,
  ServerConfig,
  SessionRecord,
  Store,
  Trimmed,
} from './ports.ts';
import {
  ClaimLost,
  claimKey,
  Claims,
  isState,
  isStateId,
  statesKey,
  untilOwned,
  type Stage,
} from './cluster/claims.ts';
import { certainClock } from './cluster/certain-clock.ts';
import { Neighbourhood, type Neighbours } from './cluster/neighbours.ts';
import { Ownership } from './cluster/ownership.ts';
import { CONNECTION_SESSION, isSameView, type Owner, type View } from './session/kind.ts';
import { ServerRegistry } from './session/registry.ts';
import { ServerChanges } from './server-changes.ts';
import { Session, type SessionParts } from './session/session.ts';
import { gatewayLimits, noteElsewhere, usageOf, type GatewayLimits } from './gateway-limits.ts';
import type { CoreSettings } from './settings.ts';

export interface GatewayParts {
  store: Store;
  backends: Backends;
  /** Absent if the config has none. */
  models?: Models | undefined;
  settings: CoreSettings;
  log: Log;
  /** Those who are known to use the gateway; each gets a share of its limits. */
  principals?: readonly string[];
  /** Metrics and traces, once they are in use. */
  observed?: Observed;
  /** Makes what notifies people; absent if nobody is notified. */
  notifier?: ((gateway: Pick<Gateway, 'store' | 'clock' | 'log' | 'observed'>) => Notifier) | undefined;
  /** Absent without rules. */
  policy?: Policy | undefined;
  /** Writes the audit record; absent if there is none. */
  audit?: AuditRecorder | undefined;
  clock?: Clock;
}

export interface OpenOptions {
  id?: string;
  view: View;
  owner: Owner;
  /** Its client has not introduced itself: servers are to be reached only when that is done. */
  later?: boolean;
  /** Throws if this gateway may not have it any more. */
  assertOwned?: (() => void) | undefined;
}

const NOBODY: ReadonlySet<Session> = new Set();
/** How many sessions of a gateway that is gone are restored at the same time. */
const AT_ONCE = 8;
/** How long after the start a history is deleted that was turned off. */
const CLEAR_MS = 250;
/** How long a session that is left to others waits for the history. */
const LAST_ENTRIES_MS = 1000;
/** How often to check whether calls have ended. */
const DRAIN_MS = 50;

/** The state of a client that has no session in the protocol. */
export interface StateAddress {
  principal: string;
  view: View;
  /** Which of the principal's states it is; without a colon. */
  name: string;
}

/** What goes to another gateway together: a session, or the states of a principal. */
interface Unit {
  sessions: Session[];
  principal?: string;
}

/** All sessions and the servers they share. */
export class Gateway {
  readonly registry: ServerRegistry;
  readonly servers: ServerChanges;
  readonly settings: CoreSettings;
  readonly log: Log;
  readonly clock: Clock;
  readonly observed: Observed;
  readonly store: Store;
  /** Writes the history; absent if there is none. */
  readonly recorder: Recorder | undefined;
  readonly audit: AuditRecorder | undefined;
  /** Absent if nobody is notified. */
  readonly notifier: Notifier | undefined;
  readonly #backends: Backends;
  readonly #models: Models | undefined;
  readonly #standing: StandingAnswers | undefined;
  readonly #policy: Policy | undefined;
  readonly #limits: GatewayLimits;
  readonly #memory: PrincipalBudgets;
  readonly #events: PrincipalBudgets;
  readonly #sessions = new Map<string, Session>();
  /** Those of clients that see servers as they are, by whose they are. */
  readonly #native = new Map<string, Set<Session>>();
  /** Those of them that have questions. */
  readonly #asking = new Map<string, Set<Session>>();
  /** Sessions of an earlier run that are being loaded. */
  readonly #restoring = new Map<string, Promise<Session | undefined>>();
  /** Sessions that are being ended for good: until that is done, there is no other with the same id. */
  readonly #endingById = new Map<string, Promise<void>>();
  /** Sessions of versions that kept one state for each principal, by the id of the state that took them over. */
  readonly #adopted = new Map<string, string>();
  /** States that are being opened. */
  readonly #opening = new Map<string, Promise<Session>>();
  #startedAt = 0;
  readonly #ending = new Set<Promise<void>>();
  readonly #stopTimers: (() => void)[] = [];
  #closing = false;
  #drained: Promise<void> | undefined;
  /** What is being left to others. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Absent if no other gateway can use the store. */
  readonly #ownership: Ownership | undefined;
  #neighbourhood: Neighbourhood | undefined;
  readonly #claims: Claims;
  /** Told when a session has ended here, so that a listener can let go of what it keeps for it. */
  readonly onSessionEnded = new Set<(session: Session, ending: Ending) => void>();

  constructor(parts: GatewayParts) {
    const { store, backends, settings, log, principals = [], observed = {}, clock = systemClock } = parts;
    this.store = store;
    this.audit = parts.audit;
    this.observed = observed;
    this.settings = settings;
    const { totalBytes, principalShare: reserved } = settings.limits;
    this.#memory = new PrincipalBudgets(totalBytes, 'limits.totalBytes', { names: principals, reserved });
    this.#events = new PrincipalBudgets(settings.events.total, 'events.total', { names: principals, reserved });
    this.log = log;
    this.clock = store.cluster ? certainClock(clock, () => this.isInDoubt) : clock;
    this.#backends = backends;
    this.#models = parts.models;
    this.#standing = standingAnswers(settings.answers, { dryRun: settings.answersDryRun, log });
    this.#policy = parts.policy;
    this.registry = new ServerRegistry(store, settings, this.clock);
    this.servers = new ServerChanges({
      registry: this.registry,
      log,
      sessions: () => this.sessions,
      end: async (session, reason) => this.end(session, reason),
      onChange: (event, server, session, config) => this.audit?.serverChanged(event, server, session.recorded, config),
    });
    this.#limits = gatewayLimits(settings, principals);
    this.#claims = new Claims(store, () => this.#stage);
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
        usage: () => usageOf(this.#limits),
        onUsage: (others) => noteElsewhere(this.#limits, others),
        onLost: (ids) => this.#lost(ids),
        onGone: async () => this.#takeOver(),
      });
  }

  async start(servers: ReadonlyMap<string, ServerConfig>): Promise<void> {
    this.#startedAt = this.clock.now();
    await this.registry.load(servers);
    if (this.#ownership) {
      // Neither old tasks nor the sessions of others delay the start.
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
      for (const { id, principal } of await this.store.sessionsToResume()) await this.#restoreIfPossible(id, principal);
    }
    this.recorder?.start();
    this.audit?.start();
    this.notifier?.start();
    const { sessions, tasks } = this.settings;
    this.#stopTimers.push(
      ...(this.recorder ? [] : [this.clock.after(CLEAR_MS, () => this.#clearHistory(), { unref: true })]),
      every(sessions.checkMs, () => this.#endIdle(), this.clock),
      every(tasks.cleanupMs, () => this.#cleanUp(), this.clock),
    );
  }

  /** Nothing is kept of what was written before the history was turned off. */
  #clearHistory(): void {
    const { history } = this.store;
    const clear = async (): Promise<void> => {
      await history.endLost(this.clock.now());
      await history.trim(Infinity, 0);
    };
    clear().catch((error: unknown) => this.log.warn('history_clean_up_failed', { error: messageOf(error) }));
  }

  // --- Several gateways ---

  /** Others reach this gateway here from now on: it takes part in going on with the work of those that are gone. */
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

  /** Restores the sessions of a principal that have something left, and that no gateway has. */
  async wakeLeft(principal: string): Promise<void> {
    const { cluster } = this.store;
    // Clients of a session could not reach it at a gateway that has no address.
    if (cluster === undefined || this.#neighbourhood === undefined || this.draining) return;
    for (const id of await orStoreFailed(cluster.leftOf(principal))) await this.#restoreIfPossible(id, principal);
  }

  /**
   * The session with a task or a question of a client of the principal that sees servers as they are; throws if another gateway
   * has it. Only the store knows of those that are not here.
   */
  async nativeSessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<Session | undefined> {
    const { cluster } = this.store;
    if (cluster === undefined || this.#neighbourhood === undefined) return undefined;
    const record = await orStoreFailed(cluster.sessionWith(kind, id, principal));
    if (record === undefined || record.view.kind === 'hub') return undefined;
    try {
      return await this.restore(record.id, principal);
    } catch (error) {
      // All states of a principal are elsewhere; this is about one of them.
      throw error instanceof OwnedElsewhere ? new OwnedElsewhere(record.id, error.owner) : error;
    }
  }

  /** Tells the clients of the hub of a principal what happened in a session of another gateway. */
  tellHub(principal: string, ...event: Parameters<EventSink['add']>): void {
    for (const hub of this.#sessions.values()) {
      if (hub.view.kind === 'hub' && hub.principal === principal) hub.events.add(...event);
    }
  }

  /** Whether another gateway may have the sessions: nothing may be said or done in them until `certain` says otherwise. */
  get isInDoubt(): boolean {
    return this.#ownership?.isInDoubt === true;
  }

  /** Asks the store; tells whether that has ended the doubt. */
  async certain(): Promise<boolean> {
    await this.#ownership?.renew();
    return !this.isInDoubt;
  }

  /** Other gateways have these now: this one must not say another word about them. */
  #lost(ids: readonly string[]): void {
    const lost = new Set(ids);
    const principals = this.#claims.statesLost(lost);
    for (const session of this.sessions) {
      // Who has the states of a principal must get all of them.
      const goesAlong = isState(session) && principals.has(session.principal);
      if (lost.has(session.id) || goesAlong) this.#leave(session);
    }
  }

  #leave(session: Session): void {
    this.#finish(session, { by: 'successor', reason: 'another gateway has the session' })
      .then(async () => session.release())
      .catch((error: unknown) => {
        this.log.error('session_end_failed', { sessionId: session.id, error: messageOf(error) });
      });
  }

  /** Goes on with unfinished sessions that no gateway has, as after a restart. */
  async #takeOver(): Promise<void> {
    for (;;) {
      const found = (await this.store.sessionsToResume()).filter(({ id }) => !this.#sessions.has(id));
      let taken = 0;
      while (found.length > 0 && !this.#closing && !this.draining) {
        const some = found.splice(0, AT_ONCE);
        const restored = await Promise.all(
          some.map(async ({ id, principal }) => this.#restoreIfPossible(id, principal)),
        );
        taken += restored.filter(Boolean).length;
      }
      // What could not be restored is tried again when the next gateway is gone, or its client comes back.
      if (taken === 0) return;
    }
  }

  get #stage(): Stage {
    if (this.#closing) return 'closing';
    return this.draining ? 'draining' : 'open';
  }

  /**
   * Leaves all sessions to other gateways: at once, or when their calls have ended that nobody else could go on with. Calls that
   * take longer than `cluster.drainMs` are lost.
   */
  async drain(): Promise<void> {
    const { cluster } = this.store;
    if (cluster === undefined) return;
    this.#drained ??= this.#drain(cluster);
    return this.#drained;
  }

  /** Whether this gateway is being stopped, and leaves its sessions to others. */
  get draining(): boolean {
    return this.#drained !== undefined;
  }

  async #drain(cluster: ClusterStore): Promise<void> {
    const deadline = this.clock.now() + this.settings.cluster.drainMs;
    await Promise.allSettled([...this.#restoring.values(), ...this.#opening.values()]);
    for (const { calls } of this.sessions) calls.promoteKept();
    const isBusy = ({ sessions }: Unit): boolean => sessions.some(({ calls }) => calls.anyPlain);
    const leave = async (key: string, unit: Unit): Promise<void> => {
      while (isBusy(unit) && this.clock.now() < deadline) await sleep(DRAIN_MS, this.clock);
      await this.#handOver(unit);
      this.#leaving.delete(key);
    };
    const idle: Promise<void>[] = [];
    const busy: Promise<void>[] = [];
    for (const [key, unit] of this.#units()) {
      const leaving = leave(key, unit);
      this.#leaving.set(key, leaving);
      (isBusy(unit) ? busy : idle).push(leaving);
    }
    await Promise.all(idle);
    await this.#tellWorkLeft(cluster);
    await Promise.all(busy.map(async (leaving) => leaving.then(async () => this.#tellWorkLeft(cluster))));
  }

  /** Resolves when a session, or the states of a principal, are left to others, if they are about to be. */
  whenLeft(key: string): Promise<void> | undefined {
    return this.#leaving.get(key);
  }

  /** Other gateways find the work by themselves, only later. */
  async #tellWorkLeft(cluster: ClusterStore): Promise<void> {
    await cluster.tellWorkLeft().catch((error: unknown) => {
      this.log.warn('work_left_not_told', { error: messageOf(error) });
    });
  }

  /** By what they are claimed. */
  #units(): Map<string, Unit> {
    const units = new Map<string, Unit>();
    for (const principal of this.#claims.principals) units.set(statesKey(principal), { principal, sessions: [] });
    for (const session of this.sessions) {
      const key = claimKey(session);
      const unit = units.get(key) ?? { sessions: [] };
      units.set(key, unit);
      unit.sessions.push(session);
    }
    return units;
  }

  /** Whatever fails, the rest goes on: claims that are not given back end with the lease. */
  async #handOver({ sessions, principal }: Unit): Promise<void> {
    await Promise.all(
      sessions.map(async (session) => {
        // Its client may have ended it meanwhile.
        if (!this.#sessions.has(session.id)) return;
        try {
          await this.#finish(session, { by: 'gateway', reason: 'the gateway is shutting down' });
        } catch (error) {
          this.log.error('session_end_failed', { sessionId: session.id, error: messageOf(error) });
        }
        // What is written now must not be written after what the next gateway writes.
        await this.#entriesWritten();
        await session.release();
      }),
    );
    if (principal !== undefined) await this.#claims.releaseStates(principal);
  }

  async #entriesWritten(): Promise<void> {
    if (this.recorder) await within(LAST_ENTRIES_MS, this.recorder.flush(), this.clock);
  }

  // --- Sessions ---

  async open(
    principal: string,
    { id = secretId(), view, owner, later = false, assertOwned }: OpenOptions,
  ): Promise<Session> {
    // A request of another state may be looking for it, and has it claimed meanwhile.
    while (this.#restoring.has(id)) await this.#restoring.get(id)?.catch(() => {});
    await this.#claims.assertTakesNew();
    return untilOwned(async () => this.#open(principal, { id, view, owner, later, assertOwned }));
  }

  async #open(
    principal: string,
    { id, view, owner, later, assertOwned }: OpenOptions & { id: string },
  ): Promise<Session> {
    const claimed = await this.#claims.claim(id, claimKey({ id, principal, owner }));
    if (claimed === undefined) throw new GatewayError('TOOL_ERR_STORE', 'the session is in use; try again');
    try {
      if (this.#closing || this.draining) throw shuttingDown();
      if (claimed.isLost) throw new ClaimLost();
      assertOwned?.();
      this.#limits.sessions.quotaFor(principal).assertRoom();
      if (view.kind === 'direct') this.registry.of(principal).require(view.server);
      if (view.kind === 'group') requireGroup(view.group, this.settings);
      const session = this.#newSession({ id, principal, view, owner }, claimed);
      this.#add(session);
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
      'id' | 'principal' | 'createdAt' | 'key' | 'view' | 'owner' | 'preferences' | 'remembered'
    >,
    store: ClaimedSession,
  ): Session {
    const { settings, log, observed, recorder, audit, notifier, clock, registry } = this;
    const notifyHub: EventSink['add'] = (type, server, data) => {
      this.tellHub(about.principal, type, server, data);
      this.#neighbourhood?.tell(about.principal, { ask: 'event', type, server, data }).catch((error: unknown) => {
        this.log.warn('gateways_not_told', { error: messageOf(error) });
      });
    };
    const servers = registry.of(about.principal);
    const quotas = {
      session: this.#limits.sessions.quotaFor(about.principal),
      requests: this.#limits.requests.quotaFor(about.principal),
      tasks: this.#limits.tasks.quotaFor(about.principal),
    };
    const memory = this.memoryOf(about.principal);
    const eventTotal = this.#events.of(about.principal);
    return new Session({
      ...about,
      quotas,
      memory,
      eventTotal,
      notifyHub,
      onQuestions: (session, any) => this.#noteQuestions(session, any),
      store,
      backends: this.#backends,
      standing: this.#standing,
      models: this.#models,
      counters: this.store,
      servers,
      settings,
      log,
      observed,
      recorder,
      notifier,
      policy: this.#policy,
      audit,
      clock,
    });
  }

  /** What the sessions of a principal keep in memory, and the bodies of its open requests. */
  memoryOf(principal: string): Budget {
    return this.#memory.of(principal);
  }

  /** The native sessions of the same principal: the hub looks after what their clients leave. */
  nativeSessionsOf({ principal }: Pick<Session, 'principal'>): ReadonlySet<Session> {
    return this.#native.get(principal) ?? NOBODY;
  }

  /** Whether one of these clients has questions; there may be thousands of them. */
  anyNativeQuestions({ principal }: Session): boolean {
    return (this.#asking.get(principal)?.size ?? 0) > 0;
  }

  #noteQuestions(session: Session, any: boolean): void {
    const { principal, view } = session;
    if (view.kind === 'hub') return;
    const asking = this.#asking.get(principal) ?? new Set();
    if (any) this.#asking.set(principal, asking.add(session));
    else asking.delete(session);
  }

  #add(session: Session): void {
    this.#sessions.set(session.id, session);
    session.quotas.session.take();
    if (session.view.kind === 'hub') return;
    const others = this.#native.get(session.principal) ?? new Set();
    this.#native.set(session.principal, others.add(session));
  }

  #remove(session: Session): boolean {
    this.#native.get(session.principal)?.delete(session);
    this.#noteQuestions(session, false);
    session.quotas.session.close();
    return this.#sessions.delete(session.id);
  }

  /** The session of a client that has none in the protocol: at once if it is there, else when it is opened or restored. */
  stateOf(address: StateAddress): Session | Promise<Session> {
    const id = stateId(address);
    const open = this.#sessions.get(this.#adopted.get(id) ?? id);
    if (open !== undefined) return open;
    // Several requests of the same client may come at the same moment.
    const opening = this.#opening.get(id) ?? this.#openState(address).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  /** The state of the principal that was used last, of the hub or of one server. */
  latestState(principal: string, view: View): Session | undefined {
    return this.sessions
      .filter((each) => each.principal === principal && isSameView(each.view, view) && isState(each))
      .toSorted((a, b) => b.lastActiveAt - a.lastActiveAt)[0];
  }

  async #openState(address: StateAddress): Promise<Session> {
    const { principal, view, name } = address;
    const id = this.#adopted.get(stateId(address)) ?? stateId(address);
    return untilOwned(async () => {
      const assertOwned = await this.#claims.claimStates(principal);
      await this.#endingById.get(id)?.catch(() => {});
      const earlier = (await this.restore(id, principal)) ?? (await this.#adopt(address));
      return earlier ?? this.open(principal, { id, view, owner: { kind: 'state', name }, assertOwned });
    });
  }

  /** A state of an earlier version of the program belonged to all clients of a principal: the first one to come back has it. */
  async #adopt(address: StateAddress): Promise<Session | undefined> {
    const { principal, view, name } = address;
    if (view.kind === 'group') return undefined;
    const earlier = await this.restore(sharedStateId(principal, view), principal);
    if (earlier?.owner.kind !== 'state') return undefined;
    if (earlier.owner.name === undefined) earlier.setOwner({ kind: 'state', name });
    if (earlier.owner.name !== name) return undefined;
    this.#adopted.set(stateId(address), earlier.id);
    return earlier;
  }

  /** The other states of the principal that are like this session: of the hub, or of the same server. */
  async otherStates(own: Session): Promise<Session[]> {
    const { principal, view } = own;
    // A client with a session of its own sees that session only.
    if (!isState(own)) return [];
    const isOther = (each: SessionRecord | Session): boolean =>
      each.id !== own.id && each.principal === principal && isSameView(each.view, view) && isState(each);
    for (const { id } of (await orStoreFailed(this.store.states(principal))).filter(isOther)) {
      await this.#restoreIfPossible(id, principal);
    }
    return this.sessions.filter(isOther);
  }

  /** A session of an earlier run, when its own client comes back to it. */
  async restore(id: string, principal: string): Promise<Session | undefined> {
    // Without a wait where there is nothing to wait for: two requests in one turn must share one attempt.
    while (this.#restoring.has(id)) await this.#restoring.get(id);
    const live = this.#sessions.get(id);
    if (live !== undefined) return live.principal === principal ? live : undefined;
    if (this.#closing) throw shuttingDown();
    const attempt = untilOwned(async () => this.#restore(id, principal));
    this.#restoring.set(id, attempt);
    try {
      return await attempt;
    } finally {
      this.#restoring.delete(id);
    }
  }

  /** A session that cannot be restored does not affect others; its client may come back for it. */
  async #restoreIfPossible(id: string, principal: string): Promise<boolean> {
    try {
      return (await this.restore(id, principal)) !== undefined;
    } catch (error) {
      if (error instanceof OwnedElsewhere) return false;
      if (this.store.problem !== undefined) throw error;
      this.log.error('session_not_restored', { sessionId: id, error: messageOf(error) });
      return false;
    }
  }

  async #restore(id: string, principal: string): Promise<Session | undefined> {
    const assertOwned = isStateId(id) ? await this.#claims.claimStates(principal) : undefined;
    const claimed = await this.#claims.claim(id, assertOwned ? statesKey(principal) : id);
    if (claimed === undefined) return undefined;
    const { record } = claimed;
    try {
      if (record === undefined || record.principal !== principal) {
        await claimed.release();
        return undefined;
      }
      // The next client on such a connection is taken for the same one only soon after the program has ended.
      const isStale = record.lastActiveAt + this.settings.sessions.idleMs <= this.#startedAt;
      if (isStale && id.startsWith(CONNECTION_SESSION)) {
        claimed.erase();
        return undefined;
      }
      return await this.#restored(record, claimed, assertOwned);
    } catch (error) {
      const half = this.#sessions.get(id);
      if (half) await this.#abandon(half);
      await claimed.release();
      if (error instanceof GatewayError || error instanceof ClaimLost) throw error;
      throw new GatewayError('TOOL_ERR_STORE', messageOf(error));
    }
  }

  /** Ends what was restored of a session: its timers and connections, and its part in the limits. */
  async #abandon(half: Session): Promise<void> {
    try {
      await this.#finish(half, { by: 'gateway', reason: 'the session could not be restored' });
    } catch (error) {
      this.log.error('session_end_failed', { sessionId: half.id, error: messageOf(error) });
    }
  }

  async #restored(record: SessionRecord, claimed: ClaimedSession, assertOwned?: () => void): Promise<Session> {
    const { id, principal, createdAt, key, view, owner, preferences, remembered } = record;
    const trimmed = await this.#makeFit(record, claimed);
    const stored = await claimed.load();
    if (this.#closing) throw shuttingDown();
    if (claimed.isLost) throw new ClaimLost();
    assertOwned?.();
    const session = this.#newSession({ id, principal, createdAt, key, view, owner, preferences, remembered }, claimed);
    this.#add(session);
    session.restore(stored);
    session.events.dropped(trimmed.events);
    claimed.put('session', session.record);
    const { tasks, questions } = stored;
    this.log.info('session_restored', { sessionId: id, tasks: tasks.length, questions: questions.length });
    return session;
  }

  /** Nothing is read that could not be held. */
  async #makeFit({ id: sessionId, principal }: SessionRecord, claimed: ClaimedSession): Promise<Trimmed> {
    const { limits, tasks } = this.settings;
    // In the store, texts may take twice as much as in memory: quotes and line ends are escaped.
    const trimmed = await claimed.trim(2 * limits.sessionBytes, this.clock.now() + tasks.keepMs);
    if (trimmed.events + trimmed.questions + trimmed.tasks > 0) {
      this.log.warn('session_too_large', { sessionId, limit: 'limits.sessionBytes', ...trimmed });
    }
    const memory = this.memoryOf(principal);
    if (trimmed.bytes <= 2 * memory.left) return trimmed;
    const shortage = memory.shortage(trimmed.bytes);
    throw new GatewayError('TOOL_ERR_LIMIT', `no memory left to restore the session (${shortage}); try again later`);
  }

  get sessions(): Session[] {
    return [...this.#sessions.values()];
  }

  /** Ends a session for good: nobody will ask for what belongs to it. */
  async end(session: Session, reason: string): Promise<void> {
    const { id } = session;
    const earlier = this.#endingById.get(id);
    if (earlier !== undefined) return earlier;
    const ending = this.#finish(session, { by: 'client', reason }).finally(() => {
      session.erase();
      this.#endingById.delete(id);
    });
    this.#endingById.set(id, ending);
    return ending;
  }

  get closing(): boolean {
    return this.#closing;
  }

  async close(reason: string): Promise<void> {
    this.#closing = true;
    for (const stop of this.#stopTimers) stop();
    this.#ownership?.stop();
    this.log.info('registry_shutdown_start', { serverCount: this.registry.size });
    await Promise.allSettled(this.#restoring.values());
    // What is stored stays: the clients may come back to it.
    await Promise.allSettled([
      ...this.sessions.map(async (session) => {
        await this.#finish(session, { by: 'gateway', reason });
        await session.release();
      }),
      ...this.#ending,
      ...this.#endingById.values(),
    ]);
    await Promise.all([this.recorder?.close(), this.audit?.close(), this.notifier?.close()]);
    this.log.info('registry_shutdown_complete', {});
  }

  async #finish(session: Session, ending: Ending): Promise<void> {
    if (!this.#remove(session)) return;
    this.log.info('session_destroying', { sessionId: session.id, reason: ending.reason });
    // Its client must not hear how it ends here.
    if (ending.by === 'successor') this.#tellEnded(session, ending);
    const closing = session.close(ending);
    this.#ending.add(closing);
    try {
      await closing;
      // Open requests were answered when the session closed; those replies leave before the transports close.
      if (ending.by === 'gateway') await this.repliesSent();
    } finally {
      this.#ending.delete(closing);
      if (ending.by !== 'successor') this.#tellEnded(session, ending);
      this.log.info('session_destroyed', { sessionId: session.id });
    }
  }

  #tellEnded(session: Session, ending: Ending): void {
    for (const told of this.onSessionEnded) told(session, ending);
  }

  /** Resolves when the replies to requests that were answered just now have been written. */
  async repliesSent(): Promise<void> {
    // In the first turn each reply is built, and asks the store to keep what it tells; the last one writes it.
    await nextTurn();
    await this.store.settled().catch(() => {});
    await nextTurn();
  }

  #cleanUp(): void {
    const now = this.clock.now();
    for (const session of this.#sessions.values()) {
      session.tasks.sweep(now);
      session.interactions.sweep();
    }
    this.store.dropOverdue(now).catch((error: unknown) => {
      this.log.error('clean_up_failed', { error: messageOf(error) });
    });
  }

  #endIdle(): void {
    const before = this.clock.now() - this.settings.sessions.idleMs;
    // While the program was not there, no client could be active.
    if (this.#startedAt <= before) {
      this.store.dropIdle(before).catch((error: unknown) => {
        this.log.error('clean_up_failed', { error: messageOf(error) });
      });
    }
    for (const session of this.#sessions.values()) {
      // What was at work until now is not idle yet: its client has not had the time to ask for the result.
      if (session.busy) session.postponeIdle();
      if (session.lastActiveAt > before) {
        // After a crash, the next gateway can tell how long the client has been away.
        session.save();
        continue;
      }
      this.log.info('session_timeout_cleanup', { sessionId: session.id });
      this.end(session, 'the session was idle').catch((error: unknown) => {
        this.log.error('session_end_failed', { sessionId: session.id, error: messageOf(error) });
      });
    }
  }
}

/** Neither names of principals nor of servers and groups have a colon. */
function stateId({ principal, view, name }: StateAddress): string {
  return `${viewId(view)}:${name}:${principal}`;
}

function viewId(view: View): string {
  switch (view.kind) {
    case 'hub':
      return 'hub';
    case 'direct':
      return `server:${view.server}`;
    case 'group':
      return `group:${view.group}`;
  }
}

/** The id of the state that all clients of a principal shared in earlier versions, which had no groups. */
function sharedStateId(principal: string, view: Exclude<View, { kind: 'group' }>): string {
  return view.kind === 'hub' ? `principal:${principal}` : `direct:${view.server}:${principal}`;
}
