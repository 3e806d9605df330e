import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ErrorCode, McpError, type Result, type Tool } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import type { V1Session, V1State } from './state.ts';

export interface ToolContext {
  readonly state: V1State;
  readonly session: V1Session;
  readonly extra: Parameters<NonNullable<Server['fallbackRequestHandler']>>[1];
  /** Ends this server as a crash would. */
  readonly crash: () => void;
}

export interface V1Tool {
  readonly definition: Tool;
  run(args: Record<string, unknown>, context: ToolContext): Promise<Result>;
}

interface ToolSpec<S extends z.ZodObject> extends Omit<Tool, 'inputSchema' | 'outputSchema'> {
  input: S;
  output?: z.ZodObject;
}

export function tool<S extends z.ZodObject>(
  { input, output, ...rest }: ToolSpec<S>,
  run: (args: z.infer<S>, context: ToolContext) => Promise<Result> | Result,
): V1Tool {
  return {
    definition: {
      ...rest,
      inputSchema: objectSchema(input),
      ...(output !== undefined && { outputSchema: objectSchema(output) }),
    },
    async run(args, context) {
      const parsed = input.safeParse(args);
      if (!parsed.success) throw new McpError(ErrorCode.InvalidParams, z.prettifyError(parsed.error));
      return run(parsed.data, context);
    },
  };
}

function objectSchema(schema: z.ZodObject): Tool['inputSchema'] {
  return { ...z.toJSONSchema(schema, { io: 'input' }), type: 'object' } as Tool['inputSchema'];
}

export function text(value: string): Result {
  return { content: [{ type: 'text', text: value }] };
}

export const milliseconds = z.number().int().min(0).max(3_600_000);
export const count = z.number().int().min(0).max(100_000);
