/**
 * A server of the 2025-11-25 protocol alone, with everything that the conformance suite wants of a server of either era:
 * what asks, pushes its questions, and what is a task, is one of this protocol. One per session; the tasks are in the state.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ResultSchema, SetLevelRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { Fault, METHOD_NOT_FOUND, type Call, type Json } from './conformance/call.ts';
import { answer, CAPABILITIES, findTool, TOOLS, type Asked } from './conformance/catalog.ts';
import { askAll, inTask } from './conformance/in-task.ts';
import type { Tool } from './conformance/tool.ts';
import { HUMAN_TIMEOUT } from './shared/forms.ts';
import type { TaskTool, ToolResult } from './tasks/tool.ts';
import type { TasksV1State } from './tasks-v1/state.ts';
import { work } from './tasks-v1/work.ts';

const RESOURCE_NOT_FOUND = -32002;
/** From the least to the most severe. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** At shorter intervals the SDK warns of the listeners it adds while it waits for an answer. */
export const TASKS = { pollMs: 100 };

type Extra = Parameters<NonNullable<Server['fallbackRequestHandler']>>[1];

export function buildLegacyServer(state: TasksV1State, sessions: Set<Server>): Server {
  const server = new Server(
    { name: 'conformance-legacy', version: '1.0.0' },
    {
      capabilities: { ...CAPABILITIES, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: state.store,
      taskMessageQueue: state.queue,
    },
  );
  server.onerror = (error) => void state.errors.push(error.message);
  server.oninitialized = () => {
    sessions.add(server);
    state.sessions.add(server);
  };
  server.onclose = () => {
    sessions.delete(server);
    state.sessions.delete(server);
  };
  let level = 'debug';
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  server.fallbackRequestHandler = async (request, extra) => {
    const hears = (): boolean => LEVELS.indexOf('info') >= LEVELS.indexOf(level);
    const call = callOf(server, extra, sessions, hears);
    switch (request.method) {
      case 'tools/list':
        return { tools: TOOLS.map(definition) };
      case 'tools/call':
        return callTool(request, call, extra, server, state);
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return {};
      default:
        return answer(request, call, RESOURCE_NOT_FOUND);
    }
  };
  return server;
}

/** A tool that asks before it is a task cannot be one here: a task of this protocol begins with the call. */
function taskSupport(tool: Tool): 'forbidden' | 'optional' | 'required' {
  return tool.task === 'never' || 'prepare' in tool ? 'forbidden' : tool.task;
}

function definition(tool: Tool): Json {
  const { name, description, inputSchema } = tool;
  return { name, description, inputSchema, execution: { taskSupport: taskSupport(tool) } };
}

async function callTool(
  { params = {} }: Asked,
  call: Call,
  { taskStore, taskRequestedTtl, _meta }: Extra,
  server: Server,
  state: TasksV1State,
): Promise<Json> {
  const tool = findTool(params['name']);
  const args = (params['arguments'] ?? {}) as Json;
  const support = taskSupport(tool);
  if (params['task'] === undefined || taskStore === undefined || support === 'forbidden') {
    if (support === 'required') throw new Fault(METHOD_NOT_FOUND, `Tool ${tool.name} requires a task`);
    return tool.run({ ...args, ...(await tool.prepare?.(call)) }, call);
  }
  const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: state.pollMs });
  const job = {
    taskId: task.taskId,
    tool: asTask(tool, support, call),
    args,
    server,
    progressToken: _meta?.progressToken,
  };
  work(state, job).catch((error: unknown) => state.errors.push(String(error)));
  return { task };
}

function asTask(tool: Tool, taskSupport: 'optional' | 'required', call: Call): TaskTool {
  return {
    name: tool.name,
    description: tool.description,
    taskSupport,
    input: z.looseObject({}),
    run: async (args, work) => (await tool.run(args, inTask(call, work))) as ToolResult,
  };
}

function callOf(server: Server, extra: Extra, sessions: Set<Server>, hears: () => boolean): Call {
  return {
    capabilities: server.getClientCapabilities() ?? {},
    signal: extra.signal,
    ask: (questions) =>
      askAll(questions, ({ method, params }) =>
        extra.sendRequest({ method, params }, ResultSchema, {
          timeout: HUMAN_TIMEOUT,
          signal: extra.signal,
        }),
      ),
    progress: async (progress, total) => {
      const progressToken = extra._meta?.progressToken;
      if (progressToken === undefined) return;
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total } });
    },
    log: async (data) => {
      const params = { level: 'info' as const, logger: 'conformance', data };
      if (hears()) await extra.sendNotification({ method: 'notifications/message', params });
    },
    changed: async (list) => {
      const method = `notifications/${list}/list_changed` as const;
      await Promise.all([...sessions].map((session) => session.notification({ method })));
    },
  };
}
