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
import type {
  Connection,
  IncomingQuestion,
  OutgoingRequest,
  ServerConfig,
  ServerInfo,
  SessionRecord,
  SignIn,
  StoredSession,
} from '../ports.ts';
import type { TaskBook } from '../task/book.ts';
import { hasEnded, waitsForPerson, type Task } from '../task/task.ts';
import type { BufferedLog, BufferedNotification } from './attachment.ts';
import type { Catalog } from './catalog.ts';
import { composeWork, type SessionParts, type SessionWork } from './composition.ts';
import { CONSOLE_STATE, programOf, type ClientRecord, type Owner, type View } from './kind.ts';
import type { RecordedSession } from './listener.ts';
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
  /** What the tokens of its requests allow; absent without access rules. */
  readonly access: SessionAccess | undefined;
  readonly quotas: SessionQuotas;
  readonly clock: Clock;
  readonly observed: Observed;
  /** What it may keep in memory. */
  readonly budget: Budget;
  readonly events: EventLog;
  readonly tasks: TaskBook;
  readonly interactions: InteractionRouter;
  readonly calls: Calls;
  readonly createdAt: number;
  readonly view: View;
  /** Signs what the client carries for the session from one request to the next. */
  readonly key: string;
  /** What its client asked of servers until it says otherwise. */
  readonly preferences: Preferences;
  /** Notified when a token is used that allows something else than the last one. */
  readonly onAccessChanged = new Set<() => void>();
  #owner: Owner;
  /** Whether its client is there. */
  readonly presence: Presence;
  #open = true;
  #comesBack = false;
  readonly #connections: ServerConnections;
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
    this.#connections = new ServerConnections(
      {
        principal,
        servers: this.servers,
        backends: parts.backends,
        preferences: this.preferences,
        interactions: work.interactions,
        // Clients of the servers themselves hear of what these say as it is, and of those that come and go by their lists.
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

  /** Whether its client may know of the server. */
  sees(server: string): boolean {
    return this.access === undefined || this.access.sees(server);
  }

  /** Whether its client may know of what belongs to a call of this tool. */
  mayCall(server: string, tool: string): boolean {
    return this.access === undefined || this.access.mayCall(server, tool);
  }

  /** A task that its client may know of. */
  findTask(id: string): Task | undefined {
    const task = this.tasks.find(id);
    return task && this.mayCall(task.server, task.tool) ? task : undefined;
  }

  /** The tools of a server that its client may know of. */
  toolsFor<T extends ListItem>(server: string, tools: T[]): T[] {
    const { access } = this;
    return access === undefined ? tools : tools.filter(({ name }) => access.mayCall(server, String(name)));
  }

  /** Its client uses a token that allows something else than the last one. */
  #accessChanged(): void {
    this.save();
    // First on the streams that are open, since these end with the change.
    this.notifyListsChanged();
    for (const changed of this.onAccessChanged) changed();
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
    this.preferences.restore(subscriptions);
    this.events.restore(events);
    this.tasks.restore(tasks);
    const atWork = this.tasks.atWork();
    const resumable = new Set(atWork.filter((task) => task.checkpoint !== undefined).map(({ id }) => id));
    // The hub may have told of them before.
    this.interactions.restore(questions, (taskId) => resumable.has(taskId), { announced: this.view.kind === 'hub' });
    for (const task of atWork) {
      this.calls.resume(task, (server) => this.connection(server));
      // A call that waits for a person: its client waited with a request that is gone, and finds it again with the same call.
      if (waitsForPerson(task.checkpoint) && !task.exposed && this.view.kind !== 'hub')
        this.tasks.setAbandoned(task.id, true);
    }
    const { notifier } = this.#work;
    if (notifier) for (const task of tasks) if (hasEnded(task)) notifier.taskEnded(task);
    for (const server of this.preferences.servers) this.#restorePreferences(server);
  }

  /** Connects to a server that the client wanted to be notified by, unless it cannot see the server any more. */
  #restorePreferences(server: string): void {
    const isGroup = this.view.kind === 'group';
    if (isGroup && !this.shown.includes(server)) this.preferences.forget(server);
    // A client of a group sets the log level of all its servers, and most of them will not be used.
    const isWanted = !isGroup || this.preferences.of(server).uris.length > 0;
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
    connecting().catch((error: unknown) => this.#connectFailed(server, error));
  }

  #connectFailed(server: string, error: unknown): void {
    const level = this.#open ? 'warn' : 'debug';
    this.#parts.log[level]('session_server_connect_failed', { sessionId: this.id, server, error: messageOf(error) });
  }

  /** The client was shown where to sign in: it is told when that is done. */
  signInShown(signIn: Pick<SignIn, 'server' | 'id'>): void {
    this.#connections.signInShown(signIn);
  }

  /** Its principal has signed in at the server: a connection that waits for that is made now. */
  accountChanged(server: string): void {
    this.#connections.accountChanged(server).then(
      (isNew) => {
        // A group reads the lists itself, and tells what has changed.
        if (isNew && this.view.kind === 'direct' && this.sees(server)) this.notifyListsChanged();
      },
      (error: unknown) => this.#connectFailed(server, error),
    );
  }

  /** The connection to a configured server, made on first use. */
  connection(server: string): Connection {
    return this.#connections.attachment(server).connection;
  }

  /** Passes a request on to a server as it is. The rules cannot be applied to a call that is not well-formed, which is therefore refused. */
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

  /** A request to a server other than a tool call, which counts as one. Throws if there may be no other now. */
  asCall<T>(work: () => Promise<T>): Promise<T> {
    const end = this.#parts.own?.beginCall();
    return end === undefined ? work() : work().finally(end);
  }

  catalog(server: string): Catalog {
    return this.#connections.attachment(server).catalog;
  }

  /** Told of every notification of a server as it came. */
  get onNotification(): ServerConnections['onNotification'] {
    return this.#connections.onNotification;
  }

  /** What the client of one server has read of that server's lists. */
  get readLists(): ServerConnections['readLists'] {
    return this.#connections.readLists;
  }

  /** Notified when lists that the client has read are different at a server that came back, or was replaced. */
  get onListsChanged(): ServerConnections['onListsChanged'] {
    return this.#connections.onListsChanged;
  }

  /** Notified when a server is there, for the first time or again. */
  get onArrived(): ServerConnections['onArrived'] {
    return this.#connections.onArrived;
  }

  /** The status of a server that this session may not have touched yet. */
  connectionIfAny(server: string): Connection | undefined {
    return this.#connections.attachmentIfAny(server)?.connection;
  }

  /** Its connections to servers, by the names of these. */
  get connections(): [server: string, connection: Connection][] {
    return this.#connections.all();
  }

  /** A client without a session says what it wants to hear with each request, and asks again after a restart. */
  get #keepsPreferences(): boolean {
    return this.view.kind === 'hub' || this.#owner.kind === 'client';
  }

  /** Asks a server to tell of changes of a resource, also after a restart of either program. */
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

  notifications(server?: string): BufferedNotification[] {
    return this.#connections.notifications(server);
  }

  logs(server?: string): BufferedLog[] {
    return this.#connections.logs(server);
  }

  /** Connects to a server that may not be configured, or not like this. It counts only once it is kept. */
  tryServer(server: string, config: ServerConfig): ReturnType<ServerConnections['tryServer']> {
    return this.#connections.tryServer(server, config);
  }

  /** Ends this session's dealings with a server that was removed, or replaced by another one of that name. */
  async detach(server: string, { reason, replaced }: { reason: string; replaced: boolean }): Promise<void> {
    if (!replaced) this.preferences.forget(server);
    this.#work.gate?.remembered.forget(server);
    const attachment = this.#connections.detach(server);
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
   * seen. What a server asks after the client has left does not count, else a server could keep the session forever.
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
      const { attached, trials } = this.#connections.detachAll();
      const connections = [...attached.map(([, connection]) => connection), ...trials];
      await Promise.all(connections.map(async (connection) => connection.close({ silently: true })));
      this.#closeParts(ending);
    } else {
      this.interactions.close(ending.reason, (taskId) => {
        if (ending.by === 'client') return false;
        return this.tasks.atWork().some((task) => task.id === taskId && task.checkpoint !== undefined);
      });
      const kept = this.#closeParts(ending);
      const { attached, trials } = this.#connections.detachAll();
      await Promise.all([
        ...attached.map(([server, connection]) => connection.close({ keepSession: kept.has(server) })),
        ...trials.map((connection) => connection.close()),
      ]);
    }
    this.#work.recorder?.leave();
    // Nothing of it is used any more.
    this.budget.close();
    this.events.release();
  }

  /** Tells which servers keep something for later. */
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

  /** Notifies the client of a group that it has other servers now. */
  notifyListsChanged(): void {
    this.#connections.notifyListsChanged();
  }

  /** Resolves with the answer to a question of a server; rejects with the reason why there will be none. */
  async ask(server: string, question: IncomingQuestion): Promise<Answer> {
    // Nobody else knows in which folders a client works; that there are none is the truth of all others.
    if (question.kind === 'roots' && !this.#tellsRoots(server, question.callId)) return { roots: [] };
    return this.interactions.ask(server, this.view.kind === 'group' ? namingAsker(server, question) : question);
  }

  /** Whether a server may ask for the folders of the client. */
  offersRoots(server: string): boolean {
    return this.view.kind !== 'hub' && (this.#owner.kind !== 'client' || this.#tellsRoots(server));
  }

  #tellsRoots(server: string, callId?: string): boolean {
    // All servers of a hub client share it; none of them is to know its folders.
    if (this.view.kind === 'hub') return false;
    return this.client?.capabilities['roots'] !== undefined || this.interactions.tellsRoots(server, callId);
  }

  /** Ends what cannot go on without the server, and tells how much that was. */
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
