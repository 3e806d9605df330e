import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Client,
  type ClientCapabilities,
  type Transport,
} from '@modelcontextprotocol/client';
import type {
  Arrival,
  CallOutcome,
  Connection,
  ConnectionSink,
  ConnectionStatus,
  OutgoingCall,
  ServerConfig,
  ServerInfo,
  Standing,
} from '../core/ports.ts';
import { backoffDelay, type BackoffSettings } from '../lib/backoff.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { within } from '../lib/timers.ts';
import { isObject } from '../lib/values.ts';
import { followTask } from './call/follow.ts';
import { Gone, type Line } from './call/line.ts';
import { LiveCalls, type LiveCall } from './call/live-calls.ts';
import { runCall } from './call/run.ts';
import type { CallStanding } from './call/standing.ts';
import { LATEST_WITH_SESSIONS, type Dialled, type Dialler, type DialHooks } from './dial.ts';
import { ask, hear } from './hear.ts';
import { ping } from './ping.ts';
import { TaskReceiver } from './receiver.ts';
import { send, type SendOptions } from './send.ts';
import { GENERATION_DATES, taskOffer, type TaskOffer } from './server-task.ts';
import { listenForTask, Subscriptions } from './subscriptions.ts';
import { ToolFacts } from './tool-facts.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport, isBrokenWire, isUnsent } from './transport/http.ts';
import { headerMistake, paramHeaders } from './transport/param-headers.ts';

export interface ConnectionSettings {
  /** A session with the server that somebody left to be gone on with. */
  sessionId?: string;
  connectTimeoutMs: number;
  pingMs: number;
  pollTimeoutMs: number;
  /** Whether a server that was never reached is tried again by itself; otherwise whoever asked decides. */
  persistent: boolean;
  reconnect: BackoffSettings & { attempts: number; stableMs: number };
}

/** A connection that is up. */
interface Live {
  client: Client;
  transport: Transport;
  info: ServerInfo;
  offer: TaskOffer | undefined;
  /** Tasks that the server was asked to tell news of. */
  listening: Set<string>;
  since: number;
  identity: string | undefined;
  pinging: NodeJS.Timeout;
  relisten?: NodeJS.Timeout;
}

type Mode =
  | { mode: 'idle' }
  | { mode: 'connecting'; attempt: Promise<Live>; unwanted: AbortController }
  | { mode: 'up'; live: Live }
  | { mode: 'waiting'; timer: NodeJS.Timeout; retryAt: number; error: string }
  | { mode: 'failed'; error: string }
  | { mode: 'closed' };

const RELISTEN_MS = 1000;
const LAST_WORDS_MS = 1000;
/** How long a process that is about to be gone may take to tell how it ended. */
const EXIT_MS = 1000;

/**
 * One session's connection to one server. It has one mode at a time, changed in one place (`#enter`): idle until first
 * used, connecting (one attempt, shared by all who wait), up, waiting for the next attempt, or failed until somebody
 * uses it again. Loss is noticed when it happens: a child's exit, a refused connection, a forgotten session, a broken
 * stream or a ping that nobody answers.
 */
export class ServerConnection implements Connection {
  #mode: Mode = { mode: 'idle' };
  /** Attempts that failed, or came to nothing soon after they succeeded. */
  #failures = 0;
  #lastIdentity: string | undefined;
  #everUp = false;
  /** A session with the server that an earlier run of the program left. */
  #sessionBefore: string | undefined;
  /** The connection that was lost last, as long as its session may still be known. */
  #lastLive: Live | undefined;
  #checking: Promise<void> | undefined;
  /** The end of the connection that was lost last: what is left of it goes before there is another. */
  #parting: Promise<void> = Promise.resolve();
  readonly #calls = new LiveCalls();
  readonly #receiver: TaskReceiver;
  readonly #toolFacts = new ToolFacts();
  /** Calls that still have something to say before the connection is closed. */
  readonly #lastWords = new Set<Promise<unknown>>();
  readonly line: Line;
  readonly #subscriptions = new Subscriptions((client) => void this.#streamEnded(client));
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
    this.#sessionBefore = settings.sessionId;
    this.#log = log;
    this.#receiver = new TaskReceiver({
      ask: async (method, params, about, onOpen) => {
        // The server fetches the answer when it wants it, also on its next connection.
        const answer = ask(method, params, { ...about, detached: true }, sink, this.#calls);
        // One that cannot be asked is refused before this turn ends, and never was open.
        setImmediate(onOpen);
        return answer;
      },
      notify: (task) => this.#notify('notifications/tasks/status', { ...task }),
    });
    this.line = this.#newLine();
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

  /** The session that the server knows us by, where it has such. */
  get sessionId(): string | undefined {
    return this.#mode.mode === 'up' ? this.#mode.live.transport.sessionId : undefined;
  }

  async ready(): Promise<ServerInfo> {
    return (await this.#live()).info;
  }

  async call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, (live) => runCall(this.line, live));
  }

  async resume(from: Standing, call: OutgoingCall): Promise<CallOutcome> {
    const standing = from as CallStanding;
    if ('round' in standing) return this.#run(call, (live) => runCall(this.line, live, standing.round));
    const { task } = standing;
    // The session in which the task was made may still be known; where tasks belong to sessions, only that one has it.
    if (!this.#everUp && task.sessionId !== undefined) this.#sessionBefore = task.sessionId;
    return this.#run(call, (live) => followTask(this.line, live, task));
  }

  async #run(call: OutgoingCall, run: (live: LiveCall) => Promise<CallOutcome>): Promise<CallOutcome> {
    const live = this.#calls.begin(call);
    const running = run(live);
    // The cancel of a task that the server keeps must arrive: without it the work goes on for nobody.
    const onAbort = (): void => {
      if (live.native) this.#lastWords.add(running);
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
    return this.#send(await this.#live(), method, params, { signal });
  }

  async subscribe(uri: string): Promise<void> {
    await this.#subscriptions.add((await this.#live()).client, uri);
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#subscriptions.remove((await this.#live()).client, uri);
  }

  async close({ keepSession = false } = {}): Promise<void> {
    if (this.#lastWords.size > 0) await within(LAST_WORDS_MS, Promise.allSettled(this.#lastWords));
    const before = this.#mode;
    this.#enter({ mode: 'closed' });
    this.#receiver.clear('the connection was closed');
    if (before.mode === 'up') {
      await this.#hangUp(before.live, !keepSession);
    } else if (before.mode === 'connecting') {
      // A server that never answers would otherwise be waited for until the attempt times out.
      before.unwanted.abort();
      await before.attempt.catch(() => {});
    }
    await this.#parting;
  }

  #newLine(): Line {
    const { reconnect, pollTimeoutMs } = this.#settings;
    const isClosed = (): boolean => this.#mode.mode === 'closed';
    const sessionId = (): string | undefined => this.sessionId;
    const readTools = async (params: { cursor?: string }): Promise<Record<string, unknown>> =>
      this.#request('tools/list', params, { timeoutMs: pollTimeoutMs });
    return {
      reconnect,
      pollTimeoutMs,
      get closed() {
        return isClosed();
      },
      get sessionId() {
        return sessionId();
      },
      request: async (method, params, options = {}) => this.#request(method, params, options),
      callMeta: async (tasks) => callMeta((await this.#reached()).client, this.#dialler.capabilities, tasks),
      taskOffer: async () => (await this.#reached()).offer,
      taskSupport: async (tool, signal) => {
        signal?.throwIfAborted();
        await orAborted(this.#toolFacts.all(readTools), signal);
        return this.#toolFacts.known(tool).taskSupport;
      },
      paramHeaders: async ({ tool, args }, anew) => {
        if ((await this.#reached()).client.getProtocolEra() !== 'modern') return {};
        if (anew) {
          this.#toolFacts.forget();
          await this.#toolFacts.all(readTools);
        }
        return paramHeaders(this.#toolFacts.known(tool).headers, args);
      },
      question: async (question) => this.#sink.question(question),
      respond: async (id, response) => {
        const { transport } = await this.#reached();
        try {
          await transport.send({ jsonrpc: '2.0', id, ...response });
        } catch (error) {
          throw new Gone('lost', messageOf(error));
        }
      },
      listenForTask: (taskId, until) => {
        const now = this.#mode;
        if (now.mode !== 'up' || now.live.listening.has(taskId)) return;
        const { client, listening } = now.live;
        listening.add(taskId);
        until.addEventListener('abort', () => listening.delete(taskId), { once: true });
        listenForTask(client, taskId, until);
      },
    };
  }

  async #reached(): Promise<Live> {
    try {
      return await this.#live();
    } catch (error) {
      throw new Gone('unreachable', messageOf(error));
    }
  }

  /** A request of a call. Whether a failed one means the loss of the server must be known before the call ends. */
  async #request(
    method: string,
    params: Record<string, unknown>,
    options: SendOptions = {},
  ): Promise<Record<string, unknown>> {
    const live = await this.#reached();
    options.signal?.throwIfAborted();
    try {
      return await this.#send(live, method, params, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      // What stands before the server says that it is away, or too busy; a task waits for that to pass.
      if (method.startsWith('tasks/') && isPassing(error)) throw new Gone('lost', messageOf(error));
      if (isUnsent(error)) throw new Gone('unreachable', messageOf(error));
      const reason = await lossIn(error, live.transport);
      // One broken stream is not yet the loss of the server.
      if (reason !== undefined) await this.#check(live, reason);
      // An error that comes with the loss of the server is the loss.
      if (reason !== undefined || !this.#isCurrent(live)) throw new Gone('lost', reason ?? messageOf(error));
      throw error;
    }
  }

  async #send(
    live: Live,
    method: string,
    params: Record<string, unknown>,
    options: SendOptions,
  ): Promise<Record<string, unknown>> {
    // Nobody asks anything because of a ping, or because of a look at a task.
    const isOther = options.callId === undefined && method !== 'ping' && !method.startsWith('tasks/');
    const done = isOther ? this.#calls.beginOther() : (): void => {};
    const result = await send(live.client, method, params, options).finally(done);
    return method === 'tools/list' ? this.#toolsOf(live, result) : result;
  }

  /** A page of tools, without those that the specification wants left out. */
  #toolsOf({ client, transport }: Live, page: Record<string, unknown>): Record<string, unknown> {
    const { tools } = page;
    this.#toolFacts.learn(tools);
    if (!Array.isArray(tools)) return page;
    // Arguments are headers only over HTTP, and only in this era.
    if (client.getProtocolEra() !== 'modern' || !(transport instanceof HttpTransport)) return page;
    const offered = tools.filter((tool: unknown) => {
      const reason = isObject(tool) ? headerMistake(tool['inputSchema']) : undefined;
      if (reason === undefined) return true;
      const name = isObject(tool) ? String(tool['name']) : '';
      this.#log.warn('tool_left_out', { server: this.#server, tool: name, reason });
      return false;
    });
    return { ...page, tools: offered };
  }

  #notify(method: string, params: Record<string, unknown>): void {
    if (this.#mode.mode !== 'up') return;
    this.#mode.live.client.notification({ method, params }).catch((error: unknown) => {
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
        throw new Error(`the connection to '${this.#server}' is closed`);
      case 'idle':
        return this.#connect('schedule');
      case 'waiting':
      case 'failed':
        return this.#connect('use');
    }
  }

  #isCurrent(live: Live): boolean {
    return this.#mode.mode === 'up' && this.#mode.live === live;
  }

  /** The one place where the mode changes; what belonged to the old mode is let go here. */
  #enter(next: Mode): void {
    if (this.#mode.mode === 'waiting') clearTimeout(this.#mode.timer);
    if (this.#mode.mode === 'up') {
      clearInterval(this.#mode.live.pinging);
      clearTimeout(this.#mode.live.relisten);
    }
    this.#mode = next;
  }

  /** Attempts that somebody's use brings about, beside the schedule, do not count against it. */
  async #connect(because: 'use' | 'schedule'): Promise<Live> {
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
        this.#log.warn(this.#everUp ? 'server_reconnect_failed' : 'server_connect_failed', {
          server: this.#server,
          attempt: this.#failures,
          error: messageOf(error),
        });
        this.#waitOrFail(messageOf(error));
      },
    );
    return attempt;
  }

  async #dial(unwanted: AbortSignal): Promise<Live> {
    // Loss may be reported before the connection counts as up; then it never does.
    let lostEarly: string | undefined;
    let live: Live | undefined;
    await this.#parting;
    unwanted.throwIfAborted();
    const onLost = (reason: string): void => {
      if (live) this.#lost(live, reason);
      else lostEarly = reason;
    };
    const hooks: DialHooks = {
      onLost,
      onDoubt: (reason) => live && void this.#check(live, reason),
      onStderr: (line) => this.#sink.log({ level: 'info', source: 'stderr', data: line }),
      prepare: (client) => {
        hear(client, {
          sink: this.#sink,
          calls: this.#calls,
          receiver: this.#receiver,
          onToolsChanged: () => this.#toolFacts.forget(),
        });
        client.onerror = ({ message: error }) =>
          this.#log.debug('server_protocol_error', { server: this.#server, error });
      },
      unwanted,
    };
    const { client, transport } = (await this.#resume(hooks)) ?? (await this.#dialler.dial(this.#config, hooks));
    client.onclose = () => {
      if (transport instanceof ChildTransport) void transport.exited.then(onLost);
      else onLost('the connection was closed');
    };
    if (transport instanceof HttpTransport) transport.onanswered = (id) => this.#calls.answered(id);
    const offer = taskOffer(client.getProtocolEra() === 'modern', capabilitiesOf(client));
    live = {
      client,
      transport,
      info: infoOf(client, offer),
      offer,
      listening: new Set(),
      since: Date.now(),
      identity: transport.sessionId,
      pinging: setInterval(() => live && void this.#check(live, 'ping'), this.#settings.pingMs),
    };
    live.pinging.unref();
    if (this.#mode.mode === 'closed' || lostEarly !== undefined) {
      clearInterval(live.pinging);
      await this.#hangUp(live, true);
      throw new Error(lostEarly ?? `the connection to '${this.#server}' is closed`);
    }
    this.#up(live);
    return live;
  }

  /** A server that was only out of reach may still know our session. */
  async #resume(hooks: DialHooks): Promise<Dialled | undefined> {
    const { client, identity = this.#sessionBefore } = this.#lastLive ?? {};
    if (identity === undefined || !('url' in this.#config)) return undefined;
    if (client === undefined && this.#everUp) return undefined;
    const resumed = await this.#dialler.resume(this.#config, hooks, client, identity);
    if (resumed === undefined) this.#lastLive = undefined;
    return resumed;
  }

  #up(live: Live): void {
    const arrival = this.#arrival(live);
    this.#everUp = true;
    this.#lastIdentity = live.identity;
    this.#enter({ mode: 'up', live });
    this.#log.info('server_connected', { server: this.#server, arrival });
    this.#toolFacts.forget();
    if (arrival === 'restart') this.#receiver.clear('the server restarted');
    this.#calls.ringAll();
    this.#sink.connected(arrival, live.info);
    this.#restoreSubscriptions(live.client);
  }

  #arrival(live: Live): Arrival {
    if (!this.#everUp) return 'first';
    if (live.transport instanceof ChildTransport) return 'restart';
    return live.identity === this.#lastIdentity ? 'blip' : 'restart';
  }

  #lost(live: Live, reason: string): void {
    if (!this.#isCurrent(live)) return;
    const { stableMs } = this.#settings.reconnect;
    // "Started" is not "works": a server that dies soon after each start uses up its attempts like one that never starts.
    this.#failures = Date.now() - live.since >= stableMs ? 0 : this.#failures + 1;
    this.#log.info('server_disconnected', { server: this.#server, reason });
    this.#lastLive = live;
    this.#waitOrFail(reason);
    // A process that is gone takes along what it asked.
    if (live.transport instanceof ChildTransport) this.#receiver.clear(reason);
    this.#sink.lost(reason);
    this.#parting = this.#hangUp(live, false).catch((error: unknown) => {
      this.#log.warn('hang_up_failed', { server: this.#server, error: messageOf(error) });
    });
  }

  #waitOrFail(error: string): void {
    const { reconnect } = this.#settings;
    const attempt = Math.max(1, this.#failures);
    if (attempt > reconnect.attempts || (!this.#everUp && !this.#settings.persistent)) {
      this.#enter({ mode: 'failed', error });
      return;
    }
    const delayMs = backoffDelay(attempt, reconnect);
    const timer = setTimeout(() => {
      this.#log.info('server_reconnecting', { server: this.#server, attempt, delayMs });
      this.#connect('schedule').catch(() => {
        // Already on record: a failed attempt decides by itself what comes next.
      });
    }, delayMs);
    timer.unref();
    this.#enter({ mode: 'waiting', timer, retryAt: Date.now() + delayMs, error });
  }

  /** Closes without a word to the session: it has been told, or has asked for it. */
  async #hangUp(live: Live, polite: boolean): Promise<void> {
    try {
      if (polite && live.transport instanceof HttpTransport) await live.transport.terminate();
    } catch (error) {
      this.#log.debug('goodbye_failed', { server: this.#server, error: messageOf(error) });
    }
    await live.client.close();
    // The SDK lets go of its transport when that reports its end, which a child does only once it is gone.
    await live.transport.close();
  }

  /** Asks whether the server is still there; who asks at the same time shares the answer. */
  async #check(live: Live, why: string): Promise<void> {
    if (!this.#isCurrent(live)) return;
    this.#checking ??= this.#ping(live, why).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #ping(live: Live, why: string): Promise<void> {
    const pulse = await ping(live.client);
    if (pulse.kind === 'alive') return;
    // A server at work may have no time for pings; that is what we are here for. If it died, that shows otherwise.
    if (pulse.kind === 'silent' && this.#calls.atWork) return;
    this.#lost(live, `no answer to a ping (${why}): ${pulse.reason}`);
  }

  /** The stream for changes ended: gone with its server, or to be asked for again. */
  async #streamEnded(client: Client): Promise<void> {
    const now = this.#mode;
    if (now.mode !== 'up' || now.live.client !== client) return;
    await this.#check(now.live, 'the stream for changes ended');
    if (!this.#isCurrent(now.live)) return;
    now.live.relisten = setTimeout(() => this.#restoreSubscriptions(client), RELISTEN_MS);
  }

  #restoreSubscriptions(client: Client): void {
    this.#subscriptions.restore(client).catch((error: unknown) => {
      this.#log.warn('subscriptions_not_restored', { server: this.#server, error: messageOf(error) });
    });
  }
}

/** Servers of the new era read from each request what the client can do, and send no logs unless it names a level. */
function callMeta(client: Client, capabilities: ClientCapabilities, tasks: 'use' | 'avoid'): Record<string, unknown> {
  if (client.getProtocolEra() !== 'modern') return {};
  const { extensions: _extensions, ...plain } = capabilities;
  return { [LOG_LEVEL_META_KEY]: 'info', ...(tasks === 'avoid' && { [CLIENT_CAPABILITIES_META_KEY]: plain }) };
}

/** What several wait for goes on without the one who leaves. */
async function orAborted<T>(shared: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return shared;
  signal.throwIfAborted();
  let leave = (): void => {};
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(new Error('nobody waits for it any more'));
  });
  signal.addEventListener('abort', leave, { once: true });
  return Promise.race([shared, left]).finally(() => signal.removeEventListener('abort', leave));
}

function isPassing(error: unknown): boolean {
  return error instanceof SdkHttpError && [429, 502, 503, 504].includes(error.status ?? 0);
}

/** Why an error means that the answer will never come on this connection. */
async function lossIn(error: unknown, transport: Transport): Promise<string | undefined> {
  if (isBrokenWire(error)) return messageOf(error);
  if (!(error instanceof SdkError) || error.code !== SdkErrorCode.ConnectionClosed) return undefined;
  const ended = transport instanceof ChildTransport ? await within(EXIT_MS, transport.exited) : undefined;
  return ended ?? 'the connection was closed';
}

/** What a server can do whose session somebody left to be gone on with: it keeps tasks. */
const WORTH_KEEPING = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

function capabilitiesOf(client: Client): Record<string, unknown> {
  return { ...(client.getServerCapabilities() ?? WORTH_KEEPING) };
}

function infoOf(client: Client, offer: TaskOffer | undefined): ServerInfo {
  const implementation = client.getServerVersion();
  const instructions = client.getInstructions();
  return {
    era: client.getProtocolEra() ?? 'legacy',
    protocolVersion: client.getNegotiatedProtocolVersion() ?? LATEST_WITH_SESSIONS,
    capabilities: capabilitiesOf(client),
    ...(offer && { tasks: { ...offer, generation: GENERATION_DATES[offer.generation] } }),
    ...(implementation && { implementation: { name: implementation.name, version: implementation.version } }),
    ...(instructions !== undefined && { instructions }),
  };
}
