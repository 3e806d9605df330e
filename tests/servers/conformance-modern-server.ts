/**
 * A server of the 2026-07-28 protocol alone, with everything that the conformance suite wants of a server of either era.
 * One per request over HTTP; the tasks are in the state.
 *
 * All handlers are registered with schemas of their own: results of the others are held to what the SDK knows of tools, and
 * an unknown method that reaches a fallback handler is not told in the HTTP status.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ToolResult } from './tasks/tool.ts';
import type { TasksV2State } from './tasks-v2/state.ts';
import type { ExtensionTask } from './tasks-v2/task.ts';
import { Fault, INVALID_PARAMS, type Call, type Json, type List } from './conformance/call.ts';
import { answer, CAPABILITIES, findTool, METHODS, TOOLS, type Asked } from './conformance/catalog.ts';
import { inTask } from './conformance/in-task.ts';
import { roundsOf, Unanswered } from './conformance/rounds.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const REQUIRED = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };
const ANYTHING = z.looseObject({});
const TASK_ID = z.looseObject({ taskId: z.string() });
const CACHING = { ttlMs: 300_000, cacheScope: 'public' };

export type Announce = (list: List, server: Server) => Promise<void>;

export function buildModernServer(state: TasksV2State, announce: Announce): Server {
  const server = new Server(
    { name: 'conformance-modern', version: '2.0.0' },
    { capabilities: { ...CAPABILITIES, extensions: { [EXTENSION]: {} } } },
  );
  server.onerror = (error) => void state.errors.push(error.message);
  serveTasks(server, state);
  const handle = async (request: Asked, context: ServerContext): Promise<Json> => {
    const call = await callOf(context, (list) => announce(list, server));
    try {
      if (request.method === 'tools/list') return { tools: definitions(), ...CACHING };
      if (request.method === 'tools/call') return await callTool(request, call, context, state);
      const result = await answer(request, call, INVALID_PARAMS);
      return /list$|read$/.test(request.method) ? { ...result, ...CACHING } : result;
    } catch (error) {
      if (error instanceof Unanswered) return error.result();
      throw error;
    }
  };
  for (const method of METHODS)
    server.setRequestHandler(method, { params: ANYTHING }, (params, context) => handle({ method, params }, context));
  return server;
}

function definitions(): Json[] {
  return TOOLS.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
}

async function callTool(
  { params = {} }: Asked,
  call: Call,
  context: ServerContext,
  state: TasksV2State,
): Promise<Json> {
  const tool = findTool(params['name']);
  const args = (params['arguments'] ?? {}) as Json;
  const takesTask = declaresTasks(context);
  if (tool.task === 'required' && !takesTask) throw new MissingRequiredClientCapabilityError(REQUIRED);
  const known = { ...args, ...(await tool.prepare?.(call)) };
  if (tool.task === 'never' || !takesTask) return tool.run(known, call);
  const task = state.begin(tool.name, async (work) => (await tool.run(known, inTask(call, work))) as ToolResult);
  return { resultType: 'task', ...task.summary() };
}

function serveTasks(server: Server, state: TasksV2State): void {
  const find = (taskId: string, context: ServerContext): ExtensionTask => {
    if (!declaresTasks(context)) throw new MissingRequiredClientCapabilityError(REQUIRED);
    const task = state.tasks.get(taskId);
    if (task === undefined) throw new Fault(INVALID_PARAMS, `Task not found: ${taskId}`);
    return task;
  };
  server.setRequestHandler('tasks/get', { params: TASK_ID }, ({ taskId }, context) => find(taskId, context).detailed());
  server.setRequestHandler('tasks/cancel', { params: TASK_ID }, ({ taskId }, context) => {
    find(taskId, context).cancel();
    return {};
  });
  server.setRequestHandler('tasks/update', { params: TASK_ID }, ({ taskId }, context) => {
    find(taskId, context).update(context.mcpReq.inputResponses ?? {});
    return {};
  });
}

function capabilitiesOf({ mcpReq }: ServerContext): Json {
  return ((mcpReq.envelope as Json | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as Json;
}

function declaresTasks(context: ServerContext): boolean {
  const { extensions = {} } = capabilitiesOf(context) as { extensions?: Json };
  return extensions[EXTENSION] !== undefined;
}

async function callOf(context: ServerContext, changed: Call['changed']): Promise<Call> {
  const { mcpReq } = context;
  const capabilities = capabilitiesOf(context);
  return {
    capabilities,
    signal: mcpReq.signal,
    ask: await roundsOf(context, capabilities),
    progress: async (progress, total) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
    },
    log: (data) => mcpReq.log('info', data, 'conformance'),
    changed,
  };
}
