import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { continueFrom } from '../../lib/ids.ts';
import { messageOf } from '../../lib/log.ts';
import type { ListItem } from '../../lib/pages.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { isObject } from '../../lib/values.ts';
import type { SessionAccess } from '../access/session-access.ts';
import type { Budget } from '../budget.ts';
import type { Calls } from '../call/calls.ts';
import type { Ending } from '../call/request.ts';
import { GatewayError, shuttingDown } from '../errors.ts';
import type { EventLog } from '../event/log.ts';
import type { SessionQuotas } from '../gateway-limits.ts';
import { hasHubTools, shownServers } from '../groups.ts';
import type { Answer, InteractionKind } from '../interaction/interaction.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { Observed } from '../observer.ts';
import type { Connection, IncomingQuestion, OutgoingRequest, ServerInfo } from '../ports/connection.ts';
import type { SessionRecord } from '../ports/records.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import type { StoredSession } from '../ports/store.ts';
import type { TaskBook } from '../task/book.ts';
import { hasEnded, waitsForPerson, type Task } from '../task/task.ts';
import type { Catalog } from './catalog.ts';
import { composeWork, type SessionParts, type SessionWork } from './composition.ts';
import { CONSOLE_STATE, programOf, type ClientRecord, type Owner, type View } from './kind.ts';
import type { RecordedSession } from './session-listener.ts';
import { Preferences } from './preferences.ts';
import { Presence } from './presence.ts';
import type { VisibleServers } from './registry.ts';
import { ServerConnections } from './server-connections.ts';

/**
 * Everything that belongs to one client: its connections to the servers, its calls, tasks, questions, events and
 * buffers. Nothing in here is shared with another session.
 */
export class Session {
  readonly id: string;
  readonly principal: string;
  /** The servers that the principal can use. */
  readonly servers: VisibleServers;
  /** The access granted by the tokens of its requests; absent without access rules. */
  readonly access: SessionAccess | undefined;
  readonly quotas: SessionQuotas;
  readonly clock: Clock;
  readonly observed: Observed;
  /** Its memory budget. */
  readonly budget: Budget;
  readonly events: EventLog;
  readonly tasks: TaskBook;
  readonly interactions: InteractionRouter;
  readonly calls: Calls;
  /** Its connections to servers, with the lists and the recent messages of these. */
  readonly connections: ServerConnections;
  readonly createdAt: number;
  readonly view: View;
  /** Signs the state that the client carries between requests. */
  readonly key: string;
  /** The subscriptions and log levels that its client has set. */
  readonly preferences: Preferences;
  /** Called when a token grants different access than the last one. */
  readonly onAccessChanged = new Set<() => void>();
  #owner: Owner;
  /** Whether its client is connected. */
  readonly presence: Presence;
  #open = true;
  #comesBack = false;
  readonly #work: SessionWork;
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    const { id, principal, settings, log, observed = {}, clock, store } = parts;
    this.#parts = parts;
    this.observed = observed;
    this.id = id;
    this.principal = principal;
    const { access, facts, registry } = parts;
    this.access = access?.forSession({
      principal,
      facts,
      isShared: (server) => registry.isShared(server),
      onChange: () => this.#accessChanged(),
    });
    this.servers = registry.of(principal, this.access && ((server) => this.sees(server)));
    this.quotas = parts.quotas;
    this.clock = clock;
    this.presence = new Presence({
      requests: parts.quotas.requests,
      requestsPerSession: settings.limits.requestsPerSession,
      assertOpen: () => this.assertOpen(),
      clock,
    });
    this.createdAt = parts.createdAt ?? this.lastActiveAt;
    this.view = parts.view;
    this.key = parts.key ?? randomBytes(32).toString('base64url');
    assertShort(parts.owner);
    this.#owner = parts.owner;
    this.preferences = new Preferences(parts.preferences, {
      changed: () => {
        if (this.#keepsPreferences) store.put('session', this.record);
      },
      subscribed: (subscription) => {
        if (this.#keepsPreferences) store.put('subscription', { ...subscription, sessionId: id });
      },
      unsubscribed: (subscriptionId) => store.drop('subscription', subscriptionId),
    });
    const work = composeWork(parts, this);
    this.#work = work;
    this.budget = work.budget;
    this.events = work.events;
    this.tasks = work.tasks;
    this.interactions = work.interactions;
    this.calls = work.calls;
    this.connections = new ServerConnections(
      {
        principal,
        servers: this.servers,
        backends: parts.backends,
        preferences: this.preferences,
        interactions: work.interactions,
        // Native clients get server notifications directly, and learn of added and removed servers through list changes.
        events: this.view.kind === 'hub' ? work.events : undefined,
        notifier: work.notifier,
        settings,
        budget: work.budget,
        log,
        clock,
      },
      this,
    );
  }

  /** Whether the server is visible to its client. */
  sees(server: string): boolean {
    return this.access === undefined || this.access.sees(server);
  }

  /** Whether its client may see calls of this tool and what belongs to them. */
  mayCall(server: string, tool: string): boolean {
    return this.access === undefined || this.access.mayCall(server, tool);
  }

  /** The task, if it is visible to its client. */
  findTask(id: string): Task | undefined {
    const task = this.tasks.find(id);
    return task && this.mayCall(task.server, task.tool) ? task : undefined;
  }

  /** The tools of a server that are visible to its client. */
  toolsFor<T extends ListItem>(server: string, tools: T[]): T[] {
    const { access } = this;
    return access === undefined ? tools : tools.filter(({ name }) => access.mayCall(server, String(name)));
  }

  /** Its client uses a token that grants different access than the last one. */
  #accessChanged(): void {
    this.save();
    // First on the open streams, which end with the change.
    this.connections.notifyListsChanged();
    for (const changed of this.onAccessChanged) changed();
  }

  /** The description of the session for history and audit record. */
  get recorded(): RecordedSession {
    const { id, principal, view } = this;
    const isConsole = this.#owner.kind === 'state' && this.#owner.name === CONSOLE_STATE;
    return { id, principal, view: isConsole ? 'console' : view.kind, program: () => this.program };
  }

  /** The name of the client program, if known. */
  get program(): string | undefined {
    return programOf(this.#owner);
  }

  /** Restores the session after a restart and resumes what can continue. */
  restore({ tasks, questions, events, subscriptions }: StoredSession): void {
    const { after } = this.#parts.store;
    if (after !== undefined) continueFrom(after);
    this.preferences.restore(subscriptions);
    this.events.restore(events);
    this.tasks.restore(tasks);
    const atWork = this.tasks.atWork();
    const resumable = new Set(atWork.filter((task) => task.checkpoint !== undefined).map(({ id }) => id));
    // The hub may have announced them before.
    this.interactions.restore(questions, (taskId) => resumable.has(taskId), { announced: this.view.kind === 'hub' });
    for (const task of atWork) {
      this.calls.resume(task, (server) => this.connection(server));
      // A call that waits for a person: its client's request is gone, and the client finds it again by repeating the call.
      if (waitsForPerson(task.checkpoint) && !task.exposed && this.view.kind !== 'hub')
        this.tasks.setAbandoned(task.id, true);
    }
    const { notifier } = this.#work;
    if (notifier) for (const task of tasks) if (hasEnded(task)) notifier.taskEnded(task);
    for (const server of this.preferences.servers) this.#restorePreferences(server);
  }

  /** Connects to a server on which the client has preferences, if the server is still visible. */
  #restorePreferences(server: string): void {
    const isGroup = this.view.kind === 'group';
    if (isGroup && !this.shown.includes(server)) this.preferences.forget(server);
    // A client of a group sets the log level of all its servers, and most of them will not be used.
    const isWanted = !isGroup || this.preferences.of(server).uris.length > 0;
    if (isWanted && this.servers.get(server)) this.connectInBackground(server);
  }

  /** Changes the owner of the session: a client initializes, or names an unnamed state. */
  setOwner(owner: Owner): void {
    this.#owner = owner;
    this.save();
  }

  /** Stores the session record. */
  save(): void {
    this.#parts.store.put('session', this.record);
  }

  /** Deletes all stored data of the session. */
  erase(): void {
    this.#parts.store.erase();
  }

  /** Lets another gateway continue the session. */
  async release(): Promise<void> {
    await this.#parts.store.release();
  }

  /** Resolves when all changes of the session are stored, so that the client may be told of them. */
  settled(): Promise<void> {
    return this.#parts.store.settled();
  }

  get ended(): boolean {
    return !this.#open;
  }

  /** It has ended here, and continues at another gateway or after the next start. */
  get comesBack(): boolean {
    return this.#comesBack;
  }

  get owner(): Owner {
    return this.#owner;
  }

  /** The client, if it has initialized. */
  get client(): ClientRecord | undefined {
    return this.#owner.kind === 'client' ? this.#owner.client : undefined;
  }

  /** Starts to connect to eager servers, in the background. */
  connectEager(): void {
    if (this.view.kind !== 'hub') for (const server of this.shown) this.connectInBackground(server);
    else
      for (const server of this.servers.list()) if (this.#isEager(server.config)) this.connectInBackground(server.name);
  }

  /** The servers that its client sees natively, in a stable order. */
  get shown(): string[] {
    return shownServers(this.view, () => this.servers.list().map(({ name }) => name), this.#parts.settings);
  }

  /** Whether its client gets the hub tools, alone or beside the tools of servers. */
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
    connecting().catch((error: unknown) => this.#connectFailed(server, error));
  }

  #connectFailed(server: string, error: unknown): void {
    const level = this.#open ? 'warn' : 'debug';
    this.#parts.log[level]('session_server_connect_failed', { sessionId: this.id, server, error: messageOf(error) });
  }

  /** Its principal has signed in to the server: connects a connection that waited for it. */
  accountChanged(server: string): void {
    this.connections.accountChanged(server).then(
      (isNew) => {
        // A group reads the lists itself and reports changes.
        if (isNew && this.view.kind === 'direct' && this.sees(server)) this.connections.notifyListsChanged();
      },
      (error: unknown) => this.#connectFailed(server, error),
    );
  }

  /** The connection to a configured server, created on first use. */
  connection(server: string): Connection {
    return this.connections.attachment(server).connection;
  }

  /** Relays a request to a server unchanged. A malformed call is refused if there are rules, which cannot be applied to it. */
  async relay(server: string, request: OutgoingRequest): Promise<Record<string, unknown>> {
    const { method } = request;
    if ((this.#work.gate !== undefined || this.access !== undefined) && method === 'tools/call') {
      throw new GatewayError(
        'TOOL_ERR_INVALID_ARGUMENT',
        "the rules of this gateway require 'name' to be a string and 'arguments' to be an object",
      );
    }
    const result = await this.asCall(async () => this.connection(server).relay(request));
    const { tools } = result;
    if (this.access === undefined || method !== 'tools/list' || !Array.isArray(tools)) return result;
    return { ...result, tools: this.toolsFor(server, tools.filter(isObject)) };
  }

  /** Counts a request other than a tool call towards the call quotas. Throws if a quota is exceeded. */
  asCall<T>(work: () => Promise<T>): Promise<T> {
    const end = this.#parts.own?.beginCall();
    return end === undefined ? work() : work().finally(end);
  }

  catalog(server: string): Catalog {
    return this.connections.attachment(server).catalog;
  }

  /** A client without a session declares its preferences with each request, and repeats them after a restart. */
  get #keepsPreferences(): boolean {
    return this.view.kind === 'hub' || this.#owner.kind === 'client';
  }

  /** Subscribes to a resource; the subscription survives restarts of the gateway and of the server. */
  async subscribe(server: string, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const { subscriptionsPerServer } = this.#parts.settings.limits;
    if (this.preferences.othersThan(server, uri) >= subscriptionsPerServer) {
      throw new GatewayError(
        'TOOL_ERR_LIMIT',
        `this session has ${subscriptionsPerServer} subscriptions on '${server}' (limits.subscriptionsPerServer); unsubscribe from some`,
      );
    }
    const result = await this.connection(server).subscribe(uri, signal);
    this.preferences.subscribe(server, uri);
    return result;
  }

  async unsubscribe(server: string, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.preferences.unsubscribe(server, uri);
    return this.connection(server).unsubscribe(uri, signal);
  }

  /** Detaches from a server that was removed or replaced. */
  async detach(server: string, { reason, replaced }: { reason: string; replaced: boolean }): Promise<void> {
    if (!replaced) this.preferences.forget(server);
    this.#work.gate?.remembered.forget(server);
    const attachment = this.connections.detach(server);
    if (attachment === undefined) return;
    this.interactions.rejectWhere((question) => question.server === server, reason);
    this.calls.serverRemoved(server, reason);
    await attachment.connection.close();
    // Last, because a server may still log something while it is closed.
    attachment.clear();
  }

  get record(): SessionRecord {
    const { id, principal, createdAt, lastActiveAt, key, view, owner } = this;
    const preferences = this.preferences.record;
    const remembered = this.#work.gate?.remembered.record ?? this.#parts.remembered ?? {};
    const facts = this.access === undefined ? this.#parts.facts : this.access.facts;
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
      ...(facts && { facts }),
    };
  }

  get lastActiveAt(): number {
    return this.presence.lastActiveAt;
  }

  /**
   * Whether the session is in use: by an open request or stream, by a call or task, or by a question that its client may have
   * seen. Questions that arrive after the client has left do not count, or a server could keep the session forever.
   */
  get busy(): boolean {
    const { isAttended, clientActiveAt } = this.presence;
    return isAttended || this.calls.size > 0 || this.interactions.anyOpenSince(clientActiveAt);
  }

  async close(ending: Ending): Promise<void> {
    this.#open = false;
    this.#comesBack = ending.by !== 'client';
    this.#work.models?.close();
    if (ending.by === 'successor') {
      this.interactions.leave();
      this.calls.leave();
      const { attached, trials } = this.connections.detachAll();
      const connections = [...attached.map(([, connection]) => connection), ...trials];
      await Promise.all(connections.map(async (connection) => connection.close({ silently: true })));
      this.#closeParts(ending);
    } else {
      this.interactions.close(ending.reason, (taskId) => {
        if (ending.by === 'client') return false;
        return this.tasks.atWork().some((task) => task.id === taskId && task.checkpoint !== undefined);
      });
      const kept = this.#closeParts(ending);
      const { attached, trials } = this.connections.detachAll();
      await Promise.all([
        ...attached.map(([server, connection]) => connection.close({ keepSession: kept.has(server) })),
        ...trials.map((connection) => connection.close()),
      ]);
    }
    this.#work.recorder?.leave();
    // Nothing uses it any more.
    this.budget.close();
    this.events.release();
  }

  /** Returns the servers that keep tasks for later. */
  #closeParts(ending: Ending): Set<string> {
    const kept = this.calls.close(ending);
    this.tasks.close();
    this.quotas.tasks.close();
    this.quotas.requests.close();
    this.quotas.questions?.close();
    this.events.close();
    return kept;
  }

  assertOpen(): void {
    if (this.#open) return;
    if (this.#comesBack) throw shuttingDown();
    throw new GatewayError('TOOL_ERR_SESSION_NOT_FOUND', 'the session has ended; start a new one');
  }

  /** Resolves with the answer to a question of a server; rejects with the reason why there will be none. */
  async ask(server: string, question: IncomingQuestion): Promise<Answer> {
    // Only the client knows its roots; for all other sessions the correct answer is an empty list.
    if (question.kind === 'roots' && !this.#tellsRoots(server, question.callId)) return { roots: [] };
    return this.interactions.ask(server, this.view.kind === 'group' ? namingAsker(server, question) : question);
  }

  /** Whether a server may ask the client for its roots. */
  offersRoots(server: string): boolean {
    return this.view.kind !== 'hub' && (this.#owner.kind !== 'client' || this.#tellsRoots(server));
  }

  #tellsRoots(server: string, callId?: string): boolean {
    // All servers share a hub client; none of them should learn its roots.
    if (this.view.kind === 'hub') return false;
    return this.client?.capabilities['roots'] !== undefined || this.interactions.tellsRoots(server, callId);
  }

  /** Ends everything that cannot continue without the server; returns counts of what was lost. */
  serverLost(server: string, message: string): Record<string, number> {
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
}

/** A group client shows the gateway as the asker; the person must know which server asks. */
function namingAsker(server: string, question: IncomingQuestion): IncomingQuestion {
  const { kind, params } = question;
  const { message } = params;
  if (kind !== 'elicitation' || typeof message !== 'string') return question;
  return { ...question, params: { ...params, message: `${server}: ${message}` }, ownMessage: message };
}

/** The limit on what a client declares about itself, which is kept as long as its session. */
const MAX_CLIENT_BYTES = 65_536;

function assertShort(owner: Owner): void {
  if (owner.kind !== 'client' || roughSize(owner.client, MAX_CLIENT_BYTES) <= MAX_CLIENT_BYTES) return;
  throw new GatewayError('TOOL_ERR_LIMIT', `the capabilities of the client are larger than ${MAX_CLIENT_BYTES} bytes`);
}
