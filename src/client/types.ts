import type { ServerTask } from '../core/ports/connection.ts';
import type { TaskClientError } from './task-client-error.ts';

/** A task as in the 2025-11-25 protocol; tasks of the extension are converted to it. */
export type Task = ServerTask;

/** One block of a result; which fields it has depends on its type. */
export interface ContentBlock {
  type: string;
  /** Of a `text` block. */
  text?: string;
  /** Of an `image` or `audio` block, as base64. */
  data?: string;
  mimeType?: string;
  /** Of a `resource_link`. */
  uri?: string;
  /** Of a `resource` block. */
  resource?: { uri: string; mimeType?: string; text?: string; blob?: string };
  [key: string]: unknown;
}

export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  _meta?: Record<string, unknown>;
  [key: string]: unknown;
}

export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  execution?: { taskSupport?: 'forbidden' | 'optional' | 'required' };
  [key: string]: unknown;
}

/** One call of a tool, once it has ended. */
export interface ToolCallInvocation {
  toolName: string;
  params: Record<string, unknown>;
  /** `null` when there is none because the call failed. */
  result: CallToolResult | null;
  /** The server answered, and not with `isError`. */
  success: boolean;
  error?: string;
  timestamp: Date;
  metadata?: Record<string, unknown>;
  /** The task that the server kept for the call, if it did. */
  taskId?: string;
}

/** The messages of a call, in this order; a call without a task has only its result. */
export type ToolCallMessage =
  | { type: 'taskCreated'; task: Task }
  | { type: 'taskStatus'; task: Task }
  | { type: 'result'; result: CallToolResult };

/** A running call: await it for its end, or iterate over its messages. */
export type ToolCallStream = Promise<ToolCallInvocation> & AsyncIterable<ToolCallMessage>;

export interface ToolCallOptions {
  /** Aborted to cancel the call, on the server too. */
  signal?: AbortSignal;
  /** How long the server should keep a task it makes for the call. */
  taskTtlMs?: number;
}

export interface TaskCapabilities {
  list: boolean;
  cancel: boolean;
}

export interface ProgressDetail {
  toolName: string;
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
  taskId?: string;
}

export interface ElicitResult {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** A question of a server. The first answer counts. */
interface Pending {
  readonly id: string;
  /** The server's own parameters, untouched. */
  readonly params: Record<string, unknown>;
  /** The server's task that waits for the answer, when the server said so. */
  readonly taskId?: string;
  /** Aborted when the question has ended: answered, withdrawn by the server, or lost with the connection. */
  readonly over: AbortSignal;
}

export interface PendingElicitation extends Pending {
  readonly message: string;
  readonly mode: 'form' | 'url';
  /** The form that the answer has to fit (`mode: 'form'`). */
  readonly requestedSchema?: Record<string, unknown>;
  /** Where the person should go (`mode: 'url'`). */
  readonly url?: string;
  /** Throws, and leaves the question open, when the answer does not fit the form. */
  respond(answer: ElicitResult): void;
}

export interface PendingSample extends Pending {
  /** A `CreateMessageResult`: `model`, `role`, `content`. */
  respond(result: Record<string, unknown>): void;
  /** The person does not want it answered. */
  reject(reason: string): void;
}

/** The events of a `TaskClient`: name and `detail`. */
export interface TaskClientEvents {
  taskCreated: { taskId: string; task: Task };
  taskStatusChange: { taskId: string; task: Task };
  taskCompleted: { taskId: string; result: CallToolResult };
  taskFailed: { taskId: string; error: TaskClientError };
  taskCancelled: { taskId: string };
  /** The tasks that `listTasks` has just read. */
  tasksChange: Task[];
  toolCallResultChange: ToolCallInvocation;
  newPendingElicitation: PendingElicitation;
  newPendingSample: PendingSample;
  progressNotification: ProgressDetail;
  /** Any other notification of the server. */
  notification: { method: string; params: Record<string, unknown> };
  /** A log message of the server, or a line on its standard error. */
  log: { level: string; source: 'protocol' | 'stderr' | 'stdout'; logger?: string; data: unknown };
  connected: { arrival: 'first' | 'blip' | 'restart' };
  disconnected: { reason: string };
}
