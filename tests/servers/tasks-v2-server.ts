/**
 * A server on the v2 SDK that keeps tasks of the extension `io.modelcontextprotocol/tasks`. One per request over HTTP; the
 * tasks are in the state. Clients that do not declare the extension get their tools run to the end, and cannot be asked.
 *
 * `tools/call` goes through the fallback handler because a registered one must not return a task; `tasks/*` are reached
 * only when they are registered with schemas of their own.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type JSONRPCRequest,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { AGE_FORM, nameForm } from './shared/forms.ts';
import { text, type TaskTool, type ToolResult, type Work } from './tasks/tool.ts';
import { labelOf, PLAIN_TOOLS, TASK_TOOLS } from './tasks/tools.ts';
import type { TasksV2State } from './tasks-v2/state.ts';
import type { ExtensionTask } from './tasks-v2/task.ts';

export { newTasksV2State, type TasksV2State } from './tasks-v2/state.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const REQUIRED = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };
const TASK_ID = z.looseObject({ taskId: z.string() });

type Json = Record<string, unknown>;

/** Asks for a name in a round of the call itself, and for an age in the task that follows. */
const ROUND_THEN_TASK = 'round_then_task';

/** `crash` is what the `crash` tool does: end the process, or whatever comes near to it inside a test. */
export function buildTasksV2Server(state: TasksV2State, crash: () => void = () => process.exit(1)): Server {
  const server = new Server(
    { name: 'tasks-v2-test-server', version: '2.3.4' },
    { capabilities: { tools: {}, extensions: { [EXTENSION]: {} } } },
  );
  server.onerror = (error) => void state.errors.push(error.message);

  const find = (taskId: string, context: ServerContext): ExtensionTask => {
    if (!declaresTasks(context)) throw new MissingRequiredClientCapabilityError(REQUIRED);
    const task = state.tasks.get(taskId);
    if (task === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Task not found: ${taskId}`);
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

  server.fallbackRequestHandler = async (request, context) => {
    if (request.method === 'tools/list') return { tools: definitions() };
    if (request.method === 'tools/call') return call(request, context, state, crash);
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Method not found: ${request.method}`);
  };
  return server;
}

function definitions(): Json[] {
  const tools = [...PLAIN_TOOLS, ...TASK_TOOLS].map(({ name, description, input }) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(input, { io: 'input' }),
  }));
  return [...tools, { name: ROUND_THEN_TASK, inputSchema: { type: 'object' } }];
}

async function call(
  { params }: JSONRPCRequest,
  context: ServerContext,
  state: TasksV2State,
  crash: () => void,
): Promise<Json> {
  const { name, arguments: args = {} } = params as { name: string; arguments?: Json };
  if (name === ROUND_THEN_TASK) return roundThenTask(context, state);
  const plain = PLAIN_TOOLS.find((tool) => tool.name === name);
  if (plain !== undefined) return plain.run(args, crash);
  const tool = TASK_TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
  if (!declaresTasks(context)) return withoutTask(tool, args, context, state);
  const task = state.begin(labelOf(name, args), (work) => tool.run(args, work));
  return { resultType: 'task', ...task.summary() };
}

/** The extension is for those who declare it, in each request. */
function declaresTasks({ mcpReq }: ServerContext): boolean {
  const capabilities = (mcpReq.envelope as Json | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const { extensions = {} } = (capabilities ?? {}) as { extensions?: Json };
  return extensions[EXTENSION] !== undefined;
}

async function withoutTask(
  tool: TaskTool,
  args: Json,
  { mcpReq: { signal } }: ServerContext,
  state: TasksV2State,
): Promise<ToolResult> {
  if (tool.taskSupport === 'required') throw new MissingRequiredClientCapabilityError(REQUIRED);
  const cannotAsk = async (): Promise<never> => {
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'cannot ask without a task');
  };
  const silent = async (): Promise<void> => {};
  const { released } = state;
  return tool.run(args, { signal, released, say: silent, progress: silent, elicit: cannotAsk, sample: cannotAsk });
}

async function roundThenTask(context: ServerContext, state: TasksV2State): Promise<Json> {
  const name = context.mcpReq.inputResponses?.['name'] as { content?: Json } | undefined;
  if (name === undefined) {
    const inputRequests = { name: { method: 'elicitation/create', params: nameForm() } };
    return { resultType: 'input_required', inputRequests, requestState: 'the first round' };
  }
  if (!declaresTasks(context)) throw new MissingRequiredClientCapabilityError(REQUIRED);
  const task = state.begin(ROUND_THEN_TASK, async (work: Work) => {
    const age = await work.elicit(AGE_FORM);
    const state = context.mcpReq.requestState<string>();
    return text(`Hello ${String(name.content?.['name'])}, ${String(age.content?.['age'])}, after ${state}`);
  });
  return { resultType: 'task', ...task.summary() };
}
