import { GatewayError } from '../../core/errors.ts';
import { InvalidAnswer } from '../../core/interaction/answer.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { withoutRelatedTask, withRelatedTask } from '../../lib/meta.ts';
import { hasRpcCode, INVALID_PARAMS, rpcFailure } from '../../lib/rpc-error.ts';
import { onceStored } from '../commit-gate.ts';
import type { RequestId } from '../message.ts';
import type { ClientPeer } from '../peer.ts';
import { asRequest } from './asking.ts';

/** Where a client can be asked: on the stream of one of its requests, or on the standing stream. */
export type Where = { on: RequestId } | 'standing';

/** The client, and how to reach it. */
interface Reached {
  peer: ClientPeer;
  session: Session;
  where: () => Where | undefined;
  /** The id of the task that asks, if the client knows it. */
  taskId?: string | undefined;
  /** Whether to discard an answer and leave the question open for others. */
  leavesOpen?: (answer: Record<string, unknown>, tookMs: number) => boolean;
}

/**
 * Asks a client with a request, and answers the question with the response. Invalid answers and errors go back to the
 * server. When `over` is aborted, the request is cancelled.
 */
export async function askClient(
  question: Interaction,
  over: AbortSignal,
  { peer, session, where, taskId, leavesOpen }: Reached,
): Promise<void> {
  const { id, kind } = question;
  const { interactions } = session;
  const { method, params } = asRequest(question);
  try {
    await onceStored(session, over);
    const place = where();
    if (over.aborted) return;
    if (place === undefined) {
      // Its request has ended meanwhile.
      interactions.release(id);
      return;
    }
    const askedAt = session.clock.now();
    const { resultType: _resultType, ...said } = await peer.request(
      method,
      taskId === undefined ? params : withRelatedTask(params, taskId),
      { signal: over, on: place === 'standing' ? undefined : place.on },
    );
    const answer = withoutRelatedTask(said);
    if (leavesOpen?.(answer, session.clock.now() - askedAt)) return;
    if (interactions.find(id)) await interactions.answer(id, kind, answer);
  } catch (error) {
    if (over.aborted) return;
    if (error instanceof InvalidAnswer) {
      interactions.refuse(id, { code: INVALID_PARAMS, message: `the client's answer is invalid: ${error.mistake}` });
    } else if (error instanceof GatewayError) return;
    // A client that cannot be reached may be asked again; an error with a code is its answer.
    if (hasRpcCode(error)) interactions.refuse(id, rpcFailure(error));
  }
}
