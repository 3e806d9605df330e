import {
  LEAVE_RUNNING,
  type CallOutcome,
  type ConnectionSink,
  type IncomingQuestion,
  type OutgoingCall,
  type Progress,
  type ServerConfig,
  type ServerInfo,
} from '../core/ports.ts';
import type { Answer, QuestionKind } from '../core/question/question.ts';
import { secretId } from '../lib/ids.ts';
import { createLog, messageOf } from '../lib/log.ts';
import { readAllPages } from '../lib/pages.ts';
import { VERSION } from '../lib/version.ts';
import { ServerConnection } from '../south/connection.ts';
import { Dialler } from '../south/dial.ts';
import type { SendOptions } from '../south/send.ts';
import { hasEnded, readServerTask, relatedTask, type TaskOffer } from '../south/server-task.ts';
import { unlessAborted, whenAborted } from './abort.ts';
import { errorFrom, requestError, TaskClientError } from './error.ts';
import { pendingElicitation, pendingSample } from './pending.ts';
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
} from './types.ts';
import { typedEventTarget } from './typed-event-target.ts';

export interface TaskClientOptions {
  name?: string | undefined;
  version?: string | undefined;
  connectTimeoutMs?: number | undefined;
  /** How long a server may take to tell how its own task is doing; three times in a row ends the call. */
  pollTimeoutMs?: number | undefined;
  /** How often a lost connection is made anew before what runs on it is given up. */
  reconnectAttempts?: number | undefined;
  /** A session with an HTTP server that was left with `disconnect({ keepSession: true })`. */
  sessionId?: string | undefined;
  /** Somebody listens to `newPendingElicitation` and answers. */
  elicitation?: boolean | undefined;
  /** Somebody listens to `newPendingSample` and answers. */
  sampling?: boolean | undefined;
}

type End = CallOutcome | TaskClientError;

/** What is known of a call that runs, or of a task that is followed. */
interface Running {
  readonly toolName: string;
  readonly params: Record<string, unknown>;
  taskId?: string;
  /** Aborted to cancel it, or to leave it running. */
  readonly stop: AbortController;
}

/** One whose end several may wait for. */
interface Followed extends Running {
  readonly end: Promise<End>;
  /** Nobody wants to hear of it but those who wait for its result. */
  readonly quiet: boolean;
  waiting: number;
}

/**
 * A client for one MCP server of either era, that takes the long calls and the questions as they come: it uses the tasks of
 * servers that have them, in both generations, answers with events, and comes back to its tasks after a lost connection.
 */
export class TaskClient extends typedEventTarget<TaskClientEvents>() {
  readonly #connection: ServerConnection;
  readonly #tasks = new Map<string, Task>();
  readonly #running = new Map<string, Followed>();
  /** Tasks of which it was told that they are cancelled. */
  readonly #cancelled = new Set<string>();
  /** What was declared to the server: it must not ask anything else. */
  readonly #answers: Record<QuestionKind, boolean>;
  #description: ServerInfo | undefined;
  /** Somebody has disconnected it: what ends from now on need not have ended on the server. */
  #left = false;

  constructor(server: ServerConfig, options: TaskClientOptions = {}) {
    super();
    const { name = 'meanwhile-client', version = VERSION, elicitation = false, sampling = false } = options;
    const { connectTimeoutMs = 30_000, pollTimeoutMs = 30_000, reconnectAttempts = 10, sessionId } = options;
    this.#answers = { elicitation, sampling, roots: false };
    this.#connection = new ServerConnection(
      placeOf(server),
      server,
      this.#sink(),
      new Dialler(connectTimeoutMs, { name, version, elicitation, sampling }),
      {
        connectTimeoutMs,
        pollTimeoutMs,
        pingMs: 30_000,
        persistent: false,
        reconnect: { firstMs: 1000, factor: 2, maxMs: 60_000, stableMs: 10_000, attempts: reconnectAttempts },
        ...(sessionId !== undefined && { sessionId }),
      },
      createLog('silent'),
    );
  }

  /** Connects unless connected. Every other method does so by itself. */
  async connect(): Promise<ServerInfo> {
    const info = await this.#connection.ready().catch((error: unknown) => {
      throw new TaskClientError('unreachable', messageOf(error));
    });
    this.#description = info;
    return info;
  }

  /** Closes for good. With `keepSession` an HTTP server keeps the session, and its tasks, for a later client. */
  async disconnect(options: { keepSession?: boolean } = {}): Promise<void> {
    this.#left = true;
    await this.#connection.close(options);
    // What the server keeps goes on there; only nobody follows it any more.
    for (const { stop } of this.#running.values()) stop.abort(LEAVE_RUNNING);
    this.#tasks.clear();
    this.#cancelled.clear();
    this.#description = undefined;
  }

  /** The session that an HTTP server of the older protocol knows us by. */
  get sessionId(): string | undefined {
    return this.#connection.sessionId;
  }

  /** Asks whether the server is there, and tells how long the answer took in milliseconds. */
  async ping(): Promise<number> {
    const { era } = await this.connect();
    const sent = performance.now();
    await this.request(era === 'modern' ? 'server/discover' : 'ping');
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
    return this.#call(name, args, metadata, 'avoid', options, () => {});
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
    return toolCallStream(async (tell) => this.#call(name, args, metadata, 'use', options, tell));
  }

  /** Follows a task that the server keeps to its end, as `callToolStream` would have. */
  watchTask(taskId: string, options: Pick<ToolCallOptions, 'signal'> = {}): ToolCallStream {
    return toolCallStream(async (tell) => {
      await this.#requireOffer();
      return this.#run('', {}, {}, options.signal, tell, async (call) =>
        this.#connection.resume({ task: { taskId } }, call),
      );
    });
  }

  async getTask(taskId: string): Promise<Task> {
    await this.#requireOffer();
    const task = await asTold(this.#ask('tasks/get', { taskId }).then((raw) => readServerTask(raw, 'tasks/get')));
    this.#remember(task);
    return task;
  }

  /** The result of a task, once it has ended. Aborting the signal ends the waiting, not the task. */
  async getTaskResult(taskId: string, signal?: AbortSignal): Promise<CallToolResult> {
    const followed = this.#followed(taskId) ?? this.#followQuietly(taskId);
    followed.waiting += 1;
    try {
      const end = await unlessAborted(signal, followed.end);
      if (end.kind !== 'result') throw errorFrom(end);
      return end.result as CallToolResult;
    } finally {
      followed.waiting -= 1;
      if (followed.quiet && followed.waiting === 0) followed.stop.abort(LEAVE_RUNNING);
    }
  }

  async cancelTask(taskId: string): Promise<void> {
    const { cancel } = await this.#requireOffer();
    if (!cancel) throw new TaskClientError('refused', 'this server cannot cancel tasks');
    await this.#ask('tasks/cancel', { taskId });
    // Servers may acknowledge a cancel that came too late; one that forgets the task with it has cancelled it.
    const task = await this.getTask(taskId).catch(() => undefined);
    if (task === undefined || task.status === 'cancelled') this.#tellCancelled(taskId);
  }

  async listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const { list } = await this.#requireOffer();
    if (!list) throw new TaskClientError('refused', 'this server does not list its tasks; ask for one by its id');
    const { tasks: listed, nextCursor } = await this.#ask('tasks/list', cursor === undefined ? {} : { cursor });
    const read = async (): Promise<Task[]> =>
      Array.isArray(listed) ? listed.map((task) => readServerTask(task, 'tasks/list')) : [];
    const tasks = await asTold(read());
    for (const task of tasks) this.#tasks.set(task.taskId, task);
    this.#tell('tasksChange', tasks);
    return { tasks, ...(typeof nextCursor === 'string' && { nextCursor }) };
  }

  /** The tasks that this client knows of, as they were when it last heard of them. */
  getClientTasks(): Task[] {
    return [...this.#tasks.values()];
  }

  /** What the connected server offers, or `undefined` if it keeps no tasks or is not connected. */
  getTaskCapabilities(): TaskCapabilities | undefined {
    const tasks = this.#description?.tasks;
    return tasks && { list: tasks.list, cancel: tasks.cancel };
  }

  #tell<K extends keyof TaskClientEvents>(type: K, detail: TaskClientEvents[K]): void {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  async #offer(): Promise<TaskOffer | undefined> {
    await this.connect();
    return this.#connection.line.taskOffer();
  }

  async #requireOffer(): Promise<TaskOffer> {
    const offer = await this.#offer();
    if (offer === undefined) throw new TaskClientError('refused', 'this server keeps no tasks');
    return offer;
  }

  /** A request about tasks. */
  async #ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { pollTimeoutMs: timeoutMs } = this.#connection.line;
    return this.#request(method, params, { timeoutMs });
  }

  async #request(
    method: string,
    params: Record<string, unknown>,
    options: SendOptions,
  ): Promise<Record<string, unknown>> {
    try {
      return await this.#connection.line.request(method, params, options);
    } catch (error) {
      throw requestError(error, options.signal);
    }
  }

  async #call(
    toolName: string,
    args: Record<string, unknown>,
    metadata: Record<string, unknown>,
    tasks: OutgoingCall['tasks'],
    { signal, taskTtlMs }: ToolCallOptions,
    tell: (message: ToolCallMessage) => void,
  ): Promise<ToolCallInvocation> {
    const call = { tool: toolName, args, meta: metadata, tasks, ...(taskTtlMs !== undefined && { taskTtlMs }) };
    return this.#run(toolName, args, metadata, signal, tell, async (base) => {
      await unlessAborted(base.signal, this.connect());
      if (tasks === 'avoid') await this.#refuseTaskOnly(toolName, base.signal);
      return this.#connection.call({ ...base, ...call });
    });
  }

  async #refuseTaskOnly(toolName: string, signal: AbortSignal): Promise<void> {
    const { line } = this.#connection;
    if ((await this.#offer())?.generation !== 'core') return;
    // One that does not tell of its tools may still have them.
    const support = await line.taskSupport(toolName, signal).catch(() => 'forbidden');
    if (support !== 'required') return;
    throw new TaskClientError('refused', `'${toolName}' only runs as a task: call it with callToolStream`);
  }

  async #run(
    toolName: string,
    params: Record<string, unknown>,
    metadata: Record<string, unknown>,
    signal: AbortSignal | undefined,
    tell: (message: ToolCallMessage) => void,
    start: (call: OutgoingCall) => Promise<CallOutcome>,
  ): Promise<ToolCallInvocation> {
    const timestamp = new Date();
    const running: Running = { toolName, params, stop: new AbortController() };
    const { stop } = running;
    const forget = whenAborted(signal, () => stop.abort(signal?.reason));
    const { end } = this.#follow(running, false, (task) => this.#taskChanged(running, task, tell), start);
    const about = {
      toolName,
      params,
      timestamp,
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
    return this.#ended(await end.finally(forget), about, running, tell);
  }

  /** Starts something and keeps track of it until it has ended. */
  #follow(
    running: Running,
    quiet: boolean,
    onTask: (task: Task) => void,
    start: (call: OutgoingCall) => Promise<CallOutcome>,
  ): Followed {
    const id = secretId();
    const late = this.#left;
    const { toolName: tool, params: args, stop } = running;
    const onProgress = (progress: Progress): void => this.#progressed(running, progress);
    // A client that ends has nobody to go on.
    const onStanding = async (): Promise<void> => {};
    const end = start({ id, tool, args, tasks: 'use', signal: stop.signal, onProgress, onTask, onStanding })
      .catch((error: unknown) => requestError(error, undefined))
      .then((ended) => this.#explained(ended, stop.signal, late))
      .finally(() => this.#running.delete(id));
    const followed: Followed = Object.assign(running, { end, quiet, waiting: 0 });
    this.#running.set(id, followed);
    return followed;
  }

  /** Says of what was stopped why. */
  #explained(end: End, { aborted, reason }: AbortSignal, late: boolean): End {
    if (end.kind === 'result') return end;
    if (aborted && reason !== LEAVE_RUNNING) return new TaskClientError('cancelled', 'the call was cancelled');
    const gone = aborted || end.kind === 'lost' || end.kind === 'unreachable';
    return gone && this.#left && !late ? new TaskClientError('lost', 'disconnected before the end') : end;
  }

  #followed(taskId: string): Followed | undefined {
    return [...this.#running.values()].find((each) => each.taskId === taskId && !each.stop.signal.aborted);
  }

  /** Follows a task for its result alone: nothing is told but what the task asks. */
  #followQuietly(taskId: string): Followed {
    const running: Running = { toolName: '', params: {}, taskId, stop: new AbortController() };
    const onTask = (task: Task): void => void this.#tasks.set(taskId, task);
    return this.#follow(running, true, onTask, async (call) => {
      await this.#requireOffer();
      return this.#connection.resume({ task: { taskId } }, call);
    });
  }

  #ended(
    end: End,
    { timestamp, ...rest }: Omit<ToolCallInvocation, 'result' | 'success' | 'error' | 'taskId'>,
    { taskId }: Running,
    tell: (message: ToolCallMessage) => void,
  ): ToolCallInvocation {
    const about = { ...rest, timestamp, ...(taskId !== undefined && { taskId }) };
    if (end.kind === 'result') {
      const result = end.result as CallToolResult;
      const invocation = { ...about, result, success: result.isError !== true };
      tell({ type: 'result', result });
      if (taskId !== undefined) this.#tell('taskCompleted', { taskId, result });
      this.#tell('toolCallResultChange', invocation);
      return invocation;
    }
    const error = errorFrom(end);
    if (taskId !== undefined) {
      if (error.kind === 'cancelled') this.#tellCancelled(taskId);
      else if (!this.#left) this.#tell('taskFailed', { taskId, error });
    }
    this.#tell('toolCallResultChange', { ...about, result: null, success: false, error: error.message });
    throw error;
  }

  /** Once for each task, whoever cancelled it. */
  #tellCancelled(taskId: string): void {
    if (this.#cancelled.has(taskId)) return;
    this.#cancelled.add(taskId);
    const known = this.#tasks.get(taskId);
    if (known !== undefined && !hasEnded(known)) this.#tasks.set(taskId, { ...known, status: 'cancelled' });
    this.#tell('taskCancelled', { taskId });
  }

  #taskChanged(running: Running, task: Task, tell: (message: ToolCallMessage) => void): void {
    if (running.taskId === undefined) {
      running.taskId = task.taskId;
      this.#tasks.set(task.taskId, task);
      tell({ type: 'taskCreated', task });
      this.#tell('taskCreated', { taskId: task.taskId, task });
      return;
    }
    tell({ type: 'taskStatus', task });
    this.#remember(task);
  }

  #remember(task: Task): void {
    this.#tasks.set(task.taskId, task);
    this.#tell('taskStatusChange', { taskId: task.taskId, task });
  }

  #progressed({ toolName, taskId }: Running, progress: Progress): void {
    this.#tell('progressNotification', { toolName, ...progress, ...(taskId !== undefined && { taskId }) });
  }

  #sink(): ConnectionSink {
    return {
      connected: (arrival) => this.#tell('connected', { arrival }),
      lost: (reason) => {
        // Those that are followed will be followed again.
        for (const taskId of this.#tasks.keys()) if (!this.#followed(taskId)) this.#tasks.delete(taskId);
        this.#tell('disconnected', { reason });
      },
      notification: (method, params) => this.#tell('notification', { method, params }),
      log: (entry) => this.#tell('log', entry),
      question: async (question) => this.#asked(question),
    };
  }

  async #asked(question: IncomingQuestion): Promise<Answer> {
    // It works in no folders; an empty list is the truth.
    if (question.kind === 'roots') return { roots: [] };
    if (!this.#answers[question.kind]) throw new Error(`this client answers no ${question.kind} requests`);
    const running = question.callId === undefined ? undefined : this.#running.get(question.callId);
    const taskId = relatedTask(question.params) ?? running?.taskId;
    const asked = running === undefined ? question : { ...question, withdrawn: untilCancelled(question, running) };
    if (question.kind === 'elicitation') {
      const { pending, answer } = pendingElicitation(asked, taskId);
      this.#tell('newPendingElicitation', pending);
      return answer;
    }
    const { pending, answer } = pendingSample(asked, taskId);
    this.#tell('newPendingSample', pending);
    return answer;
  }
}

/** Aborted when the server withdraws the question, or when the call that asks it is cancelled and nobody needs the answer. */
function untilCancelled({ withdrawn }: IncomingQuestion, { stop }: Running): AbortSignal {
  const over = new AbortController();
  whenAborted(withdrawn, () => over.abort(withdrawn.reason));
  whenAborted(stop.signal, () => {
    // One that is only left goes on to wait for it.
    if (stop.signal.reason !== LEAVE_RUNNING) over.abort(stop.signal.reason);
  });
  return over.signal;
}

/** The server in words; its address may hold secrets. */
function placeOf(server: ServerConfig): string {
  if ('command' in server) return server.command;
  return URL.canParse(server.url) ? new URL(server.url).host : 'the server';
}

/** Errors as this client tells them. */
async function asTold<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw requestError(error, undefined);
  });
}
