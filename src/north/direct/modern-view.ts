import type { Server, ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { openExchange, withinLimits } from '../carrier.ts';
import { passOn, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { MODERN_VERSIONS, requireTasks } from '../modern-client.ts';
import { call } from './modern-call.ts';
import { relay } from './modern-relay.ts';
import { ModernRequest, type ModernViewParts, type Params } from './modern-request.ts';
import { wireError } from './outcome.ts';
import { modernIntroduction, ShownServer } from './shown-server.ts';
import { deliverTaskEnd } from '../delivery.ts';

/** Of the older protocol: a client without sessions must not find them here. */
const GONE_METHODS = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** Only with a schema of their own does the SDK let requests about tasks through. */
const NAMING_A_TASK = { params: z.looseObject({ taskId: z.string() }) };

/** A protocol object that shows one server to a client without sessions, for one of its requests. */
export function createModernServer(parts: ModernViewParts): Server {
  const server = new ShownServer(modernIntroduction(parts.name, parts.info), MODERN_VERSIONS);
  server.removeRequestHandler('logging/setLevel');
  const handle =
    (work: (request: ModernRequest, params: Params) => Promise<Reply>) =>
    async (params: Params, { mcpReq }: ServerContext): Promise<Params> => {
      const { session } = parts;
      const exchange = openExchange(mcpReq, parts.carrier, parts.gateway.settings.calls.onCancel);
      const run = async (): Promise<Reply> => work(new ModernRequest(parts, mcpReq, exchange), params);
      try {
        return await replyWhenStored(session, async () => withinLimits(session, params, run));
      } catch (error) {
        throw wireError(parts.name, error, session);
      }
    };
  server.setRequestHandler('tasks/get', NAMING_A_TASK, handle(getTask));
  server.setRequestHandler('tasks/cancel', NAMING_A_TASK, handle(cancelTask));
  server.setRequestHandler('tasks/update', NAMING_A_TASK, handle(updateTask));
  server.fallbackNotificationHandler = async ({ method, params: told }) => {
    parts.session.connection(parts.name).notify(method, told);
  };
  server.fallbackRequestHandler = async ({ method, params: given = {} }, context) => {
    if (GONE_METHODS.has(method)) throw new RpcError(-32601, `Method not found: ${method}`);
    const work = async (request: ModernRequest, own: Params): Promise<Reply> =>
      method === 'tools/call' ? call(request, own) : relay(request, method, own);
    return handle(work)(given, context);
  };
  return server;
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
  requireTasks(client);
  const task = typeof taskId === 'string' ? parts.session.tasks.find(taskId) : undefined;
  if (task === undefined) throw new RpcError(-32602, `task '${String(taskId)}' not found: unknown or expired`);
  return task;
}
