import type { CoreSettings } from '../core/settings.ts';
import type { TaskController } from '../core/task/controller.ts';
import type { TaskStart } from '../core/task/book.ts';
import type { Task } from '../core/task/task.ts';
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
  /** The form that the answer has to fit: one that does not is refused before it gets here. */
  requestedSchema?: Record<string, unknown>;
  /** `url` sends the person to a page instead. */
  mode?: 'form' | 'url';
  url?: string;
  [field: string]: unknown;
}

/** `content` is the filled-in form, and empty where there was none. */
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

/** One call at work, as its handler sees it. */
export interface RunningTask {
  /** Aborted when the result is not wanted any more: cancelled, out of time, or the server closes. */
  readonly signal: AbortSignal;
  /** How far it is; a client that waits, or looks at the task, sees it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Asks the person behind the client. Rejects with a `QuestionError` when there will be no answer. */
  elicit<Content = Record<string, unknown>>(question: Elicitation): Promise<ElicitResult<Content>>;
  /** Asks the model of the client. Rejects with a `QuestionError` when there will be no answer. */
  sample(request: SamplingRequest): Promise<SamplingResult>;
}

/** A text stands for a result that is that text; a task for whatever becomes of it. */
export type ToolOutcome = CallToolResult | string | { task: Pick<Task, 'id'> };

export interface ToolDefinition {
  title?: string;
  description?: string;
  /** A JSON Schema of an object. Arguments that do not fit do not get to `run`. */
  inputSchema?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  /**
   * After a restart of the program `run` is called once more for the tasks that were cut off. What it asks again in the same
   * order has the answers that were given before.
   */
  repeatable?: boolean;
  // A method, so that `args` can have the type that the schema promises.
  run(args: Record<string, unknown>, task: RunningTask): Promise<ToolOutcome> | ToolOutcome;
}

/** Answers a request as it came, with its result. */
export type RequestHandler = (
  params: Record<string, unknown>,
  request: { signal: AbortSignal },
) => Promise<Record<string, unknown>> | Record<string, unknown>;

/** The settings of the gateway, as its configuration file has them; a few have other defaults here. */
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
  /** The file that keeps what must survive, or `:memory:` (the default). */
  store?: string;
  /** In place of `store`: the tasks that tools return, and the store that these are in. */
  tasks?: AppTaskController;
  settings?: ServerSettings;
}

export interface ListenOptions {
  /** Any free one unless given. */
  port?: number;
  /** `127.0.0.1` unless given; any other than a local one needs tokens. */
  host?: string;
  /** Bearer tokens by the name of who has it. Tasks belong to who made them. */
  tokens?: Record<string, string>;
  /** Host names that requests may be addressed to, besides the local ones. */
  allowedHosts?: string[];
  /** Origins of web pages that may send requests, besides the local ones. */
  allowedOrigins?: string[];
}

export interface TaskServer {
  /** Serves clients over HTTP; resolves with the address. */
  listen(options?: ListenOptions): Promise<string>;
  /** Serves the one client on standard input and output; resolves when it has left. */
  stdio(): Promise<void>;
  /** Lets go of everything. Tasks that can go on do so when the program is started again. */
  close(): Promise<void>;
}

export interface AppTaskStart extends Omit<TaskStart, 'server' | 'program' | 'promised' | 'abandoned'> {
  server?: string;
}

/** The tasks of an application: what tools begin, and other parts of the program work on. */
export interface AppTaskController extends TaskController {
  create(start: AppTaskStart): Promise<Task>;
  /** Tells of every change and of every new task, until the returned function is called. */
  watch(watcher: (task: Task) => void): () => void;
  /** After the server that uses it. What is stored stays. */
  close(): Promise<void>;
}

export interface TaskControllerOptions {
  /** A file, or `:memory:` (the default). */
  store?: string;
  settings?: Pick<ServerSettings, 'tasks' | 'questions' | 'logLevel'>;
}
