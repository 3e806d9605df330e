import { hasEnded, type Task } from '../../core/task/task.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { withinLimits } from '../carrier.ts';
import { passOn, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { deliverTaskEnd } from '../delivery.ts';
import { askingByRound } from '../hub-endpoint.ts';
import { madeOf } from '../kept-results.ts';
import type { Params } from '../message.ts';
import { requireTasks } from '../modern-client.ts';
import type { ModernCall, ModernEndpoint } from '../modern/endpoint.ts';
import { call } from './modern-call.ts';
import { relay } from './modern-relay.ts';
import { ModernRequest, type ModernViewParts } from './modern-request.ts';
import { wireError } from './outcome.ts';
import { sendTo } from './shown.ts';

/** Shows one server, or several as one, to a client without sessions. */
export function modernView(parts: ModernViewParts): ModernEndpoint {
  const { session, shown, clientState } = parts;
  return {
    serverInfo: shown.implementation,
    introduce: () => shown.discoverResult(),
    handle: async (call) => {
      const { client, params } = call;
      clientState.capabilities = client.capabilities;
      try {
        return await replyWhenStored(session, () => withinLimits(session, params, async () => answer(parts, call)));
      } catch (error) {
        throw wireError(shown.label, error, session);
      }
    },
    onNotification: (method, params) => {
      for (const server of shown.hearers(method)) session.connectionIfAny(server)?.notify(method, params);
    },
  };
}

async function answer(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
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
  const result = answering && (await answering);
  if (result !== undefined) {
    const addsHelpers = helpers !== undefined && method === 'tools/list';
    const add = (): Params => helpers?.addTo(result, { promotes: false }) ?? result;
    return passOn(addsHelpers ? madeOf(result, 'with helper tools', add) : result);
  }
  return sendTo(await shown.route(method, params), async ({ server, params: own, translate }) => {
    const info = await shown.infoOf(server);
    const addressed = new ModernRequest(parts, { server, info }, received);
    if (method === 'tools/call') return call(addressed, own);
    const reply = await relay(addressed, method, own);
    return translate === undefined ? reply : { ...reply, result: translate(reply.result) };
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
  // Acknowledged also when it has ended already: then there is nothing to do.
  session.calls.cancel(taskIn(parts, received).id, 'cancelled by the client');
  return report(session, {});
}

async function updateTask(parts: ModernViewParts, received: ModernCall): Promise<Reply> {
  const { id } = taskIn(parts, received);
  // Stores the answers; those that could not be stored count all the same.
  await parts.clientState.asked.answer({ taskId: id }, received.client.capabilities, received.answers ?? {});
  return passOn({});
}

function taskIn({ session }: ModernViewParts, { client, params: { taskId } }: ModernCall): Task {
  if (typeof taskId !== 'string') throw new RpcError(INVALID_PARAMS, "Invalid params: 'taskId' must be a string");
  requireTasks(client);
  const task = session.tasks.find(taskId);
  if (task === undefined) throw new RpcError(INVALID_PARAMS, `task '${taskId}' not found: unknown or expired`);
  return task;
}
