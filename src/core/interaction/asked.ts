/** Turns an incoming question into values: its interaction, its link, and the reasons why it may stay unanswered. */

import type { Clock } from '../../lib/clock.ts';
import { secretId } from '../../lib/ids.ts';
import { RpcError, type RpcFailure } from '../../lib/rpc-error.ts';
import type { IncomingQuestion } from '../ports/connection.ts';
import type { CoreSettings } from '../settings.ts';
import type { Approval, Interaction, InteractionKind, OpenInteraction } from './interaction.ts';
import type { Link } from './link.ts';
import type { RoutedInteraction } from './reducer.ts';

interface Asked {
  sessionId: string;
  settings: CoreSettings['questions'];
  clock: Clock;
}

export function newInteraction(
  { sessionId, settings, clock }: Asked,
  server: string,
  incoming: IncomingQuestion,
): RoutedInteraction {
  const { kind, params, timeoutMs, detached, key, approval, signIn, approver } = incoming;
  const now = clock.now();
  const interaction: OpenInteraction = {
    id: secretId(),
    sessionId,
    server,
    kind,
    params,
    status: 'open',
    createdAt: now,
    expiresAt: now + (timeoutMs ?? settings.timeoutMs),
    link: { certainty: 'none' },
    audience: 'anyone',
    ...(detached && { detached }),
    ...(key !== undefined && { key }),
    ...(approval && { approval }),
    ...(signIn && { signIn }),
    ...(approver && { approver }),
  };
  return { phase: 'open', interaction, presented: false, announced: false };
}

/** An approval that is requested again under stricter rules takes over their message, timeout and approver. */
export function askedAgain(
  state: RoutedInteraction,
  { params, approval, signIn, timeoutMs }: IncomingQuestion,
): RoutedInteraction {
  if (state.phase !== 'open') return state;
  const { interaction } = state;
  // The sign-in page may have another address after a restart.
  if (signIn !== undefined) return { ...state, interaction: { ...interaction, params } };
  if (approval === undefined) return state;
  const { createdAt, expiresAt } = interaction;
  const byThen = Math.min(expiresAt, createdAt + (timeoutMs ?? Infinity));
  return { ...state, interaction: { ...interaction, params, approval, expiresAt: byThen } };
}

/** It is unknown who gave an answer before a restart. */
export function assertStillCounts({ approval: asked }: Interaction, approval: Approval | undefined): void {
  if (approval?.approver !== 'person' || asked?.approver === 'person') return;
  throw new Error('a rule now requires a person to decide, and the answer was given before that');
}

export function linkOf({ callId, taskId, candidates, othersEnded }: IncomingQuestion): Link {
  if (callId !== undefined || taskId !== undefined) {
    return {
      certainty: 'certain',
      by: { ...(callId !== undefined && { callId }), ...(taskId !== undefined && { taskId }) },
    };
  }
  if (candidates === undefined) return { certainty: 'none' };
  const calls = candidates.calls.map((id) => ({ callId: id }));
  // A question of a task is opened a moment after its arrival: some requests may have ended by then.
  const others = candidates.others && !(othersEnded?.aborted && calls.length > 0);
  return { certainty: 'possible', calls, others };
}

export class NotAnswered extends Error {
  override readonly name = 'NotAnswered';
  readonly status: 'expired' | 'rejected';

  constructor(kind: InteractionKind, status: 'expired' | 'rejected', reason: string) {
    super(`${kind} request not answered: ${reason}`);
    this.status = status;
  }
}

export function notAnswered({
  kind,
  status,
  reason,
  error,
}: {
  kind: InteractionKind;
  status: 'expired' | 'rejected';
  reason: string;
  error?: RpcFailure;
}): Error {
  return error === undefined ? new NotAnswered(kind, status, reason) : RpcError.passedOn(error);
}

/** An abort without an explicit reason has a meaningless standard one. */
export function withdrawal({ reason }: AbortSignal): { reason: string; words?: string } {
  if (typeof reason === 'string') return { reason: 'withdrawn by the server', words: reason };
  const given = reason instanceof Error && reason.name !== 'AbortError';
  return { reason: given ? `withdrawn: ${reason.message}` : 'withdrawn by the server' };
}
