import * as z from 'zod';
import type { Caller, CallReply, CallRequest } from '../../../core/call/calls.ts';
import { GatewayError, known } from '../../../core/errors.ts';
import type { Session } from '../../../core/session/session.ts';
import type { CallResult, Task } from '../../../core/task/task.ts';
import { matchesPattern } from '../../../lib/pattern.ts';
import { within } from '../../../lib/timers.ts';
import { errorReply, passedOn } from '../reply.ts';
import { fromServer, json, jsonBlock, READS_SERVER, tool, type ToolContext, type ToolReply } from '../tool.ts';
import { elicitationBrief, taskView } from '../views.ts';
import { serverName, shortText, waitMs } from './arguments.ts';
import { fromServers } from './from-servers.ts';

export const executionTools = [
  tool({
    name: 'list_tools',
    description: 'List the tools of the servers behind this gateway, with their schemas. Call them with execute_tool.',
    input: z.object({
      server: serverName.optional(),
      pattern: z.string().max(256).optional().describe('Part of the tool name, or a glob with * and ?'),
    }),
    annotations: READS_SERVER,
    run: async ({ server, pattern }, { session, gateway }) =>
      json(
        await fromServers(session, gateway, server, 'tools', (item) =>
          pattern === undefined ? true : matchesPattern(pattern, String(item['name'])),
        ),
      ),
  }),
  tool({
    name: 'execute_tool',
    description:
      'Call a tool on a server. If it takes longer than timeout_ms or asks something, you get a task id at once while it goes on: answer what pending_client_action asks, then await_activity and get_task_result.',
    input: z.object({
      server: serverName,
      tool: shortText.describe('Name from list_tools'),
      args: z.record(z.string(), z.unknown()).optional(),
      timeout_ms: waitMs.optional().describe('Default 120000'),
      task_ttl_ms: waitMs.min(1).optional().describe('How long it may go on as a task'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    run: async ({ server, tool: name, args = {}, timeout_ms, task_ttl_ms }, context) => {
      const { session, exchange, gateway, onProgress } = context;
      const connection = session.connection(server);
      const { calls, limits } = gateway.settings;
      const timeoutMs = Math.min(timeout_ms ?? calls.timeoutMs, limits.waitMs);
      const ttl = task_ttl_ms === undefined ? {} : { ttlMs: task_ttl_ms };
      const request: CallRequest = { server, tool: name, args, timeoutMs, ...ttl };
      const onLeaving: Caller['onLeaving'] = (listener) => exchange.onLeaving(listener);
      const reply = await session.calls.execute(connection, request, { onLeaving, onProgress });
      return toReply(context, request, reply);
    },
  }),
];

async function toReply(context: ToolContext, request: CallRequest, reply: CallReply): Promise<ToolReply> {
  switch (reply.kind) {
    case 'result':
      keepUnlessDelivered(context, request, reply.result);
      return passedOn(fromServer(reply.result));
    case 'task':
      return promoted(context.session, reply.task.id, headline(reply, request.timeoutMs));
    case 'failed':
      return errorReply(await explained(context.session, reply.error));
    case 'cancelled':
      return errorReply(new GatewayError('TOOL_ERR_EXECUTION_FAILED', 'the call was cancelled'));
  }
}

/** The work is done; that the client did not take the reply must not undo it. */
function keepUnlessDelivered({ session, exchange }: ToolContext, request: CallRequest, result: CallResult): void {
  exchange.whenSettled((delivered) => {
    if (!delivered && !exchange.cancelled) session.calls.keepResult(request, result);
  });
}

function headline({ task, because }: { task: Task; because: string }, timeoutMs: number): string {
  const why = {
    timeout: `Tool call exceeded timeout (${timeoutMs}ms).`,
    question: 'The server asks something before it goes on: see pending_client_action.',
    gone: 'The client did not wait for the result.',
  }[because];
  return `${why} Promoted to task ${task.id}. Use get_task_result to retrieve the result when ready.`;
}

function promoted(session: Session, taskId: string, text: string): ToolReply {
  const task = session.tasks.get(taskId);
  const { server } = task;
  const proxy_task = taskView(task);
  const pending_on_server = {
    tasks: session.tasks.atWork(server).map(taskView),
    elicitations_for_server: session.questions.list('elicitation', server).map(elicitationBrief),
  };
  return { content: [{ type: 'text', text }, jsonBlock({ proxy_task, pending_on_server })], isError: false };
}

const NO_SUCH_TOOL = new Set([-32601, -32602]);
const EXPLAIN_MS = 2000;

/** A server's "no such tool" looks like other mistakes; whether it is that, its list of tools tells, if it comes soon. */
async function explained(session: Session, error: GatewayError): Promise<GatewayError> {
  const { server, tool: name, error: told } = error.details ?? {};
  const code = typeof told === 'object' && told !== null && 'code' in told ? Number(told.code) : undefined;
  if (typeof server !== 'string' || code === undefined || !NO_SUCH_TOOL.has(code)) return error;
  const listing = session.catalog(server).list('tools');
  const tools = await within(
    EXPLAIN_MS,
    listing.catch(() => undefined),
  );
  if (tools === undefined || tools.some((each) => each['name'] === name)) return error;
  const names = tools.map((each) => String(each['name']));
  const message = `server '${server}' has no tool '${String(name)}'; ${known(names)}`;
  return new GatewayError('TOOL_ERR_NOT_FOUND', message, error.details);
}
