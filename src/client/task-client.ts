import type { ConnectionSink, IncomingQuestion, OutgoingCall, Progress, ServerInfo } from '../core/ports/connection.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import type { Answer, InteractionKind } from '../core/interaction/interaction.ts';
import { whenAborted, type StopSignal } from '../lib/abort.ts';
import { systemClock } from '../lib/clock.ts';
import { createLog, messageOf } from '../lib/log.ts';
import { readAllPages } from '../lib/pages.ts';
import { failureKindOf } from '../lib/server-failure.ts';
import { nearestNumber, withNearestNumbers } from '../lib/exact-json.ts';
import { VERSION } from '../lib/version.ts';
import { ServerConnection } from '../south/connection.ts';
import { Dialler } from '../south/dial.ts';
import { PingSchedule } from '../south/heartbeat.ts';
import { inTask } from '../south/call/resume-point.ts';
import type { RequestOptions } from '../south/peer/peer.ts';
import type { ConnectionAccount } from '../core/sign-in/connection-account.ts';
import { readServerTask, type TaskOffer } from '../south/server-task.ts';
import { asTold, errorFrom, requestError, TaskClientError, unlessCancelled } from './task-client-error.ts';
import { Following, type End, type Followed, type Running, type StartCall } from './following.ts';
import { KnownTasks } from './known-tasks.ts';
import { askListeners } from './pending.ts';
import { toolCallStream } from './stream.ts';
import type {
  CallToolResult,
  Task,
  TaskCapabilities,
  TaskClientEvents,
  Tool,
  ToolCallInvocation,
  ToolCallMessage,
  ToolCallOptions,
  ToolCallStream,
  ProgressDetail,
} from './types.ts';
import { typedEventTarget } from './typed-event-target.ts';

export interface TaskClientOptions {
  name?: string | undefined;
  version?: string | undefined;
  connectTimeoutMs?: number | undefined;
  /** How long a server may take to report the state of its task; three timeouts in a row end the call. */
  pollTimeoutMs?: number | undefined;
  /** How many times to reconnect before running calls fail. */
  reconnectAttempts?: number | undefined;
  /** A session with an HTTP server that was left with `disconnect({ keepSession: true })`. */
  sessionId?: string | undefined;
  /** Set if a listener of `newPendingElicitation` answers. */
  elicitation?: boolean | undefined;
  /** Set if a listener of `newPendingSample` answers. */
  sampling?: boolean | undefined;
}

/** A call as the caller made it. */
type Invoked = Required<Pick<ToolCallInvocation, 'toolName' | 'params' | 'metadata'>>;

/**
 * A client for one MCP server of either era, made for long calls and questions: it uses native tasks of both generations,
 * emits questions as events, and continues with its tasks after a lost connection.
 */
export class TaskClient extends typedEventTarget<TaskClientEvents>() {
  readonly #connection: ServerConnection;
  readonly #handOver: <T>(value: T) => T;
  readonly #tasks = new KnownTasks((type, detail) => this.#tell(type, detail));
  readonly #following = new Following();
  /** The declared capabilities: the server must not ask anything else. */
  readonly #answers: Record<InteractionKind, boolean>;
  #description: ServerInfo | undefined;

  /**
   * `handOver` converts what the server sends for the application, which is written for JavaScript numbers. `account` has the
   * tokens for a server that authorizes its clients.
   */
  constructor(
    server: ServerConfig,
    options: TaskClientOptions = {},
    handOver: <T>(value: T) => T = withNearestNumbers,
    account?: ConnectionAccount,
  ) {
    super();
    this.#handOver = handOver;
    const { name = 'meanwhile-client', version = VERSION, elicitation = false, sampling = false } = options;
    const { connectTimeoutMs = 30_000, pollTimeoutMs = 30_000, reconnectAttempts = 10, sessionId } = options;
    this.#answers = { elicitation, sampling, roots: false };
    this.#connection = new ServerConnection(
      placeOf(server),
      server,
      this.#sink(),
      new Dialler(connectTimeoutMs, { name, version, elicitation, sampling }),
      {
        pollTimeoutMs,
        pings: new PingSchedule(30_000, systemClock),
        persistent: false,
        reconnect: { firstMs: 1000, factor: 2, maxMs: 60_000, stableMs: 10_000, attempts: reconnectAttempts },
        clock: systemClock,
        ...(sessionId !== undefined && { sessionId }),
        account,
      },
      createLog('silent'),
    );
  }

  /** Connects unless connected. Every other method does so by itself. */
  async connect(): Promise<ServerInfo> {
    const info = await this.#connection.ready().catch((error: unknown) => {
      throw new TaskClientError('unreachable', messageOf(error), { failure: failureKindOf(error), cause: error });
    });
    this.#description = info;
    return info;
  }

  /** Closes for good. With `keepSession` an HTTP server keeps the session, and its tasks, for a later client. */
  async disconnect(options: { keepSession?: boolean } = {}): Promise<void> {
    this.#following.leave();
    await this.#connection.close(options);
    this.#following.letGo();
    this.#tasks.clear();
    this.#description = undefined;
  }

  /** The session that an HTTP server of the older protocol knows us by. */
  get sessionId(): string | undefined {
    return this.#connection.sessionId;
  }

  /** Pings the server; returns the round trip in milliseconds. */
  async ping(): Promise<number> {
    const { traits } = await this.connect();
    const sent = performance.now();
    await this.request(traits.sessions ? 'ping' : 'server/discover');
    return performance.now() - sent;
  }

  /** Any request of the protocol; the result comes as the server gave it. */
  async request(
    method: string,
    params: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    return this.#request(method, params, { signal });
  }

  /** A whole list, through all its pages: `listAll('resources/list', 'resources')`. */
  async listAll(method: string, key: string): Promise<Record<string, unknown>[]> {
    return asTold(readAllPages(async (params) => this.request(method, params), method, key));
  }

  async listTools(): Promise<Tool[]> {
    return (await this.listAll('tools/list', 'tools')) as Tool[];
  }

  /** Calls a tool for its immediate result. Tools that only run as tasks need `callToolStream`. */
  async callTool(
    name: string,
    args: Record<string, unknown> = {},
    generalMetadata?: Record<string, unknown>,
    toolSpecificMetadata?: Record<string, unknown>,
    options: ToolCallOptions = {},
  ): Promise<ToolCallInvocation> {
    const metadata = { ...generalMetadata, ...toolSpecificMetadata };
    return this.#call({ toolName: name, params: args, metadata }, 'avoid', options, () => {});
  }

  /** Calls a tool, as a task where the server offers that. */
  callToolStream(
    name: string,
    args: Record<string, unknown> = {},
    generalMetadata?: Record<string, unknown>,
    toolSpecificMetadata?: Record<string, unknown>,
    options: ToolCallOptions = {},
  ): ToolCallStream {
    const metadata = { ...generalMetadata, ...toolSpecificMetadata };
    return toolCallStream(async (tell) => this.#call({ toolName: name, params: args, metadata }, 'use', options, tell));
  }

  /** Follows a task that the server keeps to its end, as `callToolStream` would have. */
  watchTask(taskId: string, options: Pick<ToolCallOptions, 'signal'> = {}): ToolCallStream {
    return toolCallStream(async (tell) => {
      await this.#requireOffer();
      const resume: StartCall = async (call) => this.#connection.resume(inTask({ taskId }), call);
      return this.#run({ toolName: '', params: {}, metadata: {} }, options.signal, tell, resume);
    });
  }

  async getTask(taskId: string): Promise<Task> {
    await this.#requireOffer();
    const task = await asTold(this.#ask('tasks/get', { taskId }).then((raw) => readServerTask(raw, 'tasks/get')));
    this.#tasks.changed(task);
    return task;
  }

  /** The result of a task, once it has ended. Aborting the signal ends the waiting, not the task. */
  async getTaskResult(taskId: string, signal?: AbortSignal): Promise<CallToolResult> {
    const followed = this.#following.byTask(taskId) ?? this.#followQuietly(taskId);
    const end = await this.#following.endOf(followed, signal);
    if (end.kind !== 'result') throw errorFrom(end);
    return this.#handOver(end.result) as CallToolResult;
  }

  async cancelTask(taskId: string): Promise<void> {
    const { cancel } = await this.#requireOffer();
    if (!cancel) throw new TaskClientError('refused', 'this server cannot cancel tasks');
    await this.#ask('tasks/cancel', { taskId });
    // A server may acknowledge a cancellation that came too late. A task that it does not know afterwards is cancelled.
    const task = await this.getTask(taskId).catch(() => undefined);
    if (task === undefined || task.status === 'cancelled') this.#tasks.cancelled(taskId);
  }

  async listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const { list } = await this.#requireOffer();
    if (!list) throw new TaskClientError('refused', 'this server does not list its tasks; ask for one by its id');
    const { tasks: listed, nextCursor } = await this.#ask('tasks/list', cursor === undefined ? {} : { cursor });
    const read = async (): Promise<Task[]> =>
      Array.isArray(listed) ? listed.map((task) => readServerTask(task, 'tasks/list')) : [];
    const tasks = await asTold(read());
    this.#tasks.listed(tasks);
    return { tasks, ...(typeof nextCursor === 'string' && { nextCursor }) };
  }

  /** The tasks that this client knows, with their last known status. */
  getClientTasks(): Task[] {
    return this.#tasks.all();
  }

  /** The task capabilities of the connected server; `undefined` if it has no tasks or is not connected. */
  getTaskCapabilities(): TaskCapabilities | undefined {
    const tasks = this.#description?.tasks;
    return tasks && { list: tasks.list, cancel: tasks.cancel };
  }

  #tell<K extends keyof TaskClientEvents>(type: K, detail: TaskClientEvents[K]): void {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  async #offer(): Promise<TaskOffer | undefined> {
    await this.connect();
    return (await this.#connection.channel.attempt()).offer;
  }

  async #requireOffer(): Promise<TaskOffer> {
    const offer = await this.#offer();
    if (offer === undefined) throw new TaskClientError('refused', 'this server does not support tasks');
    return offer;
  }

  /** A request about tasks. */
  async #ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { pollTimeoutMs: timeoutMs } = this.#connection.channel;
    return this.#request(method, params, { timeoutMs });
  }

  async #request(
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    try {
      return this.#handOver(await this.#connection.channel.request(method, params, options));
    } catch (error) {
      throw requestError(error, options.signal);
    }
  }

  async #call(
    invoked: Invoked,
    tasks: OutgoingCall['tasks'],
    { signal, taskTtlMs }: ToolCallOptions,
    tell: (message: ToolCallMessage) => void,
  ): Promise<ToolCallInvocation> {
    return this.#run(invoked, signal, tell, async (call) => {
      await unlessCancelled(call.signal, this.connect());
      if (tasks === 'avoid') await this.#refuseTaskOnly(call.tool, call.signal);
      const ttl = taskTtlMs === undefined ? {} : { taskTtlMs };
      return this.#connection.call({ ...call, meta: invoked.metadata, tasks, ...ttl });
    });
  }

  async #refuseTaskOnly(toolName: string, signal: StopSignal): Promise<void> {
    await this.connect();
    const attempt = await this.#connection.channel.attempt();
    if (attempt.offer?.generation !== 'core') return;
    // A server that does not list its tools may still have them.
    const support = await attempt.taskSupport(toolName, signal).catch(() => 'forbidden');
    if (support !== 'required') return;
    throw new TaskClientError('refused', `'${toolName}' only runs as a task: call it with callToolStream`);
  }

  async #run(
    { metadata, ...invoked }: Invoked,
    signal: AbortSignal | undefined,
    tell: (message: ToolCallMessage) => void,
    start: StartCall,
  ): Promise<ToolCallInvocation> {
    const begun = { ...invoked, timestamp: new Date(), ...(Object.keys(metadata).length > 0 && { metadata }) };
    const running: Running = { ...invoked, stop: new AbortController() };
    const forget = whenAborted(signal, () => running.stop.abort(signal?.reason));
    const onTask = (task: Task): void => this.#taskChanged(running, task, tell);
    const { end } = this.#following.begin(running, false, { onTask, onProgress: this.#progressOf(running) }, start);
    const ended = await end.finally(forget);
    return this.#ended(ended, { ...begun, ...taskIdOf(running) }, tell);
  }

  /** Follows a task only for its result: emits no events except questions. */
  #followQuietly(taskId: string): Followed {
    const running: Running = { toolName: '', params: {}, taskId, stop: new AbortController() };
    const onTask = (task: Task): void => this.#tasks.note(task);
    return this.#following.begin(running, true, { onTask, onProgress: this.#progressOf(running) }, async (call) => {
      await this.#requireOffer();
      return this.#connection.resume(inTask({ taskId }), call);
    });
  }

  #ended(
    end: End,
    begun: Omit<ToolCallInvocation, 'result' | 'success' | 'error'>,
    tell: (message: ToolCallMessage) => void,
  ): ToolCallInvocation {
    const { taskId } = begun;
    if (end.kind === 'result') {
      const result = this.#handOver(end.result) as CallToolResult;
      const invocation = { ...begun, result, success: result.isError !== true };
      tell({ type: 'result', result });
      if (taskId !== undefined) this.#tell('taskCompleted', { taskId, result });
      this.#tell('toolCallResultChange', invocation);
      return invocation;
    }
    const error = errorFrom(end);
    if (taskId !== undefined) {
      if (error.kind === 'cancelled') this.#tasks.cancelled(taskId);
      else if (!this.#following.left) this.#tell('taskFailed', { taskId, error });
    }
    this.#tell('toolCallResultChange', { ...begun, result: null, success: false, error: error.message });
    throw error;
  }

  #taskChanged(running: Running, task: Task, tell: (message: ToolCallMessage) => void): void {
    if (running.taskId === undefined) {
      running.taskId = task.taskId;
      tell({ type: 'taskCreated', task });
      this.#tasks.created(task);
      return;
    }
    tell({ type: 'taskStatus', task });
    this.#tasks.changed(task);
  }

  #progressOf(running: Running): (progress: Progress) => void {
    return (progress) =>
      this.#tell('progressNotification', {
        toolName: running.toolName,
        ...inNumbers(progress),
        ...taskIdOf(running),
      });
  }

  #sink(): ConnectionSink {
    return {
      connected: (arrival) => this.#tell('connected', { arrival }),
      lost: (reason) => {
        // Tasks that are followed are kept: they will be polled again.
        this.#tasks.forgetUnless((taskId) => this.#following.byTask(taskId) !== undefined);
        this.#tell('disconnected', { reason });
      },
      notification: (method, params) => this.#tell('notification', { method, params: this.#handOver(params) }),
      log: (entry) => this.#tell('log', this.#handOver(entry)),
      taskProgress: (taskId, progress) => {
        if (this.#tasks.has(taskId))
          this.#tell('progressNotification', { toolName: '', ...inNumbers(progress), taskId });
      },
      question: async (question) => this.#asked(question),
    };
  }

  async #asked(question: IncomingQuestion): Promise<Answer> {
    // It works in no folders; an empty list is the truth.
    if (question.kind === 'roots') return { roots: [] };
    if (!this.#answers[question.kind]) throw new Error(`this client does not answer ${question.kind} requests`);
    const running = question.callId === undefined ? undefined : this.#following.byCall(question.callId);
    const params = this.#handOver(question.params);
    return askListeners({ ...question, params }, running, (type, detail) => this.#tell(type, detail));
  }
}

function inNumbers({ progress, total, ...more }: Progress): Pick<ProgressDetail, 'progress' | 'total'> {
  const all = total === undefined ? {} : { total: nearestNumber(total) };
  return { ...more, progress: nearestNumber(progress) ?? 0, ...all };
}

const taskIdOf = ({ taskId }: Running): { taskId?: string } => (taskId === undefined ? {} : { taskId });

/** The server in words; its address may hold secrets. */
function placeOf(server: ServerConfig): string {
  if ('command' in server) return server.command;
  return URL.canParse(server.url) ? new URL(server.url).host : 'the server';
}
