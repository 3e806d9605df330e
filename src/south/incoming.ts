import type { ConnectionSink, IncomingQuestion, Progress } from '../core/ports/connection.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { isBigNumber, type BigNumber } from '../lib/exact-json.ts';
import { messageOf } from '../lib/log.ts';
import type { RunningCalls } from './call/running-calls.ts';
import type { AskedRequest } from './call/resume-point.ts';
import { relatedTask, withoutMeta, withoutRelatedTask } from '../lib/meta.ts';
import { SUBSCRIPTION_ID_KEY } from '../lib/protocol.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, NOT_ANSWERED, RpcError } from '../lib/rpc-error.ts';
import type { LostRequests } from './lost-requests.ts';
import { kindOf } from '../core/interaction/methods.ts';
import type { Peer, PeerHandlers } from './peer/peer.ts';
import { answerTo, readQuestion } from './questions.ts';
import type { TaskReceiver } from './task-receiver.ts';
import { ProtocolViolation } from './server-task.ts';

/** The receivers of a server's messages. */
export interface IncomingTargets {
  sink: ConnectionSink;
  calls: RunningCalls;
  receiver: TaskReceiver;
  requests: LostRequests;
  /** The server reports a change of its tool list. */
  onToolsChanged: () => void;
}

/** The limit on open requests of one server. */
const MAX_OPEN_REQUESTS = 500;

const TASK_NEWS = new Set(['notifications/tasks/status', 'notifications/tasks']);

/** Handles requests and notifications of a server: questions, progress, task changes, logs and others. */
export function incomingHandlers(
  peer: Peer,
  { sink, calls, receiver, requests, onToolsChanged }: IncomingTargets,
): PeerHandlers {
  let open = 0;
  return {
    request: async ({ id, method, params = {} }, stream, withdrawn) => {
      if (open >= MAX_OPEN_REQUESTS)
        throw new RpcError(NOT_ANSWERED, `${open} requests are open; wait for their answers first`);
      // Decided now: other calls may be running a moment later.
      const asker = calls.askerOf(params, stream);
      open += 1;
      const done = requests.begin({ id, method, params });
      try {
        const task = receiver.answer(method, params, asker, withdrawn);
        if (task !== undefined) return await task;
        return answerTo(params, await asked({ id, method, params }, { ...asker, withdrawn }, sink, calls));
      } finally {
        open -= 1;
        done();
      }
    },
    notification: ({ method, params: given }, stream) => {
      const rawParams = peer.isModern && given ? withoutSubscription(given) : given;
      const params = rawParams ?? {};
      if (method === 'notifications/progress') {
        const taskId = relatedTask(params);
        const report = readProgress(params);
        if (report === undefined || calls.progressed(params['progressToken'], taskId, report)) return;
        if (taskId !== undefined) sink.taskProgress?.(taskId, report);
        return;
      }
      // The ids of these tasks are known only on this side of the gateway.
      if (TASK_NEWS.has(method)) {
        calls.taskChanged(params);
        return;
      }
      if (method === 'notifications/tools/list_changed') onToolsChanged();
      if (method === 'notifications/message') logged(params, sink);
      else sink.notification(method, params);
      sink.rawNotification?.(method, rawParams, calls.relatedRequest(stream));
    },
  };
}

function readProgress(params: Record<string, unknown>): Progress | undefined {
  const { progressToken: _token, progress, total, message, ...more } = withoutRelatedTask(params);
  if (!isNumber(progress)) return undefined;
  return {
    ...more,
    progress,
    ...(isNumber(total) && { total }),
    ...(typeof message === 'string' && { message }),
  };
}

const isNumber = (value: unknown): value is number | BigNumber => typeof value === 'number' || isBigNumber(value);

/** The id of our own subscription means nothing to clients. */
function withoutSubscription(params: Record<string, unknown>): Record<string, unknown> | undefined {
  const rest = withoutMeta(params, SUBSCRIPTION_ID_KEY);
  return rest === params || Object.keys(rest).length > 0 ? rest : undefined;
}

async function asked(
  request: AskedRequest,
  context: Omit<IncomingQuestion, 'kind' | 'params'>,
  sink: ConnectionSink,
  calls: RunningCalls,
): Promise<Answer> {
  const { method, params } = request;
  if (kindOf(method) === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
  return ask(method, params, { ...context, ...calls.asked(context.callId, request, context.withdrawn) }, sink, calls);
}

/** Passes a question of the server to the session. */
export async function ask(
  method: string,
  params: Record<string, unknown>,
  context: Omit<IncomingQuestion, 'kind' | 'params'>,
  sink: ConnectionSink,
  calls: RunningCalls,
): Promise<Answer> {
  try {
    return await sink.question({ ...readQuestion(method, params), ...context });
  } catch (error) {
    // Cancel before rejecting the question: otherwise the task ends as failed instead of cancelled.
    await calls.cancelled(context.callId);
    if (error instanceof RpcError) throw error;
    throw new RpcError(error instanceof ProtocolViolation ? INVALID_PARAMS : NOT_ANSWERED, messageOf(error));
  }
}

function logged({ level, logger, data }: Record<string, unknown>, sink: ConnectionSink): void {
  sink.log({
    level: typeof level === 'string' ? level : 'info',
    source: 'protocol',
    data,
    ...(typeof logger === 'string' && { logger }),
  });
}
