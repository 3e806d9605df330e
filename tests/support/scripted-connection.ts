/**
 * Servers that a test plays itself, behind the port through which the core reaches servers. A call waits until the test
 * ends it, unless the test has said what its tool does.
 */
import {
  LEAVE_RUNNING,
  type Arrival,
  type Backends,
  type CallOutcome,
  type ClientTraits,
  type Connection,
  type ConnectionSink,
  type ConnectionStatus,
  type IncomingQuestion,
  type OutgoingCall,
  type OutgoingRequest,
  type RelatedRequest,
  type ServerInfo,
  type ServerTask,
} from '../../src/core/ports/connection.ts';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import type { Answer } from '../../src/core/interaction/interaction.ts';
import type { CallResult, ResumePoint } from '../../src/core/task/task.ts';
import { signInIn } from '../../src/core/sign-in/required.ts';
import { messageOf } from '../../src/lib/log.ts';
import { RpcError } from '../../src/lib/rpc-error.ts';
import { ServerFailure } from '../../src/lib/server-failure.ts';

type Params = Record<string, unknown>;
type Handler = (params: Params, signal: AbortSignal | undefined) => Params | Promise<Params>;

const CANCELLED: CallOutcome = { kind: 'error', error: { code: -32000, message: 'cancelled' } };

/** For connections whose notifications and questions do not matter. */
export const UNHEARD: ConnectionSink = {
  connected: () => {},
  lost: () => {},
  notification: () => {},
  log: () => {},
  question: async () => Promise.reject(new Error('no question is answered')),
};

export const LOCAL_CLIENT: ClientTraits = {
  principal: 'local',
  addedBy: 'client',
  roots: false,
  preferences: { uris: [] },
};

export const SCRIPTED_INFO: ServerInfo = {
  protocolVersion: '2025-11-25',
  traits: { sessions: true, asksInRounds: false, declaredPerRequest: false },
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
  implementation: { name: 'scripted', version: '1' },
};

export const textResult = (text: string): CallResult => ({ content: [{ type: 'text', text }] });

/** All servers of a test, which are the same in all that they are told here. */
export class ScriptedBackends implements Backends {
  /** In the order in which they were made. */
  readonly connections: ScriptedConnection[] = [];
  info: ServerInfo = SCRIPTED_INFO;
  /** What tools do with a call; without an entry, the test ends the call. */
  readonly tools: Record<string, (call: ScriptedCall) => void> = {};
  /** How requests other than calls are answered, by method. */
  readonly methods: Record<string, Handler> = { 'tools/list': () => ({ tools: [] }), 'logging/setLevel': () => ({}) };
  /** Attempts to connect fail for this reason. */
  unreachable: string | ServerFailure | undefined;
  /** Attempts to connect wait for this. */
  gate: Promise<void> | undefined;

  connect(server: string, config: ServerConfig, sink: ConnectionSink, traits: ClientTraits): ScriptedConnection {
    const connection = new ScriptedConnection(this, { server, config, traits }, sink);
    this.connections.push(connection);
    return connection;
  }

  /** The newest connection. */
  get last(): ScriptedConnection {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error('there is no connection');
    return connection;
  }
}

export class ScriptedConnection implements Connection {
  status: ConnectionStatus = { state: 'idle' };
  /** How many times it was tried to connect. */
  attempts = 0;
  /** All calls that reached the server, and those that were resumed. */
  readonly calls: ScriptedCall[] = [];
  /** With an id, if the request was passed on for a client. */
  readonly requests: { method: string; params: Params; id?: string }[] = [];
  /** Notifications that the server received. */
  readonly told: { method: string; params: Params | undefined }[] = [];
  readonly subscribed = new Set<string>();
  /** How it was closed. */
  closedWith: { keepSession?: boolean; silently?: boolean } | undefined;
  readonly about: { server: string; config: ServerConfig; traits: ClientTraits };
  readonly sink: ConnectionSink;
  readonly #backends: ScriptedBackends;
  #attempt: Promise<ServerInfo> | undefined;
  #closed = new AbortController();

  constructor(backends: ScriptedBackends, about: ScriptedConnection['about'], sink: ConnectionSink) {
    this.#backends = backends;
    this.about = about;
    this.sink = sink;
    for (const uri of about.traits.preferences.uris) this.subscribed.add(uri);
  }

  // --- The port ---

  async ready(): Promise<ServerInfo> {
    if (this.status.state === 'closed') throw this.#closedFailure();
    if (this.status.state === 'connected') return this.status.info;
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call);
  }

  async resume(checkpoint: ResumePoint, call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, checkpoint);
  }

  async request(method: string, params: Params, signal?: AbortSignal): Promise<Params> {
    return this.#answer({ method, params }, signal);
  }

  async relay({ id, method, params, signal }: OutgoingRequest): Promise<Params> {
    return this.#answer({ id, method, params }, signal);
  }

  async #answer(request: ScriptedConnection['requests'][number], signal?: AbortSignal): Promise<Params> {
    await this.ready();
    signal?.throwIfAborted();
    this.requests.push(request);
    const { method, params } = request;
    const handler = this.#backends.methods[method];
    if (handler === undefined) throw new RpcError(-32601, `Method not found: ${method}`);
    const over = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    return unlessAborted(handler(params, signal), over);
  }

  notify(method: string, params: Params | undefined): void {
    if (this.status.state === 'connected') this.told.push({ method, params });
  }

  async subscribe(uri: string): Promise<Params> {
    await this.ready();
    this.subscribed.add(uri);
    return {};
  }

  async unsubscribe(uri: string): Promise<Params> {
    await this.ready();
    this.subscribed.delete(uri);
    return {};
  }

  async close(options: { keepSession?: boolean; silently?: boolean } = {}): Promise<void> {
    if (this.status.state === 'closed') return;
    this.closedWith = options;
    this.status = { state: 'closed' };
    this.#closed.abort(this.#closedFailure());
    this.#loseCalls('the connection was closed', () => true);
  }

  // --- The test ---

  /** The calls that have not ended. */
  get open(): ScriptedCall[] {
    return this.calls.filter((call) => !call.ended);
  }

  /** The newest call. */
  get last(): ScriptedCall {
    const call = this.calls.at(-1);
    if (call === undefined) throw new Error('the server has received no call');
    return call;
  }

  /** The server is gone. Calls that can continue elsewhere go on. */
  lose(reason = 'the server crashed'): void {
    this.status = { state: 'waiting', attempt: 1, retryAt: 0, error: reason };
    this.sink.lost(reason);
    this.#loseCalls(reason, (call) => call.checkpoint === undefined);
  }

  /** The server is there again. */
  comeBack(arrival: Arrival = 'restart'): void {
    this.status = { state: 'connected', since: 0, info: this.#backends.info };
    this.sink.connected(arrival, this.#backends.info);
  }

  /** The server says something that is not a response. */
  say(method: string, params: Params | undefined, related: RelatedRequest = 'no request'): void {
    this.sink.rawNotification?.(method, params, related);
    if (method === 'notifications/message') {
      this.sink.log({ level: String(params?.['level']), source: 'protocol', data: params?.['data'] });
    } else this.sink.notification(method, params ?? {});
  }

  /** The server asks something outside of a call. */
  ask(params: Params, more: Partial<IncomingQuestion> = {}): Promise<Answer> {
    return this.sink.question({ kind: 'elicitation', params, withdrawn: new AbortController().signal, ...more });
  }

  // --- Inside ---

  async #connect(): Promise<ServerInfo> {
    this.attempts += 1;
    this.status = { state: 'connecting' };
    await this.#backends.gate;
    if (this.#closed.signal.aborted) throw this.#closedFailure();
    const { unreachable, info } = this.#backends;
    if (unreachable !== undefined) {
      const { failure, message } =
        typeof unreachable === 'string' ? { failure: 'refused' as const, message: unreachable } : unreachable;
      this.status = { state: 'failed', error: message, failure };
      throw typeof unreachable === 'string' ? new ServerFailure(failure, message) : unreachable;
    }
    this.status = { state: 'connected', since: 0, info };
    this.sink.connected('first', info);
    return info;
  }

  async #run(outgoing: OutgoingCall, resumedFrom?: ResumePoint): Promise<CallOutcome> {
    try {
      await this.ready();
    } catch (error) {
      const signIn = signInIn(error);
      const failure = signIn === undefined ? 'refused' : 'sign_in';
      return { kind: 'unreachable', reason: messageOf(error), failure, ...(signIn && { signIn }) };
    }
    const recorded = resumedFrom === undefined ? outgoing.listener.onSending?.() : undefined;
    if (recorded !== undefined) await recorded;
    if (outgoing.signal.aborted) return CANCELLED;
    const call = new ScriptedCall(outgoing, this, resumedFrom);
    this.calls.push(call);
    this.#backends.tools[outgoing.tool]?.(call);
    return call.outcome;
  }

  #loseCalls(reason: string, matching: (call: ScriptedCall) => boolean): void {
    for (const call of this.open.filter(matching)) call.end({ kind: 'lost', reason });
  }

  #closedFailure(): ServerFailure {
    return new ServerFailure('closed', `the connection to '${this.about.server}' is closed`);
  }
}

/** One call as the server sees it. */
export class ScriptedCall {
  readonly outgoing: OutgoingCall;
  readonly outcome: Promise<CallOutcome>;
  readonly resumedFrom: ResumePoint | undefined;
  /** From where it continues after a loss. */
  checkpoint: ResumePoint | undefined;
  ended = false;
  /** How it ends when the gateway leaves it running. */
  whenLeft: CallOutcome = { kind: 'lost', reason: 'the gateway was stopped' };
  /** Aborted when the call ends: a server does not want the answers any more then. */
  readonly #over = new AbortController();
  readonly #connection: ScriptedConnection;
  #resolve: (outcome: CallOutcome) => void = () => {};

  constructor(outgoing: OutgoingCall, connection: ScriptedConnection, resumedFrom: ResumePoint | undefined) {
    this.outgoing = outgoing;
    this.resumedFrom = resumedFrom;
    this.checkpoint = resumedFrom;
    this.#connection = connection;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const { signal } = outgoing;
    const onAbort = (): void => this.end(signal.reason === LEAVE_RUNNING ? this.whenLeft : CANCELLED);
    signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Why the work on the server was stopped; `undefined` if it was not. */
  get stoppedFor(): unknown {
    return this.outgoing.signal.reason;
  }

  end(outcome: CallOutcome): void {
    if (this.ended) return;
    this.ended = true;
    this.#over.abort();
    this.#resolve(outcome);
  }

  answer(text: string): void {
    this.end({ kind: 'result', result: textResult(text) });
  }

  fail(message: string, code = -32000): void {
    this.end({ kind: 'error', error: { code, message } });
  }

  /** Asks in the course of the call. */
  ask(params: Params, more: Partial<IncomingQuestion> = {}): Promise<Answer> {
    return this.#connection.ask(params, { callId: this.outgoing.id, withdrawn: this.#over.signal, ...more });
  }

  progress(progress: number, total?: number, message?: string): void {
    this.outgoing.listener.onProgress({ progress, ...(total !== undefined && { total }), ...(message && { message }) });
  }

  /** The server keeps the call as a task of its own. */
  async keepAsTask(more: Partial<ServerTask> = {}): Promise<void> {
    const task: ServerTask = {
      taskId: 'native',
      status: 'working',
      createdAt: new Date(0).toISOString(),
      lastUpdatedAt: new Date(0).toISOString(),
      ttl: null,
      ...more,
    };
    await this.continuesFrom({ version: 1, task: { taskId: task.taskId } });
    this.outgoing.listener.onTask(task);
  }

  async continuesFrom(checkpoint: ResumePoint | undefined): Promise<void> {
    this.checkpoint = checkpoint;
    await this.outgoing.listener.onCheckpoint(checkpoint);
  }
}

async function unlessAborted(answer: Params | Promise<Params>, signal: AbortSignal): Promise<Params> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
  return Promise.race([answer, aborted]);
}
