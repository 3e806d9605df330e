/**
 * Lets the sessions of one principal share a connection to a server (`share: 'principal'` in its config), so that fifty
 * sessions do not start fifty child processes. To a session, its share looks like a private connection.
 *
 * - The connection is opened on first use and closed when the last session leaves.
 * - A question of a known call goes to the session that made the call. Any other question goes to the sessions whose
 *   requests may have asked it (see `SharedQuestion`).
 * - Notifications and logs go to all sessions; changes of a resource only to those that subscribed to it.
 * - The server is asked for each subscription once, and for the most verbose log level that any session wants.
 * - A session that leaves stops only its own calls. When the server is lost, all sessions are notified.
 */

import { systemClock, type Clock } from '../../lib/clock.ts';
import { secretId } from '../../lib/ids.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { isLevel, mostVerbose, includes } from '../../lib/levels.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { within } from '../../lib/timers.ts';
import type {
  RelatedRequest,
  Arrival,
  Backends,
  CallOutcome,
  Connection,
  ConnectionSink,
  ConnectionStatus,
  IncomingQuestion,
  OutgoingCall,
  OutgoingRequest,
  ServerInfo,
  ServerLog,
  ServerPreferences,
} from '../ports/connection.ts';
import type { Answer } from '../interaction/interaction.ts';
import { SharedQuestion, type Member } from './shared-question.ts';
import type { ResumePoint } from '../task/task.ts';

type Params = Record<string, unknown>;

const SET_LEVEL = 'logging/setLevel';
/** How long the calls of a session that leaves may take to be cancelled on the server. */
const LAST_WORDS_MS = 1500;

export function shareConnections(backends: Backends, log: Log, clock: Clock = systemClock): Backends {
  const servers = new Map<string, SharedServer>();
  return {
    connect: (server, config, sink, traits) => {
      if (config.share !== 'principal') return backends.connect(server, config, sink, traits);
      // The `roots` capability is declared when connecting, so only sessions that agree on it share a connection.
      const key = JSON.stringify([traits.principal, server, traits.addedBy, traits.roots, config]);
      const { logLevel } = traits.preferences;
      const preferences: ServerPreferences = { uris: [], ...(logLevel !== undefined && { logLevel }) };
      const shared =
        servers.get(key) ??
        new SharedServer(
          server,
          log,
          clock,
          (fanOut) => backends.connect(server, config, fanOut, { ...traits, preferences }),
          () => servers.delete(key),
        );
      servers.set(key, shared);
      return shared.join(sink, traits.preferences);
    },
  };
}

interface Subscription {
  members: Set<SharedConnection>;
  asked: Promise<Params>;
}

/** One connection and the sessions that use it. */
class SharedServer implements ConnectionSink {
  readonly connection: Connection;
  readonly #members = new Set<SharedConnection>();
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #questions = new Set<SharedQuestion>();
  /** A session that left will resume the server's session later. */
  #keepSession = false;
  readonly #server: string;
  readonly #log: Log;
  readonly clock: Clock;
  readonly #onEmpty: () => void;

  constructor(
    server: string,
    log: Log,
    clock: Clock,
    connect: (sink: ConnectionSink) => Connection,
    onEmpty: () => void,
  ) {
    this.#server = server;
    this.#log = log;
    this.clock = clock;
    this.#onEmpty = onEmpty;
    this.connection = connect(this);
  }

  join(sink: ConnectionSink, { uris, logLevel }: ServerPreferences): Connection {
    const before = this.logLevel;
    const member = new SharedConnection(this, sink, logLevel);
    const isFirst = this.#members.size === 0;
    this.#members.add(member);
    for (const uri of uris) this.#inBackground('subscriptions_not_restored', member.subscribe(uri));
    const level = this.logLevel;
    if (!isFirst && level !== undefined && level !== before) {
      this.#inBackground('log_level_not_restored', member.setLevel(level));
    }
    return member;
  }

  async leave(member: SharedConnection, keepSession: boolean): Promise<void> {
    this.#keepSession ||= keepSession;
    this.#members.delete(member);
    for (const [uri, { members }] of this.#subscriptions) {
      if (!members.delete(member) || members.size > 0) continue;
      this.#subscriptions.delete(uri);
      if (this.#members.size === 0 || this.connection.status.state !== 'connected') continue;
      this.#inBackground('unsubscribe_failed', this.connection.unsubscribe(uri));
    }
    if (this.#members.size > 0) return;
    this.#onEmpty();
    await this.connection.close({ keepSession: this.#keepSession });
  }

  /** The most verbose level that a session wants. */
  get logLevel(): string | undefined {
    return mostVerbose([...this.#members].map((member) => member.logLevel));
  }

  /** Sessions that subscribe to the same resource share one request, which ends when the first of them stops waiting. */
  async subscribe(member: SharedConnection, uri: string, signal: AbortSignal | undefined): Promise<Params> {
    const known = this.#subscriptions.get(uri);
    const subscription = known ?? { members: new Set(), asked: this.connection.subscribe(uri, signal) };
    this.#subscriptions.set(uri, subscription);
    subscription.members.add(member);
    try {
      return await subscription.asked;
    } catch (error) {
      if (this.#subscriptions.get(uri) === subscription) this.#subscriptions.delete(uri);
      throw error;
    }
  }

  async unsubscribe(member: SharedConnection, uri: string, signal: AbortSignal | undefined): Promise<Params> {
    const members = this.#subscriptions.get(uri)?.members;
    members?.delete(member);
    if (members !== undefined && members.size > 0) return {};
    this.#subscriptions.delete(uri);
    return this.connection.unsubscribe(uri, signal);
  }

  // --- What the server says ---

  connected(arrival: Arrival, info: ServerInfo): void {
    for (const member of this.#members) member.connected(arrival, info);
  }

  lost(reason: string): void {
    for (const { sink } of this.#members) sink.lost(reason);
  }

  notification(method: string, params: Params): void {
    for (const { sink } of this.#audience(method, params)) sink.notification(method, params);
  }

  log(entry: ServerLog): void {
    for (const member of this.#members) {
      if (entry.source === 'stderr' || member.wantsLevel(entry.level)) member.sink.log(entry);
    }
  }

  rawNotification(method: string, params: Params | undefined, relatedRequest: RelatedRequest): void {
    const owner = typeof relatedRequest === 'string' ? undefined : this.#ownerOf(relatedRequest.requestId);
    for (const member of this.#audience(method, params)) {
      if (method === 'notifications/message' && !member.wantsLevel(params?.['level'])) continue;
      const isForeign = owner !== undefined && owner !== member;
      member.sink.rawNotification?.(method, params, isForeign ? 'unknown' : relatedRequest);
    }
  }

  async question(question: IncomingQuestion): Promise<Answer> {
    const owner = question.callId === undefined ? undefined : this.#ownerOf(question.callId);
    const asked = (owner ? [owner] : this.#mayHaveAsked(question)).filter((member) => !member.closed);
    const [first, ...others] = asked;
    if (first === undefined) throw new Error('no session has an open request to this server, so no client can answer');
    if (others.length === 0) return first.sink.question(question);
    const shared = new SharedQuestion(question, asked);
    this.#questions.add(shared);
    try {
      return await shared.answer();
    } finally {
      this.#questions.delete(shared);
    }
  }

  requestEnded(id: string | symbol): void {
    for (const question of this.#questions) question.requestEnded(id);
  }

  #ownerOf(requestId: string): SharedConnection | undefined {
    return [...this.#members].find(({ calls, others }) => calls.has(requestId) || others.has(requestId));
  }

  /** The sessions that may be meant by a question that names no call. */
  #mayHaveAsked({ candidates }: IncomingQuestion): SharedConnection[] {
    const members = [...this.#members];
    if (members.length === 1) return members;
    return members.filter(({ calls, others }) => {
      if (candidates === undefined) return calls.size + others.size > 0;
      return candidates.calls.some((id) => calls.has(id)) || (candidates.others && others.size > 0);
    });
  }

  #audience(method: string, params: Params | undefined): Iterable<SharedConnection> {
    const uri = method === 'notifications/resources/updated' ? params?.['uri'] : undefined;
    // A server may name a part of what was subscribed to; then all sessions are told.
    return (typeof uri === 'string' ? this.#subscriptions.get(uri)?.members : undefined) ?? this.#members;
  }

  #inBackground(event: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#log.warn(event, { server: this.#server, error: messageOf(error) }));
  }
}

/** One session's share of a connection. */
class SharedConnection implements Connection, Member {
  readonly sink: ConnectionSink;
  readonly calls = new InFlight<string, Promise<CallOutcome>>();
  readonly others = new Set<string | symbol>();
  logLevel: string | undefined;
  #met = false;
  readonly #left = new AbortController();
  #closing: Promise<void> | undefined;
  readonly #shared: SharedServer;

  constructor(shared: SharedServer, sink: ConnectionSink, logLevel: string | undefined) {
    this.#shared = shared;
    this.sink = sink;
    this.logLevel = logLevel;
  }

  get closed(): boolean {
    return this.#left.signal.aborted;
  }

  get status(): ConnectionStatus {
    return this.closed ? { state: 'closed' } : this.#shared.connection.status;
  }

  wantsLevel(level: unknown): boolean {
    return this.logLevel === undefined || includes(this.logLevel, level);
  }

  connected(arrival: Arrival, info: ServerInfo): void {
    const known = this.#met;
    this.#met = true;
    this.sink.connected(known ? arrival : 'first', info);
  }

  ready(): Promise<ServerInfo> {
    const { status } = this;
    if (status.state === 'connected') {
      this.#meet();
      return Promise.resolve(status.info);
    }
    return this.#track(Symbol('ready'), async () => this.#shared.connection.ready());
  }

  call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, () => this.#shared.connection.call(call));
  }

  resume(checkpoint: ResumePoint, call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, () => this.#shared.connection.resume(checkpoint, call));
  }

  async request(method: string, params: Params, signal?: AbortSignal): Promise<Params> {
    return this.#track(Symbol(method), async () =>
      this.#shared.connection.request(method, params, this.#untilLeft(signal)),
    );
  }

  async relay(request: OutgoingRequest): Promise<Params> {
    const { id, method, params } = request;
    if (method === SET_LEVEL && isLevel(params['level'])) this.logLevel = params['level'];
    const sent = method === SET_LEVEL ? { ...params, level: this.#shared.logLevel ?? params['level'] } : params;
    const signal = this.#untilLeft(request.signal);
    return this.#track(id, async () => this.#shared.connection.relay({ ...request, params: sent, signal }));
  }

  async setLevel(level: string): Promise<void> {
    const { signal } = this.#left;
    const request = { id: secretId(), method: SET_LEVEL, params: { level }, signal, onProgress: () => {} };
    await this.relay({ ...request, rounds: 'return' });
  }

  notify(method: string, params: Params | undefined): void {
    if (!this.closed) this.#shared.connection.notify(method, params);
  }

  async subscribe(uri: string, signal?: AbortSignal): Promise<Params> {
    return this.#track(Symbol(uri), async () => this.#shared.subscribe(this, uri, signal));
  }

  async unsubscribe(uri: string, signal?: AbortSignal): Promise<Params> {
    return this.#track(Symbol(uri), async () => this.#shared.unsubscribe(this, uri, signal));
  }

  async close({ keepSession = false, silently = false } = {}): Promise<void> {
    this.#closing ??= this.#leave(keepSession || silently);
    return this.#closing;
  }

  async #leave(keepSession: boolean): Promise<void> {
    this.#left.abort(new Error('the session has ended'));
    if (this.calls.size > 0) {
      await within(LAST_WORDS_MS, Promise.allSettled(this.calls.values()), this.#shared.clock);
    }
    await this.#shared.leave(this, keepSession);
  }

  #untilLeft(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#left.signal : AbortSignal.any([signal, this.#left.signal]);
  }

  /** Others may have connected before; for this session it is the first time. */
  #meet(): void {
    if (this.#met) return;
    const { status } = this.#shared.connection;
    if (status.state === 'connected') this.connected('first', status.info);
  }

  async #track<T>(id: string | symbol, work: () => Promise<T>): Promise<T> {
    if (this.closed) throw new Error('the connection is closed');
    this.#meet();
    this.others.add(id);
    try {
      return await work();
    } finally {
      this.others.delete(id);
      this.#shared.requestEnded(id);
    }
  }

  /** A leaving session waits for the call, so that its cancellation reaches the server. */
  async #run({ id }: OutgoingCall, work: () => Promise<CallOutcome>): Promise<CallOutcome> {
    if (this.closed) return { kind: 'unreachable', reason: 'the connection is closed' };
    this.#meet();
    const outcome = work();
    this.calls.add(id, outcome);
    try {
      return await outcome;
    } finally {
      this.calls.delete(id);
      this.#shared.requestEnded(id);
    }
  }
}
