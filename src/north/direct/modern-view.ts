import { hasEnded, type Task } from '../../core/task/task.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { withinLimits } from '../carrier.ts';
import { passOn, ReportedError, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { deliverTaskEnd } from '../delivery.ts';
import { askingByRound } from '../hub-endpoint.ts';
import { madeOf } from '../kept-results.ts';
import type { Params } from '../message.ts';
import { requireTasks } from '../modern-client.ts';
import { observed } from '../observed.ts';
import { bindState, boundStateIn, type BoundState } from '../mrtr/request-state.ts';
import type { ModernCall, ModernEndpoint } from '../modern/endpoint.ts';
import { handleModernCall } from './modern-call.ts';
import { relay } from './modern-relay.ts';
import { ModernRequest, type ModernViewParts } from './modern-request.ts';
import { wireError } from './outcome.ts';
import { sendTo, type RoutedRequest, type RoutedRequests } from './shown.ts';

/** Shows one server, or several as one, to a client without sessions. */
export function modernView(parts: ModernViewParts): ModernEndpoint {
  const { session, shown, clientState } = parts;
  return {
    serverInfo: shown.implementation,
    introduce: () => shown.discoverResult(),
    handle: (call) => {
      clientState.capabilities = call.client.capabilities;
      return observed(session, call.request, call.params, (params) => {
        const received = params === call.params ? call : { ...call, params };
        const handle = (): Promise<Reply> | Reply => answer(parts, received);
        return replyWhenStored(session, () => withinLimits(session, params, handle)).catch((error: unknown) => {
          throw wireError(shown.label, error, session);
        });
      });
    },
    onNotification: (method, params) => {
      for (const server of shown.notificationTargets(method)) session.connections.find(server)?.notify(method, params);
    },
  };
}

function answer(parts: ModernViewParts, received: ModernCall): Promise<Reply> | Reply {
  const { session, shown, helpers } = parts;
  const { request, params } = received;
  const { method } = request;
  switch (method) {
    case 'tools/call':
      if (!helpers?.has(params['name'])) break;
      return helpers.call(params, { exchange: request.exchange, asking: askingByRound(session, received) });
    case 'tasks/get':
      return getTask(parts, received);
    case 'tasks/cancel':
      return cancelTask(parts, received);
    case 'tasks/update':
      return updateTask(parts, received);
  }
  const answering = shown.answer(method, params);
  return answering === undefined ? forward(parts, received) : answerItself(parts, received, answering);
}

/** The gateway answers, if it can. */
async function answerItself(
  parts: ModernViewParts,
  received: ModernCall,
  answering: Promise<Params | undefined>,
): Promise<Reply> {
  const { helpers } = parts;
  const result = await answering;
  if (result === undefined) return forward(parts, received);
  if (helpers === undefined || received.request.method !== 'tools/list') return passOn(result);
  const own = await helpers.tools();
  return passOn(madeOf(result, 'with helper tools', () => helpers.addTo(result, own, { promotes: false })));
}

/** Avoids awaits: the fast path of a call to one server. */
function forward(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
  const targets = parts.shown.route(received.request.method, received.params);
  return targets instanceof Promise
    ? targets.then((each) => sendToTargets(parts, received, each))
    : sendToTargets(parts, received, targets);
}

function sendToTargets(parts: ModernViewParts, received: ModernCall, targets: RoutedRequests): Promise<Reply> {
  const [only, ...others] = targets;
  const bound = boundStateIn(parts.session.key, received.state);
  if (others.length > 0 || bound !== undefined) return oneOfSeveral(parts, received, targets, bound);
  return sendToServer(parts, received, only);
}

function sendToServer(parts: ModernViewParts, received: ModernCall, target: RoutedRequest): Promise<Reply> {
  const { server } = target;
  const info = parts.shown.infoOf(server);
  return info instanceof Promise
    ? info.then((known) => send(new ModernRequest(parts, { server, info: known }, received), target))
    : send(new ModernRequest(parts, { server, info }, received), target);
}

function send(request: ModernRequest, { params, translate }: RoutedRequest): Promise<Reply> {
  const { method } = request;
  if (method === 'tools/call') return handleModernCall(request, params);
  const replying = relay(request, method, params);
  if (translate === undefined) return replying;
  return replying.then((reply) => ({ ...reply, result: translate(reply.result) }));
}

/**
 * A request that any of several servers may answer. If one of them asks the client a question first, the answers go to that server
 * alone.
 */
async function oneOfSeveral(
  parts: ModernViewParts,
  received: ModernCall,
  targets: RoutedRequests,
  bound: BoundState | undefined,
): Promise<Reply> {
  const { session } = parts;
  const asking = bound && targets.find(({ server }) => server === bound.server);
  if (bound !== undefined && asking === undefined) {
    const message = `server '${bound.server}', which requested the input, is not available; send the request again without requestState`;
    throw new RpcError(INVALID_PARAMS, message);
  }
  const given = asking ? { ...received, state: bound?.state } : { ...received, state: undefined, answers: undefined };
  return sendTo(asking ? [asking] : targets, async (target) => {
    const { server } = target;
    const reply = await sendToServer(parts, given, target).catch((error: unknown) => {
      throw wireError(`server '${server}'`, error, session);
    });
    const { result } = reply;
    if (result['resultType'] !== 'input_required') return reply;
    const requestState = bindState(session.key, { server, state: result['requestState'] });
    return { ...reply, result: { ...result, requestState } };
  });
}

async function getTask(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
  const { session, clientState } = parts;
  const { request, client } = received;
  const task = taskIn(parts, received);
  if (hasEnded(task)) deliverTaskEnd({ session, exchange: request.exchange }, task.id);
  return report(session, clientState.detailed(task, client.capabilities));
}

async function cancelTask(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
  const { session } = parts;
  // Acknowledged even if the task has already ended.
  session.calls.cancel(taskIn(parts, received).id, 'cancelled by the client');
  return report(session, {});
}

async function updateTask(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
  const { id } = taskIn(parts, received);
  // Stores the answers; they count even if that fails.
  await parts.clientState.asked.answer({ taskId: id }, received.client.capabilities, received.answers ?? {});
  return passOn({});
}

function taskIn({ session }: ModernViewParts, { client, params: { taskId } }: ModernCall): Task {
  if (typeof taskId !== 'string') throw new RpcError(INVALID_PARAMS, "Invalid params: 'taskId' must be a string");
  requireTasks(client);
  const task = session.findTask(taskId);
  if (task === undefined) throw new ReportedError(INVALID_PARAMS, `task '${taskId}' not found: unknown or expired`);
  return task;
}
