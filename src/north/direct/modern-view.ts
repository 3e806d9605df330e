import { hasEnded, type Task } from '../../core/task/task.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { withinLimits } from '../carrier.ts';
import { passOn, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { deliverTaskEnd } from '../delivery.ts';
import type { Params } from '../message.ts';
import { requireTasks } from '../modern-client.ts';
import type { ModernEndpoint } from '../modern/endpoint.ts';
import { call } from './modern-call.ts';
import { relay } from './modern-relay.ts';
import { ModernRequest, type ModernViewParts } from './modern-request.ts';
import { wireError } from './outcome.ts';
import { discoverResult, implementationOf } from './shown-server.ts';

/** Shows one server to a client without sessions. */
export function modernView(parts: ModernViewParts): ModernEndpoint {
  const { session, name, info } = parts;
  return {
    serverInfo: implementationOf(name, info),
    get introduction() {
      return discoverResult(info);
    },
    handle: async (received) => {
      const { request, params } = received;
      const handle = (): Promise<Reply> => answer(new ModernRequest(parts, received), request.method, params);
      try {
        return await replyWhenStored(session, () => withinLimits(session, params, handle));
      } catch (error) {
        throw wireError(name, error, session);
      }
    },
    onNotification: (method, params) => session.connection(name).notify(method, params),
  };
}

function answer(request: ModernRequest, method: string, params: Params): Promise<Reply> {
  switch (method) {
    case 'tools/call':
      return call(request, params);
    case 'tasks/get':
      return getTask(request, params);
    case 'tasks/cancel':
      return cancelTask(request, params);
    case 'tasks/update':
      return updateTask(request, params);
    default:
      return relay(request, method, params);
  }
}

async function getTask(request: ModernRequest, params: Params): Promise<Reply> {
  const { session, clientState } = request.parts;
  const task = taskIn(request, params);
  if (hasEnded(task)) deliverTaskEnd({ session, exchange: request.exchange }, task.id);
  return report(session, clientState.detailed(task, request.client.capabilities));
}

async function cancelTask(request: ModernRequest, params: Params): Promise<Reply> {
  const { session } = request.parts;
  // Acknowledged also when it has ended already: then there is nothing to do.
  session.calls.cancel(taskIn(request, params).id, 'cancelled by the client');
  return report(session, {});
}

async function updateTask(request: ModernRequest, params: Params): Promise<Reply> {
  const { id } = taskIn(request, params);
  // Stores the answers; those that could not be stored count all the same.
  await request.parts.clientState.asked.answer({ taskId: id }, request.client.capabilities, request.answers ?? {});
  return passOn({});
}

function taskIn({ client, parts }: ModernRequest, { taskId }: Params): Task {
  if (typeof taskId !== 'string') throw new RpcError(INVALID_PARAMS, "Invalid params: 'taskId' must be a string");
  requireTasks(client);
  const task = parts.session.tasks.find(taskId);
  if (task === undefined) throw new RpcError(INVALID_PARAMS, `task '${taskId}' not found: unknown or expired`);
  return task;
}
