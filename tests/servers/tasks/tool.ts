/** The tools of the servers that keep tasks, told once for both generations of tasks. */
import type {
  CreateMessageRequestParamsBase,
  ElicitRequestFormParams,
  ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import type * as z from 'zod';

export type ToolResult = Record<string, unknown> & { content: Record<string, unknown>[] };

/** What a tool can do with the task that runs it. */
export interface Work {
  /** Aborted when the task was cancelled. */
  readonly signal: AbortSignal;
  /** Resolves when the test lets go of what is held. */
  readonly released: Promise<void>;
  /** The status message. */
  say(message: string): Promise<void>;
  /** A progress notification, where the protocol has one for tasks. */
  progress(progress: number, total: number, message: string): Promise<void>;
  elicit(params: ElicitRequestFormParams): Promise<ElicitResult>;
  sample(params: CreateMessageRequestParamsBase): Promise<object>;
}

export interface TaskTool {
  readonly name: string;
  readonly description: string;
  readonly taskSupport: 'optional' | 'required';
  readonly input: z.ZodObject;
  run(args: Record<string, unknown>, work: Work): Promise<ToolResult>;
}

/** Never a task. */
export interface PlainTool {
  readonly name: string;
  readonly description: string;
  readonly taskSupport: 'forbidden';
  readonly input: z.ZodObject;
  run(args: Record<string, unknown>, crash: () => void): Promise<ToolResult>;
}

/** An error that ends a task as a JSON-RPC error. */
export class ToolFault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function taskTool<S extends z.ZodObject>(
  spec: { name: string; description: string; input: S; taskSupport?: 'optional' | 'required' },
  run: (args: z.infer<S>, work: Work) => Promise<ToolResult>,
): TaskTool {
  return { taskSupport: 'optional', ...spec, run: async (args, work) => run(spec.input.parse(args), work) };
}

export function plainTool<S extends z.ZodObject>(
  spec: { name: string; description: string; input: S },
  run: (args: z.infer<S>, crash: () => void) => Promise<ToolResult> | ToolResult,
): PlainTool {
  return { taskSupport: 'forbidden', ...spec, run: async (args, crash) => run(spec.input.parse(args), crash) };
}

export function text(value: string): ToolResult {
  return { content: [{ type: 'text', text: value }] };
}
