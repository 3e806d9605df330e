import { cancelledByClient, type Caller } from '../../core/call/request.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { MAX_DELAY_MS } from '../../lib/clock.ts';
import { isObject } from '../../lib/values.ts';
import type { LegacyResponder } from './legacy-responder.ts';
import type { LegacyRelay } from './legacy-relay.ts';
import type { LegacyViewParts, LegacyRequest, Params } from './legacy-request.ts';
import { ttlOf, type LegacyTasks } from './legacy-tasks.ts';
import type { LegacyTools } from './legacy-tools.ts';
import { wantsAgain } from './meta.ts';
import { errorOf, resultOf, withoutResultType } from './outcome.ts';
import { earlierRun, markTakenOver } from './take-over.ts';
import { deliverResult, deliverTask } from '../delivery.ts';

/** What the calls of one client need of what else is done for it. */
export interface LegacyCallParts extends LegacyViewParts {
  responder: LegacyResponder;
  relay: LegacyRelay;
  tasks: LegacyTasks;
  tools: LegacyTools;
}

/** Makes a call, or goes on with one that its client had given up. */
export async function call(parts: LegacyCallParts, request: LegacyRequest, params: Params): Promise<Params> {
  const { gateway, session, name, responder, relay, tasks, tools } = parts;
  const { exchange } = request;
  const { name: tool, arguments: given, task, _meta: _ownMeta, ...more } = params;
  const args = given ?? {};
  if (typeof tool !== 'string' || !isObject(args)) {
    // What is wrong with it the server tells best, which need not know of tasks.
    const { task: _task, ...odd } = params;
    return relay.pass(request, 'tools/call', odd);
  }
  const wanted = { server: name, tool, args, program: session.client?.program };
  const earlier = wantsAgain(params) ? undefined : await earlierRun(gateway, session, wanted);
  if (earlier) {
    const taken = task === undefined ? takeOver(parts, request, earlier) : tasks.created(request, earlier);
    return markTakenOver(await taken, earlier);
  }
  const meta = relay.meta(params);
  const id = secretId();
  const close = responder.opened(id, request.id);
  try {
    return await request.waiting(`${tool} is running`, async (onProgress) => {
      const caller: Caller = {
        onLeaving: (listener) =>
          exchange.onLeaving((leaving, words) => {
            // What is asked from now on must not go on this stream.
            close();
            listener(leaving, words);
          }),
        onProgress,
        responder: responder.ofCall(request.id),
        effectOf: (question) => (responder.canAsk(question) ? 'ask' : 'wait'),
      };
      const reply = await session.calls.execute(
        session.connection(name),
        {
          ...wanted,
          id,
          meta,
          more,
          bare: given === undefined,
          timeoutMs: MAX_DELAY_MS,
          // A client that waits for the call itself is not to lose it to a clock that it knows nothing of.
          ...(task === undefined
            ? { ttlMs: gateway.settings.tasks.maxTtlMs }
            : { asTask: true, exposed: true, ...ttlOf(task) }),
        },
        caller,
      );
      switch (reply.kind) {
        case 'result':
          deliverResult({ session, exchange }, { ...wanted, timeoutMs: 0 }, reply.result);
          return tools.asListed(tool, withoutResultType(reply.result));
        case 'task':
          // A client may come back to a stream that broke, for what it was to bring.
          if (reply.because === 'gone') return takeOver(parts, request, reply.task);
          return tasks.created(request, reply.task);
        case 'failed':
          throw errorOf(reply);
        case 'cancelled':
          throw new RpcError(-32000, 'the call was cancelled');
      }
    });
  } finally {
    // A task that asks or tells something goes on to do so, but not on this stream.
    close();
  }
}

/** The same call was made before, and its client did not wait: this is the one who comes back for it. */
async function takeOver(
  { session, tasks, tools }: LegacyCallParts,
  request: LegacyRequest,
  { id }: Task,
): Promise<Params> {
  const { exchange } = request;
  const stopListening = exchange.onLeaving((leaving, words) => {
    if (leaving === 'cancelled') session.calls.cancel(id, cancelledByClient(words));
  });
  // It may leave before the end.
  deliverTask({ session, exchange }, id);
  try {
    const task = await tasks.ended(request, id);
    if (hasEnded(task)) deliverTask({ session, exchange }, id, { forget: true });
    return tools.asListed(task.tool, resultOf(task));
  } finally {
    stopListening();
  }
}
