import { randomBytes } from 'node:crypto';
import type { Log } from '../../lib/log.ts';
import { continueFrom } from '../../lib/ids.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { timeoutSignal } from '../../lib/timers.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import type { ListItem } from '../../lib/pages.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { isObject } from '../../lib/values.ts';
import { Budget } from '../budget.ts';
import { Calls } from '../call/calls.ts';
import type { Ending } from '../call/request.ts';
import type { SessionQuotas } from '../gateway-limits.ts';
import type { AuditRecorder } from '../audit/recorder.ts';
import type { Recorder } from '../history/recorder.ts';
import { SessionRecorder } from '../history/session-recorder.ts';
import type { Notifier } from '../notify/notifier.ts';
import { SessionNotifier } from '../notify/session-notifier.ts';
import type { Observed } from '../observer.ts';
import { hasHubTools, shownServers } from '../groups.ts';
import { GatewayError, shuttingDown } from '../errors.ts';
import { EventLog, type EventSink } from '../event/log.ts';
import type {
  Arrival,
  RelatedRequest,
  Backends,
  ClaimedSession,
  Connection,
  IncomingQuestion,
  Models,
  OutgoingRequest,
  Store,
  StoredPreferences,
  ServerConfig,
  ServerInfo,
  SessionRecord,
  StoredSession,
} from '../ports.ts';
import type { Answer, InteractionKind, OpenInteraction } from '../interaction/interaction.ts';
import { InteractionRouter } from '../interaction/router.ts';
import type { StandingAnswers } from '../interaction/standing-answers.ts';
import { ModelResponder } from '../models/model-responder.ts';
import type { LiveCall } from '../call/live-call.ts';
import { bothListeners, type RecordedSession, type SessionListener } from './listener.ts';
import type { CoreSettings } from '../settings.ts';
import { HUB_ADVICE, PROTOCOL_ADVICE } from '../task/advice.ts';
import { TaskBook } from '../task/book.ts';
import { hasEnded } from '../task/task.ts';
import { Attachment, type BufferedLog, type BufferedNotification } from './attachment.ts';
import type { Catalog } from './catalog.ts';
import { LIST_KINDS, ReadLists, type ListKind } from './read-lists.ts';
import type { KnownServer, VisibleServers } from './registry.ts';
import { Preferences } from './preferences.ts';
import type { CallGate, Policy } from '../policy/gate.ts';
import type { RememberedTools } from '../policy/remembered.ts';
import { CONSOLE_STATE, programOf, type ClientRecord, type Owner, type View } from './kind.ts';

export interface SessionParts {
  id: string;
  principal: string;
  /** When it began, if that was in an earlier run of the program. */
  createdAt?: number;
  /** What signs what its client carries, if it was made in an earlier run of the program. */
  key?: string | undefined;
  view: View;
  owner: Owner;
  /** What the client asked of the servers in an earlier run of the program. */
  preferences?: Record<string, StoredPreferences> | undefined;
  /** Notifies the hub sessions that look after what the client of one server left, or cannot be asked. */
  notifyHub?: EventSink['add'];
  /** Told when it has questions again, and when it has none any more. */
  onQuestions?: (session: Session, any: boolean) => void;
  /** Its part in the limits of the whole gateway. */
  quotas: SessionQuotas;
  /** What its principal may keep in memory. */
  memory: Budget;
  /** How many events the sessions of its principal may keep. */
  eventTotal: Budget;
  store: ClaimedSession;
  backends: Backends;
  /** Answers of the config to routine questions. */
  standing?: StandingAnswers | undefined;
  /** Absent if the config has none. */
  models?: Models | undefined;
  counters: Pick<Store, 'addToCounter'>;
  /** The servers that its principal can use. */
  servers: VisibleServers;
  settings: CoreSettings;
  log: Log;
  observed?: Observed;
  /** Writes the history; absent if there is none. */
  recorder?: Recorder | undefined;
  /** Absent if nobody is notified. */
  notifier?: Notifier | undefined;
  /** Absent without rules. */
  policy?: Policy | undefined;
  /** The tools that a person has allowed for the rest of the session, in an earlier run of the program. */
  remembered?: RememberedTools | undefined;
  /** Writes the audit record; absent if there is none. */
  audit?: AuditRecorder | undefined;
  clock: Clock;
}

export type NotificationListener = (
  server: string,
  method: string,
  params: Record<string, unknown> | undefined,
  relatedRequest: RelatedRequest,
) => void;

/**
 * Everything that belongs to one client: its connections to the servers, its calls, tasks, questions, events and
 * buffers. Nothing in here is shared with another session.
 */
export class Session {
  readonly id: string;
  readonly principal: string;
  /** The servers that the principal can use. */
  readonly servers: VisibleServers;
  readonly quotas: SessionQuotas;
  readonly clock: Clock;
  readonly observed: Observed;
  readonly events: EventLog;
  readonly tasks: TaskBook;
  readonly interactions: InteractionRouter;
  readonly calls: Calls;
  readonly createdAt: number;
  readonly view: View;
  /** Signs what the client carries for the session from one request to the next. */
  readonly key: string;
  readonly #preferences: Preferences;
  #owner: Owner;
  /** Told of every notification of a server as it came. */
  readonly onNotification = new Set<NotificationListener>();
  /** What the client of one server has read of that server's lists. */
  readonly readLists = new ReadLists();
  /** Notified when lists that the client has read are different at a server that came back, or was replaced. */
  readonly onListsChanged = new Set<(kind: ListKind) => void>();
  /** Notified when a server is there, for the first time or again. */
  readonly onArrived = new Set<(server: string, arrival: Arrival) => void>();
  lastActiveAt: number;
  /** When the client itself was last active: a request, or the end of a stream. */
  #clientActiveAt: number;
  #open = true;
  #comesBack = false;
  #holds = 0;
  #requests = 0;
  readonly #attachments = new Map<string, Attachment>();
  /** Connections that are not kept yet. */
  readonly #trials = new Set<Connection>();
  /** What it may keep in memory. */
  readonly budget: Budget;
  readonly #recorder: SessionListener | undefined;
  readonly #notifier: SessionNotifier | undefined;
  /** Absent if there are no models. */
  readonly #models: ModelResponder | undefined;
  readonly #gate: CallGate | undefined;
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    const { id, principal, settings, log, observed = {}, clock, store } = parts;
    this.#parts = parts;
    this.observed = observed;
    this.id = id;
    this.principal = principal;
    this.servers = parts.servers;
    this.quotas = parts.quotas;
    this.clock = clock;
    this.lastActiveAt = this.#clientActiveAt = clock.now();
    this.createdAt = parts.createdAt ?? this.lastActiveAt;
    this.view = parts.view;
    this.key = parts.key ?? randomBytes(32).toString('base64url');
    assertShort(parts.owner);
    this.#owner = parts.owner;
    this.#preferences = new Preferences(parts.preferences, {
      changed: () => {
        if (this.#keepsPreferences) store.put('session', this.record);
      },
      subscribed: (subscription) => {
        if (this.#keepsPreferences) store.put('subscription', { ...subscription, sessionId: id });
      },
      unsubscribed: (subscriptionId) => store.drop('subscription', subscriptionId),
    });
    const { entryBytes, questionBytes, sessionBytes } = settings.limits;
    const budget = new Budget(sessionBytes, 'limits.sessionBytes', parts.memory);
    this.budget = budget;
    this.events = new EventLog(id, store, settings.events, log, { budget, total: parts.eventTotal, entryBytes, clock });
    const isHub = this.view.kind === 'hub';
    // A client that sees its tasks itself needs events only for those that it has lost sight of, and finds them at the hub.
    const ofTask: EventSink['add'] = (type, server, data) => {
      if (this.hasHubTools) this.events.add(type, server, data);
      const { taskId } = data;
      if (typeof taskId === 'string' && this.tasks.find(taskId)?.abandoned) parts.notifyHub?.(type, server, data);
    };
    const ofQuestion: EventSink['add'] = (...event) => {
      if (this.hasHubTools) this.events.add(...event);
      parts.notifyHub?.(...event);
    };
    this.tasks = new TaskBook({
      sessionId: id,
      store,
      events: isHub ? this.events : { add: ofTask },
      settings: settings.tasks,
      quota: parts.quotas.tasks,
      log,
      advice: isHub ? HUB_ADVICE : PROTOCOL_ADVICE,
      budget,
      observed,
      clock,
    });
    const live = new InFlight<string, LiveCall>();
    const recorder = bothListeners(
      parts.recorder && new SessionRecorder(parts.recorder, this.recorded, live),
      parts.audit?.session(this.recorded, live),
    );
    this.#recorder = recorder;
    const notifier =
      parts.notifier && new SessionNotifier(parts.notifier, { id, principal, live, tasks: this.tasks, store, clock });
    this.#notifier = notifier;
    const models = parts.models && this.#modelResponder(parts.models);
    this.#models = models;
    this.interactions = new InteractionRouter({
      sessionId: id,
      store,
      tasks: this.tasks,
      calls: live,
      events: isHub ? this.events : { add: ofQuestion },
      // A client that answers itself what it can is told only of the rest.
      announce: !isHub || settings.questions.via === 'native' ? 'unclaimed' : 'always',
      // A client that has introduced itself has a place for questions that belong to no call.
      needsHost: () => !isHub && this.#owner.kind !== 'client',
      onOccupied: (occupied) => parts.onQuestions?.(this, occupied),
      standing: parts.standing,
      ...(models && { modelTakes: (question) => !this.#declares(question) && models.takes(question) }),
      settings: settings.questions,
      log,
      budget,
      questionBytes,
      observed,
      recorder,
      notifier,
      clock,
    });
    const { tasks, interactions } = this;
    if (models) interactions.register('model', models.respond);
    const gate = parts.policy?.gateFor({
      principal,
      interactions,
      questionTimeoutMs: settings.questions.timeoutMs,
      annotationsOf: (server, tool) => this.catalog(server).annotationsOf(tool),
      remembered: parts.remembered,
      onRemembered: () => this.save(),
      log,
    });
    this.#gate = gate;
    this.calls = new Calls({
      live,
      tasks,
      interactions,
      store,
      settings,
      log,
      budget,
      observed,
      recorder,
      notifier,
      gate,
      clock,
    });
  }

  #modelResponder(models: Models): ModelResponder {
    const { settings, store, counters, log, clock, principal } = this.#parts;
    return new ModelResponder({
      models,
      settings: settings.models,
      clientOf: (server) => ({
        principal,
        server,
        configured: this.servers.get(server)?.addedBy === 'config file',
      }),
      interactions: () => this.interactions,
      store,
      counters,
      log,
      clock,
    });
  }

  /** Whether the client said when it introduced itself that it can be asked this. */
  #declares({ kind, params }: OpenInteraction): boolean {
    const declared = this.client?.capabilities[kind];
    return isObject(declared) && (params['tools'] === undefined || declared['tools'] !== undefined);
  }

  /** What the history and the audit record tell of it. */
  get recorded(): RecordedSession {
    const { id, principal, view } = this;
    const isConsole = this.#owner.kind === 'state' && this.#owner.name === CONSOLE_STATE;
    return { id, principal, view: isConsole ? 'console' : view.kind, program: () => this.program };
  }

  /** The name of the client program, as far as it is known. */
  get program(): string | undefined {
    return programOf(this.#owner);
  }

  /** Brings back what an earlier run of the program left of this session, and goes on with what can go on. */
  restore({ tasks, questions, events, subscriptions }: StoredSession): void {
    const { after } = this.#parts.store;
    if (after !== undefined) continueFrom(after);
    this.#preferences.restore(subscriptions);
    this.events.restore(events);
    this.tasks.restore(tasks);
    const atWork = this.tasks.atWork();
    const resumable = new Set(atWork.filter((task) => task.checkpoint !== undefined).map(({ id }) => id));
    // The hub may have told of them before.
    this.interactions.restore(questions, (taskId) => resumable.has(taskId), { announced: this.view.kind === 'hub' });
    for (const task of atWork) {
      this.calls.resume(task, (server) => this.connection(server));
      // A call that waits for an approval: its client waited with a request that is gone, and finds it again with the same call.
      const waits = task.unsent === true && task.checkpoint !== undefined;
      if (waits && !task.exposed && this.view.kind !== 'hub') this.tasks.setAbandoned(task.id, true);
    }
    if (this.#notifier) for (const task of tasks) if (hasEnded(task)) this.#notifier.taskEnded(task);
    for (const server of this.#preferences.servers) this.#restorePreferences(server);
  }

  /** Connects to a server that the client wanted to be notified by, unless it cannot see the server any more. */
  #restorePreferences(server: string): void {
    const isGroup = this.view.kind === 'group';
    if (isGroup && !this.shown.includes(server)) this.#preferences.forget(server);
    // A client of a group sets the log level of all its servers, and most of them will not be used.
    const isWanted = !isGroup || this.#preferences.of(server).uris.length > 0;
    if (isWanted && this.servers.get(server)) this.connectInBackground(server);
  }

  /** Changes who the session belongs to: a client introduces itself, or names an unnamed state. */
  setOwner(owner: Owner): void {
    this.#owner = owner;
    this.save();
  }

  /** Stores what the session is, and when it was last active. */
  save(): void {
    this.#parts.store.put('session', this.record);
  }

  /** Deletes everything that is stored of the session. */
  erase(): void {
    this.#parts.store.erase();
  }

  /** Lets another gateway continue the session. */
  async release(): Promise<void> {
    await this.#parts.store.release();
  }

  /** Resolves when everything of this session is stored that the client may be told. */
  settled(): Promise<void> {
    return this.#parts.store.settled();
  }

  get ended(): boolean {
    return !this.#open;
  }

  get owner(): Owner {
    return this.#owner;
  }

  /** The client, if it has introduced itself. */
  get client(): ClientRecord | undefined {
    return this.#owner.kind === 'client' ? this.#owner.client : undefined;
  }

  /** Starts connecting to the servers that do not wait for their first use; nobody waits for it. */
  connectEager(): void {
    if (this.view.kind !== 'hub') for (const server of this.shown) this.connectInBackground(server);
    else
      for (const server of this.servers.list()) if (this.#isEager(server.config)) this.connectInBackground(server.name);
  }

  /** The servers that its client sees as they are, in an order that does not change. */
  get shown(): string[] {
    return shownServers(this.view, () => this.servers.list().map(({ name }) => name), this.#parts.settings);
  }

  /** Whether its client gets the tools of the hub: those alone, or beside the tools of the servers. */
  get hasHubTools(): boolean {
    return hasHubTools(this.view, this.#owner, this.#parts.settings);
  }

  /** The same for one server that was added or replaced. */
  connectIfEager(server: string): void {
    if (this.#isEager(this.servers.require(server).config)) this.connectInBackground(server);
  }

  #isEager(config: ServerConfig): boolean {
    const { commands, urls } = this.#parts.settings.servers.connect;
    return ('url' in config ? urls : commands) === 'eager';
  }

  connectInBackground(server: string): void {
    const connecting = async (): Promise<ServerInfo> => this.connection(server).ready();
    connecting().catch((error: unknown) => {
      const level = this.#open ? 'warn' : 'debug';
      this.#parts.log[level]('session_server_connect_failed', { sessionId: this.id, server, error: messageOf(error) });
    });
  }

  /** The connection to a configured server, made on first use. */
  connection(server: string): Connection {
    return this.#attachment(server).connection;
  }

  /** Passes a request on as it is. The rules cannot be applied to a call that is not well-formed, which is therefore refused. */
  async relay(connection: Connection, request: OutgoingRequest): Promise<Record<string, unknown>> {
    if (this.#gate !== undefined && request.method === 'tools/call') {
      throw new GatewayError(
        'TOOL_ERR_INVALID_ARGUMENT',
        "this gateway has rules, which need 'name' to be a string and 'arguments' an object",
      );
    }
    return connection.relay(request);
  }

  catalog(server: string): Catalog {
    return this.#attachment(server).catalog;
  }

  /** The status of a server that this session may not have touched yet. */
  connectionIfAny(server: string): Connection | undefined {
    return this.#attachments.get(server)?.connection;
  }

  /** Its connections to servers, by the names of these. */
  get connections(): [server: string, connection: Connection][] {
    return [...this.#attachments].map(([server, { connection }]) => [server, connection]);
  }

  /** A client without a session says what it wants to hear with each request, and asks again after a restart. */
  get #keepsPreferences(): boolean {
    return this.view.kind === 'hub' || this.#owner.kind === 'client';
  }

  /** Asks a server to tell of changes of a resource, also after a restart of either program. */
  async subscribe(server: string, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const { subscriptionsPerServer } = this.#parts.settings.limits;
    if (this.#preferences.othersThan(server, uri) >= subscriptionsPerServer) {
      throw new GatewayError(
        'TOOL_ERR_LIMIT',
        `this session has ${subscriptionsPerServer} subscriptions at '${server}' (limits.subscriptionsPerServer); unsubscribe from some`,
      );
    }
    const result = await this.connection(server).subscribe(uri, signal);
    this.#preferences.subscribe(server, uri);
    return result;
  }

  async unsubscribe(server: string, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.#preferences.unsubscribe(server, uri);
    return this.connection(server).unsubscribe(uri, signal);
  }

  /** Whether its client hears of changes of any resource. */
  get isSubscribed(): boolean {
    return this.#preferences.servers.some((server) => this.#preferences.of(server).uris.length > 0);
  }

  isSubscribedTo(server: string, uri: string): boolean {
    return this.#preferences.of(server).uris.includes(uri);
  }

  /** What the client wants to hear of a server's log. */
  setLogLevel(server: string, level: string): void {
    this.#preferences.log(server, level);
  }

  logLevel(server: string): string | undefined {
    return this.#preferences.logLevel(server);
  }

  notifications(server?: string): BufferedNotification[] {
    return this.#buffered(server, ({ notifications }) => notifications.items());
  }

  logs(server?: string): BufferedLog[] {
    return this.#buffered(server, ({ logs }) => logs.items());
  }

  /** Connects to a server that may not be configured, or not like this. It counts only once it is kept. */
  async tryServer(
    server: string,
    config: ServerConfig,
  ): Promise<{ info: ServerInfo; tools: ListItem[]; keep: () => Promise<void> }> {
    const { uris: tried } = this.#preferences.of(server);
    const attachment = this.#newAttachment(server, { config, addedBy: 'client' });
    const { connection } = attachment;
    this.#trials.add(connection);
    let info: ServerInfo;
    let tools: ListItem[];
    try {
      info = await connection.ready();
      tools = await attachment.catalog.list('tools');
    } catch (error) {
      this.#trials.delete(connection);
      await connection.close();
      attachment.clear();
      throw error;
    }
    const keep = async (): Promise<void> => {
      this.#trials.delete(connection);
      // The session may have ended, the server may be gone again, or somebody may have been faster.
      const wanted = this.#open && this.servers.get(server)?.config === config;
      if (!wanted || this.#attachments.has(server)) {
        await connection.close();
        attachment.clear();
        return;
      }
      this.#attachments.set(server, attachment);
      this.interactions.serverUsed(server);
      attachment.connected('first', info);
      // The client may have changed its mind while the server was tried.
      const { uris } = this.#preferences.of(server);
      await Promise.all([
        ...uris.filter((uri) => !tried.includes(uri)).map(async (uri) => connection.subscribe(uri)),
        ...tried.filter((uri) => !uris.includes(uri)).map(async (uri) => connection.unsubscribe(uri)),
      ]).catch((error: unknown) => {
        this.#parts.log.warn('subscriptions_not_restored', { server, error: messageOf(error) });
      });
    };
    return { info, tools, keep };
  }

  /** Ends this session's dealings with a server that was removed, or replaced by another one of that name. */
  async detach(server: string, { reason, replaced }: { reason: string; replaced: boolean }): Promise<void> {
    if (!replaced) this.#preferences.forget(server);
    this.#gate?.remembered.forget(server);
    const attachment = this.#attachments.get(server);
    if (attachment === undefined) return;
    this.#attachments.delete(server);
    this.interactions.rejectWhere((question) => question.server === server, reason);
    this.calls.serverRemoved(server, reason);
    await attachment.connection.close();
    // Last, because a server may still log something while it is closed.
    attachment.clear();
  }

  get record(): SessionRecord {
    const { id, principal, createdAt, lastActiveAt, key, view, owner } = this;
    const preferences = this.#preferences.record;
    const remembered = this.#gate?.remembered.record ?? this.#parts.remembered ?? {};
    return {
      id,
      principal,
      createdAt,
      lastActiveAt,
      key,
      view,
      owner,
      ...(this.#keepsPreferences && Object.keys(preferences).length > 0 && { preferences }),
      ...(Object.keys(remembered).length > 0 && { remembered }),
    };
  }

  /** The client was active. */
  touch(): void {
    this.#clientActiveAt = this.lastActiveAt = this.clock.now();
  }

  /** Work for the client goes on, without the client. */
  postponeIdle(): void {
    this.lastActiveAt = this.clock.now();
  }

  /** A request of the client is at work until the returned function is called; there may only be so many. */
  beginRequest(): () => void {
    this.#assertOpen();
    const { requestsPerSession } = this.#parts.settings.limits;
    if (this.#requests >= requestsPerSession) {
      throw new GatewayError(
        'TOOL_ERR_LIMIT',
        `${this.#requests} requests of this session are open (limits.requestsPerSession); wait for some to finish`,
      );
    }
    this.quotas.requests.assertRoom();
    this.#requests += 1;
    this.quotas.requests.take();
    const release = this.hold();
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#requests -= 1;
      this.quotas.requests.release();
      release();
    };
  }

  /** Keeps the session from ending as idle until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holds -= 1;
      this.touch();
    };
  }

  /**
   * Whether the session is in use: by an open request or stream, by a call or task, or by a question that its client may have
   * seen. What a server asks after the client has left does not count, else a server could keep the session forever.
   */
  get busy(): boolean {
    return this.#holds > 0 || this.calls.size > 0 || this.interactions.anyOpenSince(this.#clientActiveAt);
  }

  /** Whether its client is there: it has a request or a stream open. */
  get isAttended(): boolean {
    return this.#holds > 0;
  }

  async close(ending: Ending): Promise<void> {
    this.#open = false;
    this.#comesBack = ending.by !== 'client';
    this.#models?.close();
    if (ending.by === 'successor') {
      this.interactions.leave();
      this.calls.leave();
      const { attached, trials } = this.#detachAll();
      const connections = [...attached.map(([, { connection }]) => connection), ...trials];
      await Promise.all(connections.map(async (connection) => connection.close({ silently: true })));
      this.#closeParts(ending);
    } else {
      this.interactions.close(ending.reason, (taskId) => {
        if (ending.by === 'client') return false;
        return this.tasks.atWork().some((task) => task.id === taskId && task.checkpoint !== undefined);
      });
      const kept = this.#closeParts(ending);
      const { attached, trials } = this.#detachAll();
      await Promise.all([
        ...attached.map(([server, { connection }]) => connection.close({ keepSession: kept.has(server) })),
        ...trials.map((connection) => connection.close()),
      ]);
    }
    this.#recorder?.leave();
    // Nothing of it is used any more.
    this.budget.close();
    this.events.release();
  }

  #detachAll(): { attached: [server: string, Attachment][]; trials: Connection[] } {
    const attached = [...this.#attachments];
    this.#attachments.clear();
    return { attached, trials: [...this.#trials] };
  }

  /** Tells which servers keep something for later. */
  #closeParts(ending: Ending): Set<string> {
    const kept = this.calls.close(ending);
    this.tasks.close();
    this.quotas.tasks.close();
    this.quotas.requests.close();
    this.events.close();
    return kept;
  }

  #attachment(server: string): Attachment {
    const existing = this.#attachments.get(server);
    if (existing) return existing;
    this.#assertOpen();
    const attachment = this.#newAttachment(server, this.servers.require(server));
    this.#attachments.set(server, attachment);
    return attachment;
  }

  #assertOpen(): void {
    if (this.#open) return;
    if (this.#comesBack) throw shuttingDown();
    throw new GatewayError('TOOL_ERR_SESSION_NOT_FOUND', 'the session has ended; start a new one');
  }

  #newAttachment(server: string, { config, addedBy }: Pick<KnownServer, 'config' | 'addedBy'>): Attachment {
    const { backends, settings } = this.#parts;
    const roots = this.view.kind !== 'hub' && (this.#owner.kind !== 'client' || this.#tellsRoots(server));
    const traits = { principal: this.principal, addedBy, roots, preferences: this.#preferences.of(server) };
    return new Attachment(server, (sink) => backends.connect(server, config, sink, traits), settings, this.budget, {
      clock: this.clock,
      isCurrent: (attachment) => this.#attachments.get(server) === attachment,
      // Clients of the servers themselves hear of what these say as it is, and of those that come and go by their lists.
      events: this.view.kind === 'hub' ? this.events : undefined,
      asked: async (question) => this.ask(server, question),
      rawNotification: (method, params, relatedRequest) => {
        for (const listener of this.onNotification) listener(server, method, params, relatedRequest);
      },
      arrived: (attachment, arrival) => {
        for (const listener of this.onArrived) listener(server, arrival);
        this.#notifier?.serverBack(server);
        void this.#tellListChanges(server, attachment);
      },
      lost: (message) => {
        this.#notifier?.serverLost(server, message);
        return this.#serverLost(server, message);
      },
    });
  }

  /** Notifies the client of a group that it has other servers now. */
  notifyListsChanged(): void {
    for (const kind of LIST_KINDS) for (const notify of this.onListsChanged) notify(kind);
  }

  /** What the client has read may be out of date: the server restarted, or this is another one of that name. */
  async #tellListChanges(server: string, attachment: Attachment): Promise<void> {
    if (this.readLists.isEmpty) return;
    const { settings, log } = this.#parts;
    const { signal, cancel } = timeoutSignal(settings.calls.timeoutMs, this.clock);
    try {
      const kinds = await this.readLists.changedAt(attachment.connection, signal);
      if (this.#attachments.get(server) !== attachment) return;
      for (const kind of kinds) for (const notify of this.onListsChanged) notify(kind);
    } catch (error) {
      // If the server is lost again, its next arrival brings the next comparison.
      log.debug('lists_not_compared', { server, error: messageOf(error) });
    } finally {
      cancel();
    }
  }

  /** Resolves with the answer to a question of a server; rejects with the reason why there will be none. */
  async ask(server: string, question: IncomingQuestion): Promise<Answer> {
    // Nobody else knows in which folders a client works; that there are none is the truth of all others.
    if (question.kind === 'roots' && !this.#tellsRoots(server, question.callId)) return { roots: [] };
    return this.interactions.ask(server, this.view.kind === 'group' ? namingAsker(server, question) : question);
  }

  #tellsRoots(server: string, callId?: string): boolean {
    // All servers of a hub client share it; none of them is to know its folders.
    if (this.view.kind === 'hub') return false;
    return this.client?.capabilities['roots'] !== undefined || this.interactions.tellsRoots(server, callId);
  }

  #serverLost(server: string, message: string): Record<string, number> {
    const invalidatedTasks = this.calls.serverLost(server, message);
    const reject = (kind: InteractionKind): number =>
      this.interactions.rejectWhere(
        (question) => question.server === server && question.kind === kind && question.detached !== true,
        message,
      );
    return {
      invalidatedTasks,
      invalidatedElicitations: reject('elicitation'),
      invalidatedSampling: reject('sampling'),
    };
  }

  #buffered<T extends { timestamp: number }>(server: string | undefined, items: (from: Attachment) => T[]): T[] {
    if (server !== undefined) return items(this.#attachment(server));
    return [...this.#attachments.values()].flatMap(items).toSorted((a, b) => a.timestamp - b.timestamp);
  }
}

/** The client of a group shows the gateway as the one who asks; a person has to know which server it is. */
function namingAsker(server: string, question: IncomingQuestion): IncomingQuestion {
  const { kind, params } = question;
  const { message } = params;
  if (kind !== 'elicitation' || typeof message !== 'string') return question;
  return { ...question, params: { ...params, message: `${server}: ${message}` }, ownMessage: message };
}

/** What a client says of itself is kept as long as its session. */
const MAX_CLIENT_BYTES = 65_536;

function assertShort(owner: Owner): void {
  if (owner.kind !== 'client' || roughSize(owner.client, MAX_CLIENT_BYTES) <= MAX_CLIENT_BYTES) return;
  throw new GatewayError('TOOL_ERR_LIMIT', `the capabilities of the client are larger than ${MAX_CLIENT_BYTES} bytes`);
}
