import type { Caller, CallReply, CallRequest, LeavingListener } from '../../core/call/request.ts';
import type { QuestionEffect } from '../../core/interaction/attribution.ts';
import type { Interaction, OpenInteraction } from '../../core/interaction/interaction.ts';
import type { Responder } from '../../core/interaction/responders.ts';
import type { Progress } from '../../core/ports/connection.ts';
import { hasEnded } from '../../core/task/task.ts';
import { askClient } from '../asking/ask-client.ts';
import { canBeAsked } from '../asking/asking.ts';
import { deliverTask } from '../delivery.ts';
import { withTaskUpdates } from '../waiting.ts';
import { callReply, endedReply, hasResult, promoted } from './call-reply.ts';
import { leaveIfDismissed } from './dismissal.ts';
import { leaveOut } from './reply.ts';
import type { AskingByRequest, ToolContext, ToolReply } from './tool.ts';

/** Makes a call. While its request is open, a client that accepts requests is asked the questions of the call. */
export function execute(context: ToolContext, asking: AskingByRequest, request: CallRequest): Promise<ToolReply> {
  const { session } = context;
  const caller = new AskedCaller(context, asking);
  const startedAt = session.clock.now();
  return session.calls
    .execute(session.connection(request.server), request, caller)
    .then((reply) => caller.toolReply(request, reply, startedAt));
}

/** A client that makes a call, and is asked its questions. */
class AskedCaller implements Caller {
  readonly #context: ToolContext;
  readonly #asking: AskingByRequest;
  /** The questions that it was asked. */
  #asked: Set<unknown> | undefined;

  constructor(context: ToolContext, asking: AskingByRequest) {
    this.#context = context;
    this.#asking = asking;
  }

  onLeaving(listener: LeavingListener): () => void {
    return this.#context.exchange.onLeaving(listener);
  }

  onProgress(progress: Progress): void {
    this.#context.onProgress(progress);
  }

  effectOf(question: Interaction): QuestionEffect {
    return canBeAsked(this.#asking.capabilities, question) ? 'ask' : 'promote';
  }

  readonly responder: Responder = (question, over) => {
    if (!canBeAsked(this.#asking.capabilities, question)) return false;
    this.#asked ??= new Set();
    this.#asked.add(question.id);
    ask(this.#context, this.#asking, question, over);
    return true;
  };

  toolReply(request: CallRequest, reply: CallReply, startedAt: number): Promise<ToolReply> | ToolReply {
    const context = this.#context;
    const { session, exchange } = context;
    const asked = this.#asked;
    if (asked !== undefined) {
      const isOver = (id: unknown): boolean => session.interactions.find(String(id)) === undefined;
      leaveOut(context, ({ data: { requestId } }) => asked.has(requestId) && isOver(requestId));
    }
    if (reply.kind === 'task' && reply.because === 'gone' && exchange.resumable) {
      return whileAway(context, request, reply.task.id, startedAt + request.timeoutMs);
    }
    return callReply(context, request, reply);
  }
}

/**
 * The stream of the call broke, and its client may resume it: the client gets the same reply as without the break. The call
 * is a task in case the client does not return.
 */
async function whileAway(
  context: ToolContext,
  request: CallRequest,
  taskId: string,
  deadline: number,
): Promise<ToolReply> {
  const { session, exchange } = context;
  const left = Math.max(0, deadline - session.clock.now());
  const task = await withTaskUpdates(context, taskId, async () =>
    session.tasks.whenEndedOrAsking(taskId, left, exchange.lostSignal()),
  );
  if (!hasEnded(task)) {
    const because = task.status === 'input_required' ? 'question' : 'timeout';
    return promoted(context, taskId, because, request.timeoutMs);
  }
  deliverTask(context, taskId, () => hasResult(context, taskId));
  return endedReply(task);
}

function ask(context: ToolContext, { peer, on }: AskingByRequest, question: OpenInteraction, over: AbortSignal): void {
  const { session, exchange } = context;
  void askClient(question, over, {
    peer,
    session,
    where: () => (exchange.open ? { on } : undefined),
    leavesOpen: (answer, tookMs) => leaveIfDismissed(context, question, answer, tookMs),
  });
}
