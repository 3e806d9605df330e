import { isAskedFirst, type Caller, type CallReply, type CallRequest } from '../../core/call/request.ts';
import type { Task } from '../../core/task/task.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { messageOf } from '../../lib/log.ts';
import { withoutKeys } from '../../lib/meta.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { canBeAsked } from '../asking/asking.ts';
import { readState } from '../mrtr/request-state.ts';
import { nextOf } from '../mrtr/next.ts';
import { whileWaiting } from '../waiting.ts';
import { wantsAgain } from './meta.ts';
import { relay, roundInstead } from './modern-relay.ts';
import type { Params } from '../message.ts';
import type { ModernRequest } from './modern-request.ts';
import { errorOf, leftRunning, resultOf } from './outcome.ts';
import { earlierRun, markTakenOver } from './take-over.ts';
import { extensionTask } from './task-views.ts';
import { passOn, report, ReportedError, type Reply } from '../commit-gate.ts';
import { deliverResult, deliverTask } from '../delivery.ts';

const KNOWN_PARAMS = new Set(['name', 'arguments', '_meta']);

/** Makes a call or continues one: its next round, or an identical call that the client abandoned. */
export function handleModernCall(request: ModernRequest, params: Params): Promise<Reply> {
  const { gateway, session } = request.parts;
  const { server, client } = request;
  const { name: tool, arguments: sent } = params;
  const args = sent ?? {};
  if (typeof tool !== 'string' || !isObject(args)) return relay(request, 'tools/call', params);
  if (request.state !== undefined) return nextRound(request, tool);
  const wanted: Wanted = { server, tool, args, program: client.program };
  const earlier = wantsAgain(params) ? undefined : earlierRun(gateway, session, wanted);
  return earlier === undefined ? make(request, wanted, params) : makeUnless(earlier, request, wanted, params);
}

type Wanted = Pick<CallRequest, 'server' | 'tool' | 'args' | 'program'>;

async function makeUnless(
  earlier: Promise<Task | undefined> | Task,
  request: ModernRequest,
  wanted: Wanted,
  params: Params,
): Promise<Reply> {
  const found = await earlier;
  if (found === undefined) return make(request, wanted, params);
  return markTakenOver(await follow(request, found.id), found);
}

function make(request: ModernRequest, wanted: Wanted, params: Params): Promise<Reply> {
  return request
    .listening(request.id, () => execute(request, requestFor(request, wanted, params)))
    .then((reply) => replyTo(request, wanted, reply));
}

function replyTo(request: ModernRequest, wanted: Wanted, reply: CallReply): Promise<Reply> | Reply {
  if (reply.kind !== 'result') return replyWithout(reply, request);
  const { session, shown } = request.parts;
  deliverResult({ session, exchange: request.exchange }, wanted, reply.result);
  return passOn(shown.resultFrom(wanted.server, reply.result));
}

function requestFor(request: ModernRequest, { server, tool, args, program }: Wanted, params: Params): CallRequest {
  const { gateway, taskAfterMs } = request.parts;
  const meta = request.meta('tools/call', params);
  const more = withoutKeys(params, KNOWN_PARAMS);
  const bare = params['arguments'] === undefined;
  const made: CallRequest = { id: request.id, server, tool, args, program, meta, more, bare, timeoutMs: Infinity };
  if (request.client.takesTasks) Object.assign(made, { timeoutMs: taskAfterMs, exposed: true });
  // A client that waits for the call itself does not know the TTL of the task.
  else made.ttlMs = gateway.settings.tasks.maxTtlMs;
  return made;
}

/** The reply to a call without a result, or without one yet. */
function replyWithout(reply: Exclude<CallReply, { kind: 'result' }>, request: ModernRequest): Promise<Reply> | Reply {
  switch (reply.kind) {
    case 'task':
      if (reply.because === 'gone') throw new RpcError(-32000, 'the client disconnected');
      return reply.because === 'question' || isAskedFirst(reply.because)
        ? follow(request, reply.task.id)
        : asTask(request, reply.task.id);
    case 'failed':
      return passOn(roundInstead(request, errorOf(reply)));
    case 'cancelled':
      throw new RpcError(-32000, 'the call was cancelled');
  }
}

function execute(request: ModernRequest, wanted: CallRequest): Promise<CallReply> {
  const { exchange, answers } = request;
  const { clock } = request.parts.session;
  const { capabilities, takesTasks } = request.client;
  const answered = ({ key }: Interaction): boolean =>
    answers !== undefined && key !== undefined && Object.hasOwn(answers, key);
  return whileWaiting({ clock, exchange }, `${wanted.tool} is running`, (onProgress) => {
    const caller: Caller = {
      onLeaving: (listener) => exchange.onLeaving(listener),
      onProgress,
      // While the client waits, others may answer questions that it does not support.
      effectOf: (question) => (answered(question) || !canBeAsked(capabilities, question) ? 'wait' : 'reply'),
      takesTask: takesTasks,
      followsApproval: true,
      tellsRoots: isObject(capabilities['roots']),
    };
    if (answers !== undefined) {
      caller.responder = (question) =>
        answerAtOnce(request, question, answered(question) ? answers[question.key ?? ''] : undefined);
    }
    return request.parts.session.calls.execute(request.connection, wanted, caller);
  });
}

/** Answers a question with an answer that the client sent in advance. */
function answerAtOnce({ parts: { session } }: ModernRequest, question: Interaction, answer: unknown): boolean {
  if (answer === undefined) return false;
  session.interactions.answer(question.id, question.kind, answer, 'round').catch((error: unknown) => {
    session.interactions.refuse(question.id, { code: INVALID_PARAMS, message: messageOf(error) }, 'round');
  });
  return true;
}

/** The client returns with the answers of a round. */
async function nextRound(request: ModernRequest, tool: string): Promise<Reply> {
  const { session, clientState } = request.parts;
  const waiting = readState(session.key, request.state);
  const taskId = 'task' in waiting ? waiting.task : '';
  const task = session.findTask(taskId);
  if (task === undefined) {
    throw new ReportedError(
      INVALID_PARAMS,
      'requestState refers to a call that has ended; call again without requestState',
    );
  }
  if (task.tool !== tool || task.server !== request.server)
    throw new RpcError(INVALID_PARAMS, `requestState belongs to a call of the tool '${task.tool}'`);
  await clientState.asked.answer({ taskId }, request.client.capabilities, request.answers ?? {});
  return follow(request, taskId);
}

/** Waits for the next step of a call that is already a task: its end, a question, or the time to expose the task. */
async function follow(request: ModernRequest, taskId: string): Promise<Reply> {
  const { session, shown, clientState, taskAfterMs } = request.parts;
  const { exchange } = request;
  const { takesTasks, capabilities } = request.client;
  const deadline = takesTasks ? session.clock.now() + taskAfterMs : Infinity;
  const next = await whileWaiting({ clock: session.clock, exchange }, 'the call is running', async (onProgress) =>
    request.listening(session.calls.idOf(taskId), async () =>
      nextOf({ session, exchange, onProgress, keys: clientState.asked, capabilities, deadline }, taskId, (task) =>
        takesTasks && task.native ? 'task' : undefined,
      ),
    ),
  );
  switch (next.kind) {
    case 'ended':
      if (next.task.exposed) deliverTask({ session, exchange }, taskId);
      else deliverTask({ session, exchange }, taskId, () => session.tasks.delivered(taskId));
      return report(session, shown.resultFrom(next.task.server, resultOf(next.task)));
    case 'asked':
      deliverTask({ session, exchange }, taskId);
      return request.round(next.questions, { task: taskId });
    case 'stopped':
      return asTask(request, taskId);
    case 'gone':
      if (exchange.open) throw leftRunning(session.tasks.get(taskId));
      deliverTask({ session, exchange }, taskId);
      throw new RpcError(-32000, 'the client disconnected');
  }
}

function asTask(request: ModernRequest, taskId: string): Reply {
  const { session, clientState } = request.parts;
  session.tasks.apply(taskId, { type: 'exposed' });
  deliverTask({ session, exchange: request.exchange }, taskId);
  const task = clientState.shown(session.tasks.get(taskId), request.client.capabilities);
  return report(session, { resultType: 'task', ...extensionTask(task) });
}
