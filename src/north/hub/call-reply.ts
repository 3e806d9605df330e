import type { Because, CallReply, CallRequest } from '../../core/call/request.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import { errorOfTask, type EndedTask } from '../../core/task/task.ts';
import { deliverResult } from '../delivery.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../lib/rpc-error.ts';
import { within } from '../../lib/timers.ts';
import { quotable } from '../../lib/values.ts';
import { noSuchTool } from './mistakes.ts';
import { ownQuestions } from './visible.ts';
import { errorReply } from './reply.ts';
import { fromServer, jsonBlock, type ToolContext, type ToolReply } from './tool.ts';
import { elicitationReference, taskReference, taskView } from './views.ts';
import { withFix } from './with-fix.ts';

/** The reply to a call. */
export function callReply(
  context: ToolContext,
  request: CallRequest,
  reply: CallReply,
): Promise<ToolReply> | ToolReply {
  switch (reply.kind) {
    case 'result':
      deliverResult(context, request, reply.result, (taskId) => hasResult(context, taskId));
      return { kind: 'passed_on', result: fromServer(reply.result) };
    case 'task':
      return promoted(context, reply.task.id, reply.because, request.timeoutMs);
    case 'failed':
      return failedReply(context.session, request, reply.error);
    case 'cancelled':
      return errorReply(new GatewayError('TOOL_ERR_EXECUTION_FAILED', 'the call was cancelled'));
  }
}

async function failedReply(session: Session, { server }: CallRequest, error: GatewayError): Promise<ToolReply> {
  return errorReply(withFix(await explained(session, error), session.servers.get(server)?.config));
}

/** The reply when the call continues as a task. */
export function promoted(context: ToolContext, taskId: string, because: Because, timeoutMs: number): ToolReply {
  const { session } = context;
  const task = session.tasks.get(taskId);
  const { server } = task;
  const text = `${why(because, timeoutMs)} Promoted to task ${taskId}. Use get_task_result to retrieve the result when ready.`;
  const proxy_task = taskView(task);
  const pending_on_server = {
    tasks: session.tasks
      .atWork(server)
      .filter(({ id }) => id !== taskId)
      .map(taskReference),
    elicitations_for_server: ownQuestions(context, 'elicitation', server).map(elicitationReference),
  };
  const result = { content: [{ type: 'text', text }, jsonBlock({ proxy_task, pending_on_server })], isError: false };
  return { kind: 'own', result, ifNotStored: `the call is still running as task ${taskId}: do not repeat it` };
}

function why(because: Because, timeoutMs: number): string {
  switch (because) {
    case 'timeout':
      return `Tool call exceeded timeout (${timeoutMs}ms).`;
    case 'question':
    case 'approval':
    case 'sign_in':
      return 'The call needs input to continue: see pending_client_action.';
    case 'gone':
      return 'The client stopped waiting.';
    case 'asked':
    case 'server':
      return 'The call continues.';
  }
}

/** The reply to a call that was a task and has ended. */
export function endedReply(task: EndedTask): ToolReply {
  if (task.status === 'completed') return { kind: 'passed_on', result: fromServer(task.result) };
  const { server, tool } = task;
  const error = errorOfTask(task);
  return noResult(task, `'${tool}' on server '${server}'`, { server, tool, ...(error && { error }) });
}

/** The client has the result, so earlier events of the task are obsolete. */
export function hasResult({ session: { tasks, events }, reader }: ToolContext, id: string): void {
  tasks.setAbandoned(id, false);
  events.takeForEveryone(({ data: { taskId } }) => taskId === id, reader).settle(true);
}

/** The error reply for a task that ended without a result. */
export function noResult(task: EndedTask, subject: string, details: Record<string, unknown>): ToolReply {
  const { status, statusMessage } = task;
  const why = errorOfTask(task)?.message ?? statusMessage ?? status;
  const code = status === 'expired' ? 'TOOL_ERR_TIMEOUT' : 'TOOL_ERR_EXECUTION_FAILED';
  return errorReply(new GatewayError(code, `${subject} has no result (${status}): ${why}`, details));
}

const NO_SUCH_TOOL = new Set([METHOD_NOT_FOUND, INVALID_PARAMS]);
const EXPLAIN_MS = 2000;

/** A server's error for an unknown tool looks like others: the list of its tools shows whether the tool exists. */
async function explained(session: Session, error: GatewayError): Promise<GatewayError> {
  const { server, tool: name, error: told } = error.details ?? {};
  const code = typeof told === 'object' && told !== null && 'code' in told ? Number(told.code) : undefined;
  if (typeof server !== 'string' || code === undefined || !NO_SUCH_TOOL.has(code)) return error;
  // A group client knows tools under other names, and only some of them.
  if (session.view.kind === 'group') return error;
  const listing = session.catalog(server).list('tools');
  const all = await within(
    EXPLAIN_MS,
    listing.catch(() => undefined),
    session.clock,
  );
  const tools = all && session.toolsFor(server, all);
  if (tools === undefined || tools.some((each) => each['name'] === name)) return error;
  const names = tools.map((each) => quotable(each['name']));
  const message = `server '${server}' has ${noSuchTool(quotable(name), names)}`;
  return new GatewayError('TOOL_ERR_NOT_FOUND', message, error.details);
}
