import type { Caller, CallRequest } from '../../core/call/request.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { withoutKeys } from '../../lib/meta.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import type { LegacyResponder } from './legacy-responder.ts';
import type { LegacyRelay } from './legacy-relay.ts';
import type { Params } from '../message.ts';
import type { LegacyViewParts, LegacyRequest } from './legacy-request.ts';
import { ttlOf, type LegacyTasks } from './legacy-tasks.ts';
import type { LegacyTools } from './legacy-tools.ts';
import { wantsAgain } from './meta.ts';
import { errorOf, resultOf, withoutResultType } from './outcome.ts';
import { earlierRun, markTakenOver } from './take-over.ts';
import { passOn, report, type Reply } from '../commit-gate.ts';
import { deliverResult, deliverTask } from '../delivery.ts';
import type { Exchange } from '../exchange.ts';
import type { Asking } from '../hub/tool.ts';
import { cancelledWith } from '../waiting.ts';

const KNOWN_PARAMS = new Set(['name', 'arguments', 'task', '_meta']);

/** The parts of the view that calls use. */
export interface LegacyCallParts extends LegacyViewParts {
  responder: LegacyResponder;
  relay: LegacyRelay;
  tasks: LegacyTasks;
  tools: LegacyTools;
  /** How the client of a request can be asked. */
  asking: (request: LegacyRequest) => { exchange: Exchange; asking: Asking };
}

/** Makes a call, or takes over the same call of an earlier request that its client gave up. */
export async function call(parts: LegacyCallParts, request: LegacyRequest, params: Params): Promise<Reply> {
  const { gateway, session, shown, responder, relay, tasks, tools } = parts;
  const { exchange } = request;
  const [{ server, params: own }] = await shown.route('tools/call', params);
  const { name: tool, arguments: given, task } = own;
  const args = given ?? {};
  if (typeof tool !== 'string' || !isObject(args)) {
    // The server says what is wrong with it, and need not know of tasks.
    const { task: _task, ...odd } = params;
    return passOn(await relay.pass(request, 'tools/call', odd));
  }
  const program = session.client?.program;
  const wanted = { server, tool, args, program };
  const bare = given === undefined;
  const more = withoutKeys(own, KNOWN_PARAMS);
  const meta = relay.meta(server, params);
  if (parts.helpers !== undefined && tools.promotes && task === undefined) {
    const reply = await parts.helpers.execute({ ...wanted, bare, meta, more }, parts.asking(request));
    return { ...reply, result: tools.asListed(wanted, reply.result) };
  }
  const earlier = wantsAgain(params) ? undefined : await earlierRun(gateway, session, wanted);
  if (earlier) {
    const reply = task === undefined ? await takeOver(parts, request, earlier) : tasks.created(request, earlier);
    return markTakenOver(reply, earlier);
  }
  const id = secretId();
  const close = responder.opened(id, request.id, server);
  try {
    const reply = await request.waiting(`${tool} is running`, async (onProgress) => {
      const caller: Caller = {
        onLeaving: (listener) =>
          exchange.onLeaving((leaving, words) => {
            // From now on questions must not be sent on this stream.
            close();
            listener(leaving, words);
          }),
        onProgress,
        responder: responder.ofCall(request.id),
        effectOf: (question) => (responder.canAsk(question) ? 'ask' : 'wait'),
        followsApproval: true,
      };
      const made: CallRequest = { ...wanted, id, meta, more, bare, timeoutMs: Infinity };
      // A client that waits for the call itself does not know of the task's time limit.
      if (task === undefined) made.ttlMs = gateway.settings.tasks.maxTtlMs;
      else Object.assign(made, { asTask: true, exposed: true, ...ttlOf(task) });
      return session.calls.execute(session.connection(server), made, caller);
    });
    switch (reply.kind) {
      case 'result':
        deliverResult({ session, exchange }, wanted, reply.result);
        return passOn(tools.asListed(wanted, withoutResultType(reply.result)));
      case 'task':
        // The client may resume the stream that broke, or waits for an approval.
        if (reply.because === 'gone' || reply.because === 'approval') return await takeOver(parts, request, reply.task);
        return tasks.created(request, reply.task);
      case 'failed':
        throw errorOf(reply);
      case 'cancelled':
        throw new RpcError(-32000, 'the call was cancelled');
    }
  } finally {
    // A task that goes on asks and reports elsewhere.
    close();
  }
}

/** Waits for the end of a call that an earlier request began and did not wait for. */
async function takeOver(
  { session, tasks, tools }: LegacyCallParts,
  request: LegacyRequest,
  { id }: Task,
): Promise<Reply> {
  const { exchange } = request;
  // The client may leave before the end.
  deliverTask({ session, exchange }, id);
  const task = await cancelledWith(exchange, session, id, async () => tasks.ended(request, id));
  if (hasEnded(task)) deliverTask({ session, exchange }, id, () => session.tasks.delivered(id));
  return report(session, tools.asListed(task, resultOf(task)));
}
