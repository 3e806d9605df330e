import type { CoreSettings } from '../core/settings.ts';
import type { Answer, Interaction, InteractionKind } from '../core/interaction/interaction.ts';
import type { TaskStart } from '../core/task/book.ts';
import type { CallResult, Task, TaskError } from '../core/task/task.ts';
import type { LogFormat, LogLevel } from '../lib/log.ts';

export interface ContentBlock {
  type: string;
  [field: string]: unknown;
}

export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  [field: string]: unknown;
}

export interface Elicitation {
  message: string;
  /** JSON Schema of the form. Answers that do not match it are refused before they reach the handler. */
  requestedSchema?: Record<string, unknown>;
  /** `url` sends the user to a web page instead of a form. */
  mode?: 'form' | 'url';
  url?: string;
  [field: string]: unknown;
}

/** `content` is the completed form; it is empty if the question had no form. */
export type ElicitResult<Content = Record<string, unknown>> =
  | { action: 'accept'; content: Content; _meta?: Record<string, unknown> }
  | { action: 'decline' | 'cancel'; content?: undefined; _meta?: Record<string, unknown> };

export interface SamplingRequest {
  messages: { role: 'user' | 'assistant'; content: unknown }[];
  maxTokens: number;
  [field: string]: unknown;
}

export interface SamplingResult {
  role: 'user' | 'assistant';
  content: unknown;
  model: string;
  [field: string]: unknown;
}

/** A running call, as its handler sees it. */
export interface RunningTask {
  /** Aborted when the result is no longer needed: the call was cancelled or timed out, or the server closes. */
  readonly signal: AbortSignal;
  /** Reports progress to clients that wait for the call or look at its task. */
  progress(progress: number, total?: number, message?: string): void;
  /** Asks the user of the client. Rejects with a `QuestionError` if there will be no answer. */
  elicit<Content = Record<string, unknown>>(question: Elicitation): Promise<ElicitResult<Content>>;
  /** Asks the model of the client. Rejects with a `QuestionError` if there will be no answer. */
  sample(request: SamplingRequest): Promise<SamplingResult>;
}

/** A string is a result with that text; a task stands for its later result. */
export type ToolOutcome = CallToolResult | string | { task: Pick<Task, 'id'> };

export interface ToolDefinition {
  title?: string;
  description?: string;
  /** JSON Schema of an object. `run` is not called with arguments that do not match it. */
  inputSchema?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  /**
   * After a restart of the program, `run` is called again for the tasks that were interrupted. Questions that it asks again
   * in the same order get the earlier answers.
   */
  repeatable?: boolean;
  // A method, so that an implementation may declare a narrower type for `args`.
  run(args: Record<string, unknown>, task: RunningTask): Promise<ToolOutcome> | ToolOutcome;
}

/** Receives the params of a request and returns its result. */
export type RequestHandler = (
  params: Record<string, unknown>,
  request: { signal: AbortSignal },
) => Promise<Record<string, unknown>> | Record<string, unknown>;

/** The same settings as in the config file of the gateway; some have other defaults. */
export type ServerSettings = { [Group in keyof CoreSettings]?: Partial<CoreSettings[Group]> } & {
  direct?: { taskAfterMs?: number };
  logLevel?: LogLevel;
  logFormat?: LogFormat;
};

export interface TaskServerOptions {
  name: string;
  version: string;
  title?: string;
  instructions?: string;
  tools: Record<string, ToolDefinition>;
  /** Other requests by their method, such as `resources/list` and `resources/read`. */
  requests?: Record<string, RequestHandler>;
  /** The file that stores tasks and questions, or `:memory:` (the default). */
  store?: string;
  /** Instead of `store`: the controller of the tasks that tools return; its store is used. */
  tasks?: AppTaskController;
  settings?: ServerSettings;
}

export interface ListenOptions {
  /** Default: any free port. */
  port?: number;
  /** Default: `127.0.0.1`. A host that others can reach needs `tokens`. */
  host?: string;
  /** Bearer tokens by the name of their owner. Each task belongs to the owner of the token that created it. */
  tokens?: Record<string, string>;
  /** Values of the `Host` header to accept, besides the local ones. */
  allowedHosts?: string[];
  /** Values of the `Origin` header to accept, besides the local ones. */
  allowedOrigins?: string[];
}

export interface TaskServer {
  /** Serves clients over HTTP. Resolves with the URL. */
  listen(options?: ListenOptions): Promise<string>;
  /** Serves the client on standard input and output. Resolves when it disconnects. */
  stdio(): Promise<void>;
  /** Releases ports, connections and the store. Repeatable tasks continue when the program starts again. */
  close(): Promise<void>;
}

export interface AppTaskStart extends Omit<TaskStart, 'server' | 'program' | 'promised' | 'abandoned'> {
  server?: string;
}

/**
 * Task API shared by the endpoints that expose tasks and the code that works on them. A promise resolves after the change is
 * stored.
 */
export interface TaskController {
  create(start: TaskStart): Promise<Task>;
  get(taskId: string): Task | undefined;
  list(): Task[];
  /** Sets the status message. */
  report(taskId: string, message: string): void;
  /** Queues a question; resolves with the answer, and rejects when there will be none. */
  ask(taskId: string, question: TaskQuestion): Promise<Answer>;
  /** The open questions of the task. */
  questions(taskId: string): Interaction[];
  /** Answers a question; one that does not fit is refused, and the question stays open. */
  answer(question: Interaction, answer: unknown): Promise<void>;
  /** `false` when the task had ended already: of two ends the first counts. */
  complete(taskId: string, result: CallResult): Promise<boolean>;
  fail(taskId: string, error: TaskError): Promise<boolean>;
  /** Stops the work, too. `undefined` when the task had ended already. */
  cancel(taskId: string, reason: string): Promise<Task | undefined>;
  /** Waits until `wanted` holds, the signal is aborted, or the time is up. */
  until(taskId: string, wanted: (task: Task) => boolean, options?: Waiting): Promise<Task>;
  /** Calls back on every change, until the returned function is called. */
  watch(watcher: (task: Task) => void): () => void;
}

export interface TaskQuestion {
  kind: InteractionKind;
  /** Those of `elicitation/create` or `sampling/createMessage`. */
  params: Record<string, unknown>;
  /** Asked again under the same key, it is the same question. */
  key?: string;
  /** Aborted to withdraw the question. */
  signal?: AbortSignal;
}

export interface Waiting {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Tasks of an application: tools create them, and other parts of the program work on them. */
export interface AppTaskController extends TaskController {
  create(start: AppTaskStart): Promise<Task>;
  /** Calls `watcher` for each new task and each change, until the returned function is called. */
  watch(watcher: (task: Task) => void): () => void;
  /** Close the server that uses it first. Stored tasks are kept. */
  close(): Promise<void>;
}

export interface TaskControllerOptions {
  /** A file, or `:memory:` (the default). */
  store?: string;
  settings?: Pick<ServerSettings, 'tasks' | 'questions' | 'logLevel'>;
}
