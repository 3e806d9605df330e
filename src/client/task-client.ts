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
import type { Answer } from '../core/question/question.ts';
import { secretId } from '../lib/ids.ts';
import { createLog } from '../lib/log.ts';
import { readAllPages } from '../lib/pages.ts';
import { VERSION } from '../lib/version.ts';
import { ServerConnection } from '../south/connection.ts';
import { Dialler } from '../south/dial.ts';
import { readServerTask, relatedTask, type TaskOffer } from '../south/server-task.ts';
import { errorFrom, TaskClientError } from './error.ts';
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
  name?: string;
  version?: string;
  connectTimeoutMs?: number;
  /** How long a server may take to tell how its own task is doing; three times in a row ends the call. */
  pollTimeoutMs?: number;
  /** How often a lost connection is made anew before what runs on it is given up. */
  reconnectAttempts?: number;
  /** A session with an HTTP server that was left with `disconnect({ keepSession: true })`. */
  sessionId?: string;
  /** Somebody listens to `newPendingElicitation` and answers. */
  elicitation?: boolean;
  /** Somebody listens to `newPendingSample` and answers. */
  sampling?: boolean;
}

/** What is known of a call that runs. */
interface Running {
  toolName: string;
  taskId?: string;
}

/**
 * A client for one MCP server of either era, that takes the long calls and the questions as they come: it uses the tasks of
 * servers that have them, in both generations, answers with events, and comes back to its tasks after a lost connection.
 */
export class TaskClient extends typedEventTarget<TaskClientEvents>() {
  readonly #connection: ServerConnection;
  readonly #tasks = new Map<string, Task>();
  readonly #running = new Map<string, Running>();
  #description: ServerInfo | undefined;

  constructor(server: ServerConfig, options: TaskClientOptions = {}) {
    super();
    const { name = 'meanwhile-client', version = VERSION, elicitation = false, sampling = false } = options;
    const { connectTimeoutMs = 30_000, pollTimeoutMs = 30_000, reconnectAttempts = 10, sessionId } = options;
    this.#connection = new ServerConnection(
      name,
      server,
      this.#sink(),
      new Dialler(connectTimeoutMs, { name, version, elicitation, sampling }),
      {
        connectTimeoutMs,
        pollTimeoutMs,
        pingMs: 30_000,
        reconnect: { firstMs: 1000, factor: 2, maxMs: 60_000, stableMs: 10_000, attempts: reconnectAttempts },
        ...(sessionId !== undefined && { sessionId }),
      },
      createLog('silent'),
    );
  }

  /** Connects unless connected. Every other method does so by itself. */
  async connect(): Promise<ServerInfo> {
    const info = await this.#connection.ready().catch((error: unknown) => {
      throw new TaskClientError('unreachable', error instanceof Error ? error.message : String(error));
    });
    this.#description = info;
    return info;
  }

  /** Closes for good. With `keepSession` an HTTP server keeps the session, and its tasks, for a later client. */
  async disconnect(options: { keepSession?: boolean } = {}): Promise<void> {
    await this.#connection.close(options);
    this.#tasks.clear();
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
    return this.#connection.request(method, params, signal);
  }

  /** A whole list, through all its pages: `listAll('resources/list', 'resources')`. */
  async listAll(method: string, key: string): Promise<Record<string, unknown>[]> {
    return readAllPages(async (params) => this.request(method, params), method, key);
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
    const offer = await this.#offer();
    if (offer?.generation === 'core' && (await this.#connection.line.taskSupport(name)) === 'required') {
      throw new TaskClientError('refused', `'${name}' only runs as a task: call it with callToolStream`);
    }
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
      const toolName = '';
      return this.#run({ toolName }, {}, {}, options.signal, tell, (call) =>
        this.#connection.resume({ task: { taskId } }, { ...call, tasks: 'use' }),
      );
    });
  }

  async getTask(taskId: string): Promise<Task> {
    await this.#requireOffer();
    const task = readServerTask(await this.#ask('tasks/get', { taskId }), 'tasks/get');
    this.#remember(task);
    return task;
  }

  /** The result of a task, once it has ended. Aborting the signal ends the waiting, not the task. */
  async getTaskResult(taskId: string, signal?: AbortSignal): Promise<CallToolResult> {
    const leaving = new AbortController();
    const leave = (): void => leaving.abort(LEAVE_RUNNING);
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
    try {
      const { result } = await this.watchTask(taskId, { signal: leaving.signal });
      if (result === null) throw new TaskClientError('error', `the task '${taskId}' has no result`);
      return result;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  async cancelTask(taskId: string): Promise<void> {
    const { cancel } = await this.#requireOffer();
    if (!cancel) throw new TaskClientError('refused', 'this server cannot cancel tasks');
    await this.#ask('tasks/cancel', { taskId });
    this.#tell('taskCancelled', { taskId });
  }

  async listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const { list } = await this.#requireOffer();
    if (!list) throw new TaskClientError('refused', 'this server does not list its tasks; ask for one by its id');
    const { tasks: listed, nextCursor } = await this.#ask('tasks/list', cursor === undefined ? {} : { cursor });
    const tasks = Array.isArray(listed) ? listed.map((task) => readServerTask(task, 'tasks/list')) : [];
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

  /** A request about tasks; errors as this client tells them. */
  async #ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { pollTimeoutMs: timeoutMs } = this.#connection.line;
    return this.#connection.line.request(method, params, { timeoutMs });
  }

  async #call(
    toolName: string,
    args: Record<string, unknown>,
    metadata: Record<string, unknown>,
    tasks: OutgoingCall['tasks'],
    { signal, taskTtlMs }: ToolCallOptions,
    tell: (message: ToolCallMessage) => void,
  ): Promise<ToolCallInvocation> {
    await this.connect();
    const call = { tool: toolName, args, meta: metadata, tasks, ...(taskTtlMs !== undefined && { taskTtlMs }) };
    return this.#run({ toolName }, args, metadata, signal, tell, async (base) =>
      this.#connection.call({ ...base, ...call }),
    );
  }

  async #run(
    running: Running,
    params: Record<string, unknown>,
    metadata: Record<string, unknown>,
    signal: AbortSignal | undefined,
    tell: (message: ToolCallMessage) => void,
    start: (call: Omit<OutgoingCall, 'tasks'>) => Promise<CallOutcome>,
  ): Promise<ToolCallInvocation> {
    const timestamp = new Date();
    const id = secretId();
    this.#running.set(id, running);
    try {
      const outcome = await start({
        id,
        tool: running.toolName,
        args: params,
        signal: signal ?? new AbortController().signal,
        onProgress: (progress) => this.#progressed(running, progress),
        onTask: (task) => this.#taskChanged(running, task, tell),
        // A client that ends has nobody to go on.
        onStanding: async () => {},
      });
      const about = {
        toolName: running.toolName,
        params,
        timestamp,
        ...(Object.keys(metadata).length > 0 && { metadata }),
        ...(running.taskId !== undefined && { taskId: running.taskId }),
      };
      return this.#ended(outcome, about, signal, tell);
    } finally {
      this.#running.delete(id);
    }
  }

  #ended(
    outcome: CallOutcome,
    about: Omit<ToolCallInvocation, 'result' | 'success' | 'error'>,
    signal: AbortSignal | undefined,
    tell: (message: ToolCallMessage) => void,
  ): ToolCallInvocation {
    const { taskId } = about;
    if (outcome.kind === 'result') {
      const result = outcome.result as CallToolResult;
      const invocation = { ...about, result, success: result.isError !== true };
      tell({ type: 'result', result });
      if (taskId !== undefined) this.#tell('taskCompleted', { taskId, result });
      this.#tell('toolCallResultChange', invocation);
      return invocation;
    }
    const error = signal?.aborted ? new TaskClientError('cancelled', 'the call was cancelled') : errorFrom(outcome);
    if (taskId !== undefined) {
      if (error.kind === 'cancelled') this.#tell('taskCancelled', { taskId });
      else this.#tell('taskFailed', { taskId, error });
    }
    this.#tell('toolCallResultChange', { ...about, result: null, success: false, error: error.message });
    throw error;
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
        this.#tasks.clear();
        this.#tell('disconnected', { reason });
      },
      notification: (method, params) => this.#tell('notification', { method, params }),
      log: (entry) => this.#tell('log', entry),
      question: async (question) => this.#asked(question),
    };
  }

  async #asked(question: IncomingQuestion): Promise<Answer> {
    const running = question.callId === undefined ? undefined : this.#running.get(question.callId);
    const taskId = relatedTask(question.params) ?? running?.taskId;
    if (question.kind === 'elicitation') {
      const { pending, answer } = pendingElicitation(question, taskId);
      this.#tell('newPendingElicitation', pending);
      return answer;
    }
    const { pending, answer } = pendingSample(question, taskId);
    this.#tell('newPendingSample', pending);
    return answer;
  }
}
