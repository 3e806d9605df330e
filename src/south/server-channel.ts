import type { ClientCapabilities, RequestId } from '@modelcontextprotocol/client';
import type { IncomingQuestion } from '../core/ports/connection.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { unlessAborted, type StopSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { CLIENT_CAPABILITIES_KEY, LOG_LEVEL_KEY } from '../lib/protocol.ts';
import { HEADER_MISMATCH } from '../lib/rpc-error.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { within } from '../lib/timers.ts';
import { isObject } from '../lib/values.ts';
import { ServerUnavailable, type Attempt, type CallChannel } from './call/channel.ts';
import type { RunningCalls } from './call/running-calls.ts';
import { ConnectionClosed, ErrorResponse } from './peer/errors.ts';
import type { RequestOptions } from './peer/peer.ts';
import type { Live, Reconnector } from './reconnector.ts';
import { listenForTask } from './subscriptions.ts';
import type { ToolFilter } from './tool-filter.ts';
import { ToolFacts, type TaskSupport } from './tool-facts.ts';
import { isBrokenWire, isUnsent } from './transport/broken-wire.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport } from './transport/http.ts';
import { HttpRefusal } from './transport/http-refusal.ts';
import { SseTransport } from './transport/sse.ts';
import type { ServerTransport } from './transport/transport.ts';
import { headerMistake, paramHeaders } from './transport/param-headers.ts';

type Params = Record<string, unknown>;

/** How long to wait for the exit status of a process that closed its output. */
const EXIT_MS = 1000;
/** Further tasks are only polled: their streams must not use up the sockets of the subscription stream. */
const MAX_TASK_STREAMS = 100;

/** The connection behind a channel. */
export interface ChannelHost {
  readonly log: Log;
  readonly calls: RunningCalls;
  readonly capabilities: ClientCapabilities;
  readonly reconnect: CallChannel['reconnect'];
  readonly pollTimeoutMs: number;
  readonly clock: Clock;
  readonly reconnector: Reconnector;
  /** Absent if all tools of the server are shown. */
  readonly filter: ToolFilter | undefined;
  /** Checks whether the server is alive, and ends the connection if not. */
  check: (live: Live, why: string) => Promise<void>;
  question: (question: IncomingQuestion) => Promise<Answer>;
}

/** The call channel over whichever connection to the server is up. */
export class ServerChannel implements CallChannel {
  readonly #host: ChannelHost;
  readonly #toolFacts = new ToolFacts();
  readonly reconnect: CallChannel['reconnect'];
  readonly pollTimeoutMs: number;
  readonly clock: Clock;
  readonly question: CallChannel['question'];

  constructor(host: ChannelHost) {
    this.#host = host;
    this.reconnect = host.reconnect;
    this.pollTimeoutMs = host.pollTimeoutMs;
    this.clock = host.clock;
    this.question = host.question;
  }

  get closed(): boolean {
    return this.#host.reconnector.closed;
  }

  get sessionId(): string | undefined {
    return this.#host.reconnector.up?.transport.sessionId;
  }

  attempt(): Promise<Attempt> | Attempt {
    const { up } = this.#host.reconnector;
    if (up !== undefined) return new ServerAttempt(this, up);
    return this.#reached().then((live) => new ServerAttempt(this, live));
  }

  isUp(live: Live): boolean {
    return this.#host.reconnector.up === live;
  }

  callMeta(tasks: 'use' | 'avoid'): Record<string, unknown> {
    return callMeta(this.#host.capabilities, tasks);
  }

  /** The options of a call, with the arguments that the tool also expects as headers, if known. */
  #withHeaders({ name, arguments: args }: Params, options: RequestOptions): RequestOptions {
    const { headers } = this.#toolFacts.known(String(name));
    return headers.length === 0 ? options : { ...options, headers: paramHeaders(headers, isObject(args) ? args : {}) };
  }

  async taskSupport(tool: string, signal?: StopSignal): Promise<TaskSupport> {
    signal?.throwIfAborted();
    // Other calls may wait for the list, too.
    await unlessAborted(this.#readTools(), signal, () => new Error('the call no longer waits'));
    return this.#toolFacts.known(tool).taskSupport;
  }

  /** The tool list has changed, or may be of another server. */
  forgetTools(): void {
    this.#toolFacts.forget();
  }

  async respond(
    id: RequestId,
    response: { result: Answer } | { error: { code: number; message: string } },
  ): Promise<void> {
    const { transport } = await this.#reached();
    try {
      await transport.send({ jsonrpc: '2.0', id, ...response });
    } catch (error) {
      throw new ServerUnavailable('lost', error);
    }
  }

  listenForTask(taskId: string, until: AbortSignal): void {
    const { peer, listening } = this.#host.reconnector.up ?? {};
    if (peer === undefined || listening === undefined || listening.has(taskId)) return;
    if (listening.size >= MAX_TASK_STREAMS) return;
    listening.add(taskId);
    until.addEventListener('abort', () => listening.delete(taskId), { once: true });
    listenForTask(peer, taskId, until, this.clock);
  }

  async request(
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions = {},
  ): Promise<Record<string, unknown>> {
    return this.requestOn(await this.#reached(), method, params, options);
  }

  /** A request of a call. If it fails, whether the server was lost must be known before the call ends. */
  requestOn(
    live: Live,
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    const isModernCall = live.peer.isModern && method === 'tools/call';
    const sent = isModernCall ? this.#withHeaders(params, options) : options;
    return this.#sendOn(live, method, params, sent).catch((error: unknown) =>
      isModernCall && isHeaderMismatch(error) && this.isUp(live)
        ? this.#callAgain(live, params, options)
        : this.#failed(live, method, error, options.signal),
    );
  }

  /** A server that rejects a header has not run the tool: reads the tool list for the right headers and resends. */
  async #callAgain(live: Live, params: Params, options: RequestOptions): Promise<Params> {
    this.forgetTools();
    await this.#readTools();
    // The signal of a request may be aborted only a while after that of its call.
    if (this.#host.calls.isStopped(options.callId)) throw new ServerUnavailable('unreachable', 'the call was stopped');
    return this.#sendOn(live, 'tools/call', params, this.#withHeaders(params, options)).catch((error: unknown) =>
      this.#failed(live, 'tools/call', error, options.signal),
    );
  }

  #sendOn(live: Live, method: string, params: Params, options: RequestOptions): Promise<Params> {
    if (this.isUp(live) || options.signal?.aborted) return this.send(live, method, params, options);
    return Promise.reject(new ServerUnavailable('unreachable', 'the connection was replaced'));
  }

  async #failed(live: Live, method: string, error: unknown, signal: StopSignal | undefined): Promise<never> {
    if (signal?.aborted || error instanceof ServerUnavailable) throw error;
    // A proxy reports that the server is down or busy: a task waits until it is back.
    const isPassing = error instanceof HttpRefusal && error.isPassing;
    if (isPassing && method.startsWith('tasks/')) throw new ServerUnavailable('lost', error);
    if (isUnsent(error)) throw new ServerUnavailable('unreachable', error);
    const loss = await lossIn(error, live.transport);
    // One broken stream does not mean that the server is lost.
    if (loss !== undefined) await this.#host.check(live, loss.message);
    // An error during the loss of the server counts as the loss.
    if (loss !== undefined || !this.isUp(live)) throw new ServerUnavailable('lost', loss ?? error);
    throw error;
  }

  /** Sends on a live connection; errors are passed on unchanged. */
  send(
    live: Live,
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    const isPlain = method === 'tools/call' && options.callId !== undefined && this.#host.filter === undefined;
    return isPlain ? live.peer.request(method, params, options) : this.#sendChecked(live, method, params, options);
  }

  async #sendChecked(
    live: Live,
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    const { calls, filter } = this.#host;
    // A call from before a restart continues even if its tool is hidden now.
    if (method === 'tools/call' && filter && !calls.isResumed(options.callId)) filter.assertShown(params);
    if (method === 'tools/call' && options.callId !== undefined) return live.peer.request(method, params, options);
    // Pings and task requests cause no questions.
    const isOther = options.callId === undefined && method !== 'ping' && !method.startsWith('tasks/');
    const done = isOther ? calls.beginOther() : (): void => {};
    const result = await live.peer.request(method, params, options).finally(done);
    return method === 'tools/list' ? this.#toolsOf(live, params, result) : result;
  }

  /** A page of tools, without hidden ones and those that the specification excludes. */
  #toolsOf({ peer, transport }: Live, params: Params, read: Params): Params {
    this.#toolFacts.learn(read['tools']);
    const page = this.#host.filter?.shownOf(read, params) ?? read;
    const { tools } = page;
    if (!Array.isArray(tools)) return page;
    // Arguments are headers only over HTTP, and only in this era.
    if (!peer.isModern || !(transport instanceof HttpTransport)) return page;
    const offered = tools.filter((tool: unknown) => {
      const reason = isObject(tool) ? headerMistake(tool['inputSchema']) : undefined;
      if (reason === undefined) return true;
      const name = isObject(tool) ? String(tool['name']) : '';
      this.#host.log.warn('tool_left_out', { tool: name, reason });
      return false;
    });
    return { ...page, tools: offered };
  }

  async #readTools(): Promise<void> {
    const { pollTimeoutMs: timeoutMs } = this;
    return this.#toolFacts.all(async (params) => this.request('tools/list', params, { timeoutMs }));
  }

  async #reached(): Promise<Live> {
    try {
      return await this.#host.reconnector.live();
    } catch (error) {
      throw new ServerUnavailable('unreachable', error);
    }
  }
}

/** An attempt on one connection of a channel. */
class ServerAttempt implements Attempt {
  readonly #channel: ServerChannel;
  readonly #live: Live;

  constructor(channel: ServerChannel, live: Live) {
    this.#channel = channel;
    this.#live = live;
  }

  get clock(): Clock {
    return this.#channel.clock;
  }

  get offer(): Attempt['offer'] {
    return this.#live.offer;
  }

  get isCurrent(): boolean {
    return this.#channel.isUp(this.#live);
  }

  request(
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions = {},
  ): Promise<Record<string, unknown>> {
    return this.#channel.requestOn(this.#live, method, params, options);
  }

  callMeta(tasks: 'use' | 'avoid'): Record<string, unknown> | undefined {
    return this.#live.peer.isModern ? this.#channel.callMeta(tasks) : undefined;
  }

  async taskSupport(tool: string, signal?: StopSignal): Promise<TaskSupport> {
    return this.#channel.taskSupport(tool, signal);
  }
}

const USUAL_META: Record<string, unknown> = { [LOG_LEVEL_KEY]: 'info' };

/** Modern servers read the client's capabilities from each request, and send no logs unless it names a level. */
function callMeta(capabilities: ClientCapabilities, tasks: 'use' | 'avoid'): Record<string, unknown> {
  if (tasks === 'use') return USUAL_META;
  const { extensions: _extensions, ...plain } = capabilities;
  return { [LOG_LEVEL_KEY]: 'info', [CLIENT_CAPABILITIES_KEY]: plain };
}

function isHeaderMismatch(error: unknown): boolean {
  return error instanceof ErrorResponse && error.code === HEADER_MISMATCH;
}

/** Why an error means that the answer will never arrive on this connection. */
async function lossIn(error: unknown, transport: ServerTransport): Promise<ServerFailure | undefined> {
  if (isBrokenWire(error)) return error instanceof ServerFailure ? error : closed(messageOf(error));
  if (!(error instanceof ConnectionClosed)) return undefined;
  if (transport instanceof ChildTransport) {
    const how = await within(EXIT_MS, transport.exited);
    if (how !== undefined) return new ServerFailure('exited', how);
  }
  return (transport instanceof SseTransport ? transport.ending : undefined) ?? closed('the connection was closed');
}

const closed = (message: string): ServerFailure => new ServerFailure('closed', message);
