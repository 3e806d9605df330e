import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  Arrival,
  CallOutcome,
  Connection,
  ConnectionSink,
  ConnectionStatus,
  OutgoingCall,
  OutgoingRequest,
  ServerInfo,
  ServerPreferences,
} from '../core/ports/connection.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import type { Observed } from '../core/observer.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, withFields, type Log } from '../lib/log.ts';
import { redactUrl } from '../lib/redact.ts';
import { within } from '../lib/timers.ts';
import { followServerTask } from './call/follow-server-task.ts';
import { failure } from './call/channel.ts';
import { readResumePoint, type CallResumePoint } from './call/resume-point.ts';
import { sendInRounds } from './call/mrtr.ts';
import { runCall } from './call/run.ts';
import { RunningCalls, type RunningCall } from './call/running-calls.ts';
import type { Dialler } from './dial.ts';
import { ask, incomingHandlers } from './incoming.ts';
import { LostRequests } from './lost-requests.ts';
import { ObservedServer } from './observed.ts';
import type { Peer } from './peer/peer.ts';
import { TaskReceiver } from './task-receiver.ts';
import { Reconnector, type Live, type ReconnectorHooks, type ReconnectSettings } from './reconnector.ts';
import { ServerChannel } from './server-channel.ts';
import { ToolFilter } from './tool-filter.ts';
import { Subscriptions } from './subscriptions.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport } from './transport/http.ts';
import { SseTransport } from './transport/sse.ts';
import type { ResumePoint } from '../core/task/task.ts';

export interface ConnectionSettings extends ReconnectSettings {
  /** Subscriptions and log level from earlier connections. */
  preferences?: ServerPreferences;
  pollTimeoutMs: number;
  /** A pattern in the `include` or `exclude` of a server matches none of its tools. */
  onUnmatchedPattern?: (server: string, pattern: string) => void;
  observed?: Observed;
}

const SET_LEVEL = 'logging/setLevel';
const ROOTS_CHANGED = 'notifications/roots/list_changed';
const NEVER = new AbortController().signal;
const RELISTEN_MS = 1000;
/** How long a server may take to accept the last answers to its own requests. */
const LAST_ANSWERS_MS = 1000;
/** How long a server may take to receive the last cancellations; longer than the time in which it has to name an unrequested task. */
const LAST_CANCELS_MS = 1500;

/** One session's connection to one server: calls, requests, subscriptions, and the questions of the server. */
export class ServerConnection implements Connection {
  readonly #reconnector: Reconnector;
  readonly channel: ServerChannel;
  readonly #calls = new RunningCalls();
  readonly #receiver: TaskReceiver;
  readonly #requests: LostRequests;
  readonly #subscriptions: Subscriptions;
  #stopRelisten = (): void => {};
  /** The log level that the client asked for. */
  #logLevel: unknown;
  readonly #config: ServerConfig;
  readonly #filter: ToolFilter | undefined;
  readonly #sink: ConnectionSink;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tellsRoots: boolean;
  readonly #observed: ObservedServer | undefined;

  constructor(
    server: string,
    config: ServerConfig,
    sink: ConnectionSink,
    dialler: Dialler,
    settings: ConnectionSettings,
    programLog: Log,
  ) {
    const log = withFields(programLog, { server });
    this.#config = config;
    this.#filter = filterFor(config, (pattern) => settings.onUnmatchedPattern?.(server, pattern));
    this.#sink = sink;
    this.#clock = settings.clock;
    this.#log = log;
    this.#tellsRoots = dialler.capabilities.roots !== undefined;
    this.#observed = settings.observed && new ObservedServer(server, config, settings.observed);
    this.#logLevel = settings.preferences?.logLevel;
    this.#subscriptions = new Subscriptions(
      settings.preferences?.uris,
      settings.clock,
      (peer) => void this.#streamEnded(peer),
    );
    this.#receiver = new TaskReceiver({
      ask: async (method, params, context, onOpen) => {
        // The server may fetch the answer on a later connection.
        const answer = ask(method, params, { ...context, detached: true }, sink, this.#calls);
        // A question that cannot be asked is refused within this turn and was never open.
        setImmediate(onOpen);
        return answer;
      },
      // Roots are answered immediately; only people and models take time.
      accepts: (kind) => kind !== 'roots' && dialler.capabilities[kind] !== undefined,
      notify: (task) => this.notify('notifications/tasks/status', { ...task }),
      clock: settings.clock,
    });
    this.#requests = new LostRequests({
      log,
      // Questions end with their connection; the receiver holds those with a task.
      answer: ({ method, params }) =>
        method.startsWith('tasks/') ? this.#receiver.answer(method, params, {}, NEVER) : undefined,
      respond: async (id, response) => this.channel.respond(id, response),
      sessionId: () => this.sessionId,
    });
    const hooks: ReconnectorHooks = {
      prepare: (peer) => this.#prepare(peer),
      // Only messages belong on standard output: other text confuses many clients.
      onOutput: (line, source) => sink.log({ level: source === 'stdout' ? 'warning' : 'info', source, data: line }),
      onUp: (live, arrival, resumed) => this.#up(live, arrival, resumed),
      onLost: (live, reason) => this.#lost(live, reason),
      // The answers can no longer reach the server.
      onFailed: (error) => this.#receiver.clear(`the server cannot be reached: ${error}`),
      onDoubt: (live, reason) => void this.#check(live, reason),
      mayBeSilent: () => this.#calls.atWork,
    };
    this.#reconnector = new Reconnector({ server, config, dialler, settings, hooks, log });
    this.channel = new ServerChannel({
      log,
      calls: this.#calls,
      capabilities: dialler.capabilities,
      reconnect: settings.reconnect,
      pollTimeoutMs: settings.pollTimeoutMs,
      clock: settings.clock,
      reconnector: this.#reconnector,
      filter: this.#filter,
      check: async (live, why) => this.#check(live, why),
      question: async (question) => sink.question(question),
    });
  }

  get status(): ConnectionStatus {
    return this.#reconnector.status;
  }

  /** The id of our session with the server, if it has sessions. */
  get sessionId(): string | undefined {
    return this.channel.sessionId;
  }

  async ready(): Promise<ServerInfo> {
    return (await this.#reconnector.live()).info;
  }

  call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#observe(call, false, (sent) =>
      this.#run(sent, { resumed: false }, (running) => runCall(this.channel, running)),
    );
  }

  async resume(from: ResumePoint, call: OutgoingCall): Promise<CallOutcome> {
    let checkpoint: CallResumePoint;
    try {
      checkpoint = readResumePoint(from);
    } catch (error) {
      return failure(error);
    }
    if ('round' in checkpoint) {
      return this.#observe(call, true, (sent) =>
        this.#run(sent, { resumed: true }, (running) => runCall(this.channel, running, checkpoint.round)),
      );
    }
    const { task } = checkpoint;
    this.#reconnector.adoptSession(task.sessionId);
    return this.#observe(call, true, (sent) =>
      this.#run(sent, { resumed: true }, (running) => followServerTask(this.channel, running, task)),
    );
  }

  #observe(
    call: OutgoingCall,
    resumed: boolean,
    run: (call: OutgoingCall) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    return this.#observed === undefined ? run(call) : this.#observed.call(call, resumed, run);
  }

  #run(
    call: OutgoingCall,
    origin: Pick<RunningCall, 'resumed'>,
    run: (running: RunningCall) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const running = this.#calls.begin(call, origin);
    const outcome = run(running);
    running.outcome = outcome;
    return outcome.then(
      (ended) => {
        this.#calls.end(running);
        return ended;
      },
      (error: unknown) => {
        this.#calls.end(running);
        throw error;
      },
    );
  }

  async request(
    method: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const send = async (sent: Record<string, unknown>): Promise<Record<string, unknown>> =>
      this.channel.send(await this.#reconnector.live(), method, sent, { signal });
    return this.#observed === undefined ? send(params) : this.#observed.request(method, params, send);
  }

  async relay(request: OutgoingRequest): Promise<Record<string, unknown>> {
    const { id, method, params } = request;
    const send = (sent: Record<string, unknown>): Promise<Record<string, unknown>> =>
      this.#relay(sent === params ? request : { ...request, params: sent });
    return this.#observed === undefined ? send(params) : this.#observed.request(method, params, send, id);
  }

  async #relay(request: OutgoingRequest): Promise<Record<string, unknown>> {
    const { id, method, params, signal, onProgress, rounds } = request;
    await this.#reconnector.live();
    const done = this.#calls.beginOther({ id, onProgress });
    const options = { signal, callId: id, mayAsk: true };
    const send = async (answers: Record<string, unknown>): Promise<Record<string, unknown>> =>
      this.channel.send(await this.#reconnector.live(), method, { ...params, ...answers }, options);
    try {
      const result = await (rounds === 'answer' ? sendInRounds(request, this.channel, send) : send({}));
      if (method === SET_LEVEL) this.#logLevel = params['level'];
      return result;
    } finally {
      done();
    }
  }

  async subscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#subscriptions.add((await this.#reconnector.live()).peer, uri, signal);
  }

  async unsubscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#subscriptions.remove((await this.#reconnector.live()).peer, uri, signal);
  }

  notify(method: string, params: Record<string, unknown> | undefined): void {
    // Without the `roots` capability the server expects no changes.
    if (method === ROOTS_CHANGED && !this.#tellsRoots) return;
    // Some servers would run it as a call although it has no id, bypassing filters and rules.
    if (method === 'tools/call') return;
    this.#reconnector.up?.peer.notify(method, params).catch((error: unknown) => {
      this.#log.debug('notification_not_sent', { method, error: messageOf(error) });
    });
  }

  async close({ keepSession = false, silently = false } = {}): Promise<void> {
    // First, so that no rejection or cancellation is sent.
    if (silently) await this.#reconnector.close(true, async () => {});
    const serverWaits = this.#requests.hasOpen;
    // The cancellation of a native task must arrive even if the server has not named the task yet, or the task runs in vain.
    const cancelled = this.#calls.cancelledOutcomes();
    if (cancelled.length > 0) await within(LAST_CANCELS_MS, Promise.allSettled(cancelled), this.#clock);
    this.#receiver.clear('the connection was closed');
    this.#stopRelisten();
    await this.#reconnector.close(keepSession, async (live) => {
      // Only now: a call that is left running could fetch a question that the server delivers only once.
      if (serverWaits) await rejectionsSent(live, this.#clock);
    });
  }

  #prepare(peer: Peer): void {
    peer.handlers = incomingHandlers(peer, {
      sink: this.#sink,
      calls: this.#calls,
      receiver: this.#receiver,
      requests: this.#requests,
      onToolsChanged: () => this.channel.forgetTools(),
    });
    peer.onerror = ({ message: error }) => this.#log.debug('server_protocol_error', { error });
  }

  #up(live: Live, arrival: Arrival, resumed: boolean): void {
    const url = 'url' in this.#config ? { url: redactUrl(this.#config.url) } : {};
    this.#log.info('server_connected', { ...url, arrival });
    if (live.transport instanceof HttpTransport) live.transport.onanswered = (id) => this.#calls.answered(id);
    this.channel.forgetTools();
    if (arrival === 'restart') this.#receiver.clear('the server restarted');
    this.#calls.ringAll();
    this.#sink.connected(arrival, live.info);
    if (arrival !== 'blip') this.#restoreLogLevel(live);
    this.#restoreSubscriptions(live.peer);
    this.#requests.connected(live.transport, resumed);
  }

  #lost({ transport }: Live, reason: string): void {
    this.#stopRelisten();
    this.#requests.connectionLost(transport instanceof HttpTransport ? transport.takeUnanswered() : []);
    // The questions of a process end with it.
    if (transport instanceof ChildTransport) this.#receiver.clear(reason);
    this.#sink.lost(reason);
  }

  /** Checks whether the server is alive, unless another connection has replaced this one. */
  async #check(live: Live, why: string): Promise<void> {
    if (this.#reconnector.up !== live) return;
    await live.heartbeat.check(why);
    // The server is alive and may still work on requests whose streams broke.
    if (this.#reconnector.up === live && live.transport instanceof HttpTransport) {
      this.#requests.cancel(live.transport, live.transport.takeAbandoned());
    }
  }

  /** A restarted server has forgotten the log level; in the modern era each request carries it. */
  #restoreLogLevel(live: Live): void {
    if (this.#logLevel === undefined || live.info.traits.declaredPerRequest) return;
    this.channel.send(live, SET_LEVEL, { level: this.#logLevel }, {}).catch((error: unknown) => {
      this.#log.warn('log_level_not_restored', { error: messageOf(error) });
    });
  }

  /** The subscription stream ended: opens another one if the server is alive. */
  async #streamEnded(peer: Peer): Promise<void> {
    const live = this.#reconnector.up;
    if (live?.peer !== peer) return;
    await this.#check(live, 'the stream for changes ended');
    if (this.#reconnector.up !== live) return;
    this.#stopRelisten = this.#clock.after(RELISTEN_MS, () => this.#restoreSubscriptions(peer));
  }

  #restoreSubscriptions(peer: Peer): void {
    this.#subscriptions.restore(peer).catch((error: unknown) => {
      this.#log.warn('subscriptions_not_restored', { error: messageOf(error) });
    });
  }
}

function filterFor({ include, exclude }: ServerConfig, onUnmatched: (pattern: string) => void): ToolFilter | undefined {
  return include || exclude ? new ToolFilter({ include, exclude }, onUnmatched) : undefined;
}

/** Resolves when the server has received the rejections of its open requests. */
async function rejectionsSent({ transport }: Live, clock: Clock): Promise<void> {
  // By the next turn the rejections have been handed to the transport; a child has them then.
  await nextTurn();
  if (transport instanceof HttpTransport || transport instanceof SseTransport) {
    await within(LAST_ANSWERS_MS, transport.answers.done(), clock);
  }
}
