import type { RequestId, Server } from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import { InvalidAnswer } from '../../core/interaction/answer.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { ANY_RESULT } from '../../lib/sdk/any-result.ts';
import { withoutRelatedTask, withRelatedTask } from '../../lib/meta.ts';
import { hasRpcCode, rpcFailure } from '../../lib/rpc-error.ts';
import { MAX_DELAY_MS } from '../../lib/clock.ts';
import { whenStored } from '../commit-gate.ts';
import { asRequest } from './asking.ts';

/** Where a client can be asked at a moment: on the stream of a request of its own, or on the standing one. */
export type Where = { on: RequestId } | 'standing';

/** How a client that takes requests is reached. */
interface Reached {
  server: Server;
  session: Session;
  where: () => Where | undefined;
  /** The task that the client knows it by. */
  taskId?: string | undefined;
  /** Whether an answer is not taken, and the question left to others. */
  leavesOpen?: (answer: Record<string, unknown>, tookMs: number) => boolean;
}

/**
 * Asks a client as the protocol has it, and takes its answer to the book: one that does not fit, and an error in place of
 * one, go back to the server. Until `over`: then the client is told that its answer is not wanted any more.
 */
export async function askClient(
  question: Interaction,
  over: AbortSignal,
  { server, session, where, taskId, leavesOpen }: Reached,
): Promise<void> {
  const { id, kind } = question;
  const { interactions } = session;
  const { method, params } = asRequest(question);
  try {
    await whenStored([session]);
    const place = where();
    if (over.aborted) return;
    if (place === undefined) {
      // Its request has ended meanwhile.
      interactions.release(id);
      return;
    }
    const askedAt = session.clock.now();
    const said = await server.request(
      { method, params: taskId === undefined ? params : withRelatedTask(params, taskId) },
      ANY_RESULT,
      { timeout: MAX_DELAY_MS, signal: over, ...(place !== 'standing' && { relatedRequestId: place.on }) },
    );
    const answer = withoutRelatedTask(said);
    if (leavesOpen?.(answer, session.clock.now() - askedAt)) return;
    if (interactions.find(id)) await interactions.answer(id, kind, answer);
  } catch (error) {
    if (over.aborted) return;
    if (error instanceof InvalidAnswer) {
      interactions.refuse(id, { code: -32602, message: `the client's answer is invalid: ${error.mistake}` });
    } else if (error instanceof GatewayError) return;
    // One that cannot be asked now may be asked later, or elsewhere; one that answers with an error has answered.
    if (hasRpcCode(error)) interactions.refuse(id, rpcFailure(error));
  }
}
