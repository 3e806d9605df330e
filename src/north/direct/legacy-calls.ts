import { isAskedFirst, type Caller, type CallReply, type CallRequest } from '../../core/call/request.ts';
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
import type { RoutedRequest } from './shown.ts';
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

/** Avoids awaits: the fast path of a call to one server. */
export function handleLegacyCall(parts: LegacyCallParts, request: LegacyRequest, params: Params): Promise<Reply> {
  const targets = parts.shown.route('tools/call', params);
  return targets instanceof Promise
    ? targets.then(([target]) => callAt(target, parts, request, params))
    : callAt(targets[0], parts, request, params);
}

/** Makes a call, or takes over an identical call that the client abandoned. */
function callAt(
  { server, params: own }: RoutedRequest,
  parts: LegacyCallParts,
  request: LegacyRequest,
  params: Params,
): Promise<Reply> {
  const { gateway, session, relay, tools } = parts;
  const { name: tool, arguments: given, task } = own;
  const args = given ?? {};
  if (typeof tool !== 'string' || !isObject(args)) return passUnread(parts, request, params);
  const wanted: Wanted = { server, tool, args, program: session.client?.program };
  const bare = given === undefined;
  const more = withoutKeys(own, KNOWN_PARAMS);
  const meta = relay.meta(server, params);
  if (parts.helpers !== undefined && tools.promotes && task === undefined) {
    return parts.helpers
      .execute({ ...wanted, bare, meta, more }, parts.asking(request))
      .then((reply) => ({ ...reply, result: tools.asListed(wanted, reply.result) }));
  }
  const { program } = wanted;
  const made: Made = { id: secretId(), server, tool, args, program, meta, more, bare, timeoutMs: Infinity };
  // A client that waits for the call itself does not know the TTL of the task.
  if (task === undefined) made.ttlMs = gateway.settings.tasks.maxTtlMs;
  else Object.assign(made, { asTask: true, exposed: true, ...ttlOf(task) });
  const earlier = wantsAgain(params) ? undefined : earlierRun(gateway, session, wanted);
  return earlier === undefined ? make(parts, request, wanted, made) : makeUnless(earlier, parts, request, wanted, made);
}

type Wanted = Pick<CallRequest, 'server' | 'tool' | 'args' | 'program'>;
type Made = CallRequest & { id: string };

/** Relays a malformed call, so that the server reports the mistake. */
async function passUnread({ relay }: LegacyCallParts, request: LegacyRequest, params: Params): Promise<Reply> {
  const { task: _task, ...odd } = params;
  return passOn(await relay.pass(request, 'tools/call', odd));
}

async function makeUnless(
  earlier: Promise<Task | undefined> | Task,
  parts: LegacyCallParts,
  request: LegacyRequest,
  wanted: Wanted,
  made: Made,
): Promise<Reply> {
  const found = await earlier;
  if (found === undefined) return make(parts, request, wanted, made);
  const reply = made.asTask ? parts.tasks.created(request, found) : await takeOver(parts, request, found);
  return markTakenOver(reply, found);
}

async function make(parts: LegacyCallParts, request: LegacyRequest, wanted: Wanted, made: Made): Promise<Reply> {
  const close = parts.responder.opened(made.id, request.id, made.server);
  try {
    const reply = await request.waiting(`${made.tool} is running`, (onProgress) =>
      execute(parts, request, made, { onProgress, close }),
    );
    if (reply.kind !== 'result') return await replyWithout(reply, parts, request);
    deliverResult({ session: parts.session, exchange: request.exchange }, wanted, reply.result);
    return passOn(parts.tools.asListed(wanted, withoutResultType(reply.result)));
  } finally {
    // A continuing task asks and reports elsewhere.
    close();
  }
}

function execute(
  { session, responder }: LegacyCallParts,
  { id, exchange }: LegacyRequest,
  made: CallRequest,
  { onProgress, close }: Pick<Caller, 'onProgress'> & { close: () => void },
): Promise<CallReply> {
  const caller: Caller = {
    onLeaving: (listener) =>
      exchange.onLeaving((leaving, words) => {
        // From now on questions must not be sent on this stream.
        close();
        listener(leaving, words);
      }),
    onProgress,
    responder: responder.ofCall(id),
    effectOf: (question) => (responder.canAsk(question) ? 'ask' : 'wait'),
    followsApproval: true,
  };
  return session.calls.execute(session.connection(made.server), made, caller);
}

/** The reply to a call without a result, or without one yet. */
function replyWithout(
  reply: Exclude<CallReply, { kind: 'result' }>,
  parts: LegacyCallParts,
  request: LegacyRequest,
): Promise<Reply> | Reply {
  switch (reply.kind) {
    case 'task':
      // The client may resume the stream that broke, or waits for an approval.
      if (reply.because === 'gone' || isAskedFirst(reply.because)) return takeOver(parts, request, reply.task);
      return parts.tasks.created(request, reply.task);
    case 'failed':
      throw errorOf(reply);
    case 'cancelled':
      throw new RpcError(-32000, 'the call was cancelled');
  }
}

/** Waits for the end of a call that an earlier request started and abandoned. */
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
