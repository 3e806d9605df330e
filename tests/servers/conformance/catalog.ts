/** What both servers answer to everything but `tools/call`. */
import { Fault, INVALID_PARAMS, METHOD_NOT_FOUND, type Call, type Json } from './call.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { readResource, RESOURCES, TEMPLATES } from './resources.ts';
import type { Tool } from './tool.ts';
import { ASKING_TOOLS } from './tools-asking.ts';
import { CONTENT_TOOLS } from './tools-content.ts';
import { TASK_TOOLS } from './tools-tasks.ts';

export const TOOLS: readonly Tool[] = [...CONTENT_TOOLS, ...ASKING_TOOLS, ...TASK_TOOLS];

export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

export const METHODS = [
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
];

export function findTool(name: unknown): Tool {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new Fault(INVALID_PARAMS, `Unknown tool: ${String(name)}`);
  return tool;
}

export interface Asked {
  readonly method: string;
  readonly params?: Json | undefined;
}

export async function answer({ method, params = {} }: Asked, call: Call, notFound: number): Promise<Json> {
  switch (method) {
    case 'resources/list':
      return { resources: RESOURCES };
    case 'resources/templates/list':
      return { resourceTemplates: TEMPLATES };
    case 'resources/read':
      return readResource(String(params['uri']), notFound);
    case 'prompts/list':
      return { prompts: listPrompts() };
    case 'prompts/get':
      return getPrompt(String(params['name']), (params['arguments'] ?? {}) as Record<string, string>, call);
    case 'completion/complete':
      return { completion: { values: [], total: 0, hasMore: false } };
    default:
      throw new Fault(METHOD_NOT_FOUND, `Method not found: ${method}`);
  }
}
