/**
 * A server on the v1 SDK that keeps tasks of the 2025-11-25 protocol, made for being put behind the gateway. One per
 * session; the tasks are in the state.
 */
import { setMaxListeners } from 'node:events';
import type { ToolTaskHandler } from '@modelcontextprotocol/sdk/experimental/tasks/interfaces.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type * as z from 'zod';
import { VALIDATOR } from './shared/validator.ts';
import type { TaskTool } from './tasks/tool.ts';
import { PLAIN_TOOLS, TASK_TOOLS } from './tasks/tools.ts';
import type { TasksV1State } from './tasks-v1/state.ts';
import { work } from './tasks-v1/work.ts';

export { newTasksV1State, type TasksV1State } from './tasks-v1/state.ts';

/** `crash` is what the `crash` tool does: end the process, or whatever comes near to it inside a test. */
export function buildTasksV1Server(state: TasksV1State, crash: () => void = () => process.exit(1)): McpServer {
  const mcp = new McpServer(
    { name: 'tasks-v1-test-server', version: '1.2.3' },
    {
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: state.store,
      taskMessageQueue: state.queue,
      jsonSchemaValidator: VALIDATOR,
    },
  );
  mcp.server.onerror = (error) => void state.errors.push(error.message);
  mcp.server.oninitialized = () => state.sessions.add(mcp.server);
  mcp.server.onclose = () => state.sessions.delete(mcp.server);
  allowListeners(mcp.server);

  for (const tool of PLAIN_TOOLS) {
    const { name, description, input } = tool;
    const answer = async (args: unknown) => (await tool.run(args as Record<string, unknown>, crash)) as CallToolResult;
    mcp.registerTool(name, { description, inputSchema: input }, answer);
  }
  for (const tool of TASK_TOOLS) {
    const { name, description, input: inputSchema, taskSupport } = tool;
    const config = { description, inputSchema, execution: { taskSupport } };
    mcp.experimental.tasks.registerToolTask(name, config, handlerOf(tool, mcp, state));
  }
  return mcp;
}

/** While a request for the result of a task waits, the SDK adds a listener to its signal at each poll, which Node takes for a leak. */
function allowListeners(server: object): void {
  const waiting = server as {
    _waitForTaskUpdate: (taskId: string, signal: AbortSignal, sessionId?: string) => Promise<void>;
  };
  const wait = waiting._waitForTaskUpdate.bind(server);
  waiting._waitForTaskUpdate = async (taskId, signal, sessionId) => {
    setMaxListeners(0, signal);
    return wait(taskId, signal, sessionId);
  };
}

function handlerOf(tool: TaskTool, { server }: McpServer, state: TasksV1State): ToolTaskHandler<z.ZodObject> {
  return {
    createTask: async (args, { taskStore, taskRequestedTtl, _meta }) => {
      const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: state.pollMs });
      const { taskId } = task;
      const job = { taskId, tool, args: args as Record<string, unknown>, server, progressToken: _meta?.progressToken };
      work(state, job).catch((error: unknown) => state.errors.push(String(error)));
      return { task };
    },
    getTask: (_args, { taskStore, taskId }) => taskStore.getTask(taskId),
    getTaskResult: async (_args, { taskStore, taskId }) => (await taskStore.getTaskResult(taskId)) as CallToolResult,
  };
}
