import type { Call, Json } from './call.ts';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  /** Whether it runs as a task for those who can take one. */
  readonly task: 'never' | 'optional' | 'required';
  /** What it must have asked before it is a task. */
  prepare?(call: Call): Promise<Json>;
  run(args: Json, call: Call): Promise<Json>;
}

type Spec = Pick<Tool, 'name' | 'description' | 'run'> & Partial<Tool> & { input?: Record<string, Json> };

export function tool({ input, ...spec }: Spec): Tool {
  const required = input === undefined ? {} : { properties: input, required: Object.keys(input) };
  return { task: 'never', inputSchema: { type: 'object', ...required }, ...spec };
}

export const STRING: Json = { type: 'string' };
export const NUMBER: Json = { type: 'number' };
export const BOOLEAN: Json = { type: 'boolean' };

export function text(value: string): Json {
  return { content: [{ type: 'text', text: value }] };
}
