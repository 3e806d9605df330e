import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';
import type {
  CallOutcome,
  Connection,
  ConnectionSink,
  ConnectionStatus,
  OutgoingCall,
  OutgoingRequest,
  ServerConfig,
  ServerInfo,
  ResumePoint,
  ServerPreferences,
} from '../core/ports.ts';
import { backoffDelay, type BackoffSettings } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { redactUrl } from '../lib/redact.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { within } from '../lib/timers.ts';
import { ConnectionHistory } from './connection-history.ts';
import { followServerTask } from './call/follow-server-task.ts';
import { RunningCalls, type RunningCall } from './call/running-calls.ts';
import { runCall } from './call/run.ts';
import { sendInRounds } from './call/rounds.ts';
import type { CallResumePoint } from './call/resume-point.ts';
import type { Dialled, Dialler, DialHooks } from './dial.ts';
import type { ExactClient } from '../lib/sdk/exact-client.ts';
import { ask, handleIncoming } from './incoming.ts';
import { Heartbeat } from './heartbeat.ts';
import { LostRequests } from './lost-requests.ts';
import { TaskReceiver } from './receiver.ts';
import { infoOf, offerOf } from './server-info.ts';
import { ServerChannel, type Peer } from './server-channel.ts';
import { Subscriptions } from './subscriptions.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport } from './transport/http.ts';
import { SseTransport } from './transport/sse.ts';

export interface ConnectionSettings {
  /** A session with the server that an earlier client kept open. */
  sessionId?: string;
  /** Subscriptions and log level from earlier connections. */
  preferences?: ServerPreferences;
  connectTimeoutMs: number;
  pingMs: number;
  pollTimeoutMs: number;
  /** Whether the connection retries by itself if the server was never reached; otherwise the next use retries. */
  persistent: boolean;
  reconnect: BackoffSettings & { attempts: number; stableMs: number };
  clock: Clock;
}

/** A connection that is up. */
interface Live extends Peer {
  client: ExactClient;
  info: ServerInfo;
  since: number;
  heartbeat: Heartbeat;
  stopRelisten?: () => void;
}

type Mode =
  | { mode: 'idle' }
  | { mode: 'connecting'; attempt: Promise<Live>; unwanted: AbortController }
  | { mode: 'up'; live: Live }
  | { mode: 'waiting'; cancel: () => void; retryAt: number; error: string }
  | { mode: 'failed'; error: string }
  | { mode: 'closed' };

const SET_LEVEL = 'logging/setLevel';
const NEVER = new AbortController().signal;
const RELISTEN_MS = 1000;
/** How long a server may take to accept the last answers to its own requests. */
const LAST_ANSWERS_MS = 1000;
/** More than a server has to name a task that it was not asked for. */
const LAST_WORDS_MS = 1500;

/**
 * One session's connection to one server. It has one mode at a time, changed in one place (`#enter`): idle until first
 * used, connecting (one attempt, shared by all callers), up, waiting for the next attempt, or failed until its next use.
 * Loss is noticed when it happens: a child's exit, a refused connection, a forgotten session, a broken stream or a ping
 * without an answer.
 */
export class ServerConnection implements Connection {
  #mode: Mode = { mode: 'idle' };
  /** Failures in a row: a failed attempt or a lost connection. It is also the number of the next attempt. */
  #failures = 0;
  /** The log level that the client asked for. */
  #logLevel: unknown;
  readonly #history: ConnectionHistory;
  /** The cleanup of the connection that was lost last: it ends before another connection begins. */
  #parting: Promise<void> = Promise.resolve();
  readonly #calls = new RunningCalls();
  readonly #receiver: TaskReceiver;
  readonly #requests: LostRequests;
  /** Cancelled calls whose cancellation must reach the server before the connection is closed. */
  readonly #lastWords = new Set<Promise<unknown>>();
  readonly channel: ServerChannel;
  readonly #subscriptions: Subscriptions;
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #sink: ConnectionSink;
  readonly #dialler: Dialler;
  readonly #settings: ConnectionSettings;
  readonly #log: Log;

  constructor(
    server: string,
    config: ServerConfig,
    sink: ConnectionSink,
    dialler: Dialler,
    settings: ConnectionSettings,
    log: Log,
  ) {
    this.#server = server;
    this.#config = config;
    this.#sink = sink;
    this.#dialler = dialler;
    this.#settings = settings;
    this.#history = new ConnectionHistory(settings.sessionId);
    this.#logLevel = settings.preferences?.logLevel;
    this.#subscriptions = new Subscriptions(settings.preferences?.uris, (client) => void this.#streamEnded(client));
    this.#log = log;
    this.#receiver = new TaskReceiver({
      ask: async (method, params, context, onOpen) => {
        // The server may fetch the answer on a later connection.
        const answer = ask(method, params, { ...context, detached: true }, sink, this.#calls);
        // A question that cannot be asked is refused before this turn ends, and was never open.
        setImmediate(onOpen);
        return answer;
      },
      // Roots are answered at once; only people and models take time.
      accepts: (kind) => kind !== 'roots' && dialler.capabilities[kind] !== undefined,
      notify: (task) => this.notify('notifications/tasks/status', { ...task }),
      clock: settings.clock,
    });
    this.#requests = new LostRequests({
      server,
      log,
      // Questions are over when their connection is lost; those with a task are held by the receiver.
      answer: ({ method, params }) =>
        method.startsWith('tasks/') ? this.#receiver.answer(method, params, {}, NEVER) : undefined,
      respond: async (id, response) => this.channel.respond(id, response),
      sessionId: () => this.sessionId,
    });
    this.channel = new ServerChannel({
      server,
      log,
      calls: this.#calls,
      capabilities: dialler.capabilities,
      reconnect: settings.reconnect,
      pollTimeoutMs: settings.pollTimeoutMs,
      clock: settings.clock,
      live: async () => this.#live(),
      up: () => (this.#mode.mode === 'up' ? this.#mode.live : undefined),
      closed: () => this.#mode.mode === 'closed',
      isCurrent: (peer) => this.#isCurrent(peer),
      check: async (peer, why) => this.#check(peer, why),
      question: async (question) => sink.question(question),
    });
  }

  get status(): ConnectionStatus {
    const now = this.#mode;
    switch (now.mode) {
      case 'idle':
      case 'connecting':
      case 'closed':
        return { state: now.mode };
      case 'up':
        return { state: 'connected', since: now.live.since, info: now.live.info };
      case 'waiting':
        return { state: 'waiting', attempt: this.#failures, retryAt: now.retryAt, error: now.error };
      case 'failed':
        return { state: 'failed', error: now.error };
    }
  }

  /** The id of our session with the server, where it has sessions. */
  get sessionId(): string | undefined {
    return this.channel.sessionId;
  }

  async ready(): Promise<ServerInfo> {
    return (await this.#live()).info;
  }

  async call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, (live) => runCall(this.channel, live));
  }

  async resume(from: ResumePoint, call: OutgoingCall): Promise<CallOutcome> {
    const checkpoint = from as CallResumePoint;
    if ('round' in checkpoint) return this.#run(call, (live) => runCall(this.channel, live, checkpoint.round));
    const { task } = checkpoint;
    this.#history.adoptSession(task.sessionId);
    return this.#run(call, (live) => followServerTask(this.channel, live, task));
  }

  async #run(call: OutgoingCall, run: (live: RunningCall) => Promise<CallOutcome>): Promise<CallOutcome> {
    const live = this.#calls.begin(call);
    const running = run(live);
    // The cancellation of a native task must arrive, also if the server has not named the task yet: else the work goes on in vain.
    const onAbort = (): void => {
      this.#lastWords.add(running);
    };
    call.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await running;
    } finally {
      call.signal.removeEventListener('abort', onAbort);
      this.#lastWords.delete(running);
      this.#calls.end(live);
    }
  }

  async request(
    method: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    return this.channel.send(await this.#live(), method, params, { signal });
  }

  /** A restarted server has forgotten the log level; in the modern era each request carries it. */
  #restoreLogLevel(live: Live): void {
    if (this.#logLevel === undefined || live.info.traits.declaredPerRequest) return;
    this.channel.send(live, SET_LEVEL, { level: this.#logLevel }, {}).catch((error: unknown) => {
      this.#log.warn('log_level_not_restored', { server: this.#server, error: messageOf(error) });
    });
  }

  async relay(request: OutgoingRequest): Promise<Record<string, unknown>> {
    const { id, method, params, signal, onProgress, rounds } = request;
    await this.#live();
    const done = this.#calls.beginOther({ id, onProgress });
    const options = { signal, callId: id, mayAsk: true };
    const send = async (answers: Record<string, unknown>): Promise<Record<string, unknown>> =>
      this.channel.send(await this.#live(), method, { ...params, ...answers }, options);
    try {
      const result = await (rounds === 'answer' ? sendInRounds(request, this.channel, send) : send({}));
      if (method === SET_LEVEL) this.#logLevel = params['level'];
      return result;
    } finally {
      done();
    }
  }

  async subscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#subscriptions.add((await this.#live()).client, uri, signal);
  }

  async unsubscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#subscriptions.remove((await this.#live()).client, uri, signal);
  }

  async close({ keepSession = false } = {}): Promise<void> {
    const serverWaits = this.#requests.hasOpen;
    const { clock } = this.#settings;
    if (this.#lastWords.size > 0) await within(LAST_WORDS_MS, Promise.allSettled(this.#lastWords), clock);
    this.#receiver.clear('the connection was closed');
    const before = this.#mode;
    this.#enter({ mode: 'closed' });
    if (before.mode === 'up') {
      // Only now: a call that is left running could fetch a question that its server delivers only once.
      if (serverWaits) await rejectionsSent(before.live, clock);
      await this.#hangUp(before.live, !keepSession);
    } else if (before.mode === 'connecting') {
      // A server that never answers would otherwise be waited for until the attempt times out.
      before.unwanted.abort();
      await before.attempt.catch(() => {});
    }
    await this.#parting;
  }

  notify(method: string, params: Record<string, unknown> | undefined): void {
    if (this.#mode.mode !== 'up') return;
    this.#mode.live.client.notification({ method, ...(params && { params }) }).catch((error: unknown) => {
      this.#log.debug('notification_not_sent', { server: this.#server, method, error: messageOf(error) });
    });
  }

  async #live(): Promise<Live> {
    const now = this.#mode;
    switch (now.mode) {
      case 'up':
        return now.live;
      case 'connecting':
        return now.attempt;
      case 'closed':
        throw this.#closedFailure();
      case 'idle':
        return this.#connect('schedule');
      case 'waiting':
      case 'failed':
        return this.#connect('use');
    }
  }

  #closedFailure(): ServerFailure {
    return new ServerFailure('closed', `the connection to '${this.#server}' is closed`);
  }

  #isCurrent(peer: Peer): boolean {
    return this.#mode.mode === 'up' && this.#mode.live === peer;
  }

  /** The one place where the mode changes. It releases the resources of the old mode. */
  #enter(next: Mode): void {
    if (this.#mode.mode === 'waiting') this.#mode.cancel();
    if (this.#mode.mode === 'up') {
      this.#mode.live.heartbeat.stop();
      this.#mode.live.stopRelisten?.();
    }
    this.#mode = next;
  }

  /** Attempts caused by a use of the connection, beside the schedule, do not count against it. */
  async #connect(because: 'use' | 'schedule', number?: number): Promise<Live> {
    const unwanted = new AbortController();
    const attempt = this.#dial(unwanted.signal);
    this.#enter({ mode: 'connecting', attempt, unwanted });
    attempt.then(
      () => {
        if (because === 'use') this.#failures = 0;
      },
      (error: unknown) => {
        if (this.#mode.mode !== 'connecting' || this.#mode.attempt !== attempt) return;
        if (because === 'schedule') this.#failures += 1;
        this.#log.warn(this.#history.hasConnected ? 'server_reconnect_failed' : 'server_connect_failed', {
          server: this.#server,
          ...(number !== undefined && { attempt: number }),
          error: messageOf(error),
        });
        this.#waitOrFail(messageOf(error));
      },
    );
    return attempt;
  }

  async #dial(unwanted: AbortSignal): Promise<Live> {
    // Loss may be reported before the connection counts as up; then it never does.
    let lostEarly: ServerFailure | undefined;
    let live: Live | undefined;
    await this.#parting;
    unwanted.throwIfAborted();
    const onLost = (failure: ServerFailure): void => {
      if (live) this.#lost(live, failure.message);
      else lostEarly = failure;
    };
    const hooks: DialHooks = {
      onLost,
      onDoubt: (reason) => live && void this.#check(live, reason),
      // On standard output only messages belong: a server that writes anything else there confuses many clients.
      onOutput: (line, source) =>
        this.#sink.log({ level: source === 'stdout' ? 'warning' : 'info', source, data: line }),
      prepare: (client) => {
        handleIncoming(client, {
          sink: this.#sink,
          calls: this.#calls,
          receiver: this.#receiver,
          requests: this.#requests,
          onToolsChanged: () => this.channel.forgetTools(),
        });
        client.onerror = ({ message: error }) =>
          this.#log.debug('server_protocol_error', { server: this.#server, error });
      },
      unwanted,
    };
    const resumed = await this.#resume(hooks);
    const { client, transport } = resumed ?? (await this.#dialler.dial(this.#config, hooks));
    if (transport instanceof ChildTransport) transport.onexit = (how) => onLost(new ServerFailure('exited', how));
    else client.onclose = () => onLost(new ServerFailure('closed', 'the connection was closed'));
    if (transport instanceof HttpTransport) transport.onanswered = (id) => this.#calls.answered(id);
    live = {
      client,
      transport,
      info: infoOf(client),
      offer: offerOf(client),
      listening: new Set(),
      since: this.#settings.clock.now(),
      heartbeat: new Heartbeat(client, {
        everyMs: this.#settings.pingMs,
        mayBeSilent: () => this.#calls.atWork,
        onGone: onLost,
        clock: this.#settings.clock,
      }),
    };
    if (this.#mode.mode === 'closed' || lostEarly !== undefined) {
      live.heartbeat.stop();
      await this.#hangUp(live, true);
      throw lostEarly ?? this.#closedFailure();
    }
    this.#up(live);
    this.#requests.connected(transport, resumed !== undefined);
    return live;
  }

  async #resume(hooks: DialHooks): Promise<Dialled | undefined> {
    const { session } = this.#history;
    if (session === undefined || !('url' in this.#config)) return undefined;
    const resumed = await this.#dialler.resume(this.#config, hooks, session.client, session.id);
    if (resumed === undefined) this.#history.sessionForgotten();
    return resumed;
  }

  #up(live: Live): void {
    const arrival = this.#history.connected(live);
    this.#enter({ mode: 'up', live });
    const url = 'url' in this.#config ? { url: redactUrl(this.#config.url) } : {};
    this.#log.info('server_connected', { server: this.#server, ...url, arrival });
    this.channel.forgetTools();
    if (arrival === 'restart') this.#receiver.clear('the server restarted');
    this.#calls.ringAll();
    this.#sink.connected(arrival, live.info);
    if (arrival !== 'blip') this.#restoreLogLevel(live);
    this.#restoreSubscriptions(live.client);
  }

  #lost(live: Live, reason: string): void {
    if (!this.#isCurrent(live)) return;
    const { clock, reconnect } = this.#settings;
    // "Started" is not "works": a server that dies soon after each start uses up its attempts like one that never starts.
    this.#failures = clock.now() - live.since >= reconnect.stableMs ? 1 : this.#failures + 1;
    this.#log.info('server_disconnected', { server: this.#server, reason });
    this.#history.lost(live);
    this.#requests.connectionLost(live.transport instanceof HttpTransport ? live.transport.takeUnanswered() : []);
    this.#waitOrFail(reason);
    // The questions of a process end with it.
    if (live.transport instanceof ChildTransport) this.#receiver.clear(reason);
    this.#sink.lost(reason);
    this.#parting = this.#hangUp(live, false).catch((error: unknown) => {
      this.#log.warn('hang_up_failed', { server: this.#server, error: messageOf(error) });
    });
  }

  #waitOrFail(error: string): void {
    const { clock, reconnect } = this.#settings;
    const attempt = this.#failures;
    if (attempt > reconnect.attempts || (!this.#history.hasConnected && !this.#settings.persistent)) {
      this.#enter({ mode: 'failed', error });
      // The answers cannot reach the server any more.
      this.#receiver.clear(`the server cannot be reached: ${error}`);
      return;
    }
    const delayMs = backoffDelay(attempt, reconnect);
    const connect = (): void => {
      this.#log.info('server_reconnecting', { server: this.#server, attempt, delayMs });
      this.#connect('schedule', attempt).catch(() => {
        // Already logged: a failed attempt schedules the next one itself.
      });
    };
    const cancel = clock.after(delayMs, connect, { unref: true });
    this.#enter({ mode: 'waiting', cancel, retryAt: clock.now() + delayMs, error });
  }

  /** Closes without notifying the session, which knows already. */
  async #hangUp(live: Live, polite: boolean): Promise<void> {
    try {
      if (polite && live.transport instanceof HttpTransport) await live.transport.terminate();
    } catch (error) {
      this.#log.debug('goodbye_failed', { server: this.#server, error: messageOf(error) });
    }
    await live.client.close();
    // The SDK releases its transport when the transport reports its end; a child process does so only once it has exited.
    await live.transport.close();
  }

  /** Asks whether the server is still there, unless another connection has taken its place. */
  async #check(peer: Peer, why: string): Promise<void> {
    const now = this.#mode;
    if (now.mode !== 'up' || now.live !== peer) return;
    await now.live.heartbeat.check(why);
    // The server is still there, and may work on requests whose streams broke.
    if (this.#isCurrent(peer) && peer.transport instanceof HttpTransport) {
      this.#requests.cancel(peer.transport, peer.transport.takeAbandoned());
    }
  }

  /** The stream for changes ended: opens another one if the server is still there. */
  async #streamEnded(client: Client): Promise<void> {
    const now = this.#mode;
    if (now.mode !== 'up' || now.live.client !== client) return;
    await this.#check(now.live, 'the stream for changes ended');
    if (!this.#isCurrent(now.live)) return;
    now.live.stopRelisten = this.#settings.clock.after(RELISTEN_MS, () => this.#restoreSubscriptions(client));
  }

  #restoreSubscriptions(client: Client): void {
    this.#subscriptions.restore(client).catch((error: unknown) => {
      this.#log.warn('subscriptions_not_restored', { server: this.#server, error: messageOf(error) });
    });
  }
}

/** Resolves when the server has the rejections of its open requests. */
async function rejectionsSent({ transport }: Peer, clock: Clock): Promise<void> {
  // By the next turn the rejections have been handed to the transport; a child has them then.
  await nextTurn();
  if (transport instanceof HttpTransport || transport instanceof SseTransport) {
    await within(LAST_ANSWERS_MS, transport.answers.sent(), clock);
  }
}
