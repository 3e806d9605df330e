import type { Interaction } from '../../core/interaction/interaction.ts';
import { isObject } from '../../lib/values.ts';
import type { ToolContext } from './tool.ts';

/**
 * Unattended agents cancel questions or decline them immediately. No person has answered then: the question is
 * left to the tools, where the model sees it.
 */
export function leaveIfDismissed(
  { session, gateway }: Pick<ToolContext, 'session' | 'gateway'>,
  { id, kind, approval, approver }: Interaction,
  answer: unknown,
  tookMs: number,
): boolean {
  // The model must not make a decision that requires a person.
  if (approval !== undefined || approver === 'person') return false;
  const { via, minDeclineMs } = gateway.settings.questions;
  if (via !== 'both' || kind !== 'elicitation' || !isObject(answer)) return false;
  const { action } = answer;
  if (action !== 'cancel' && !(action === 'decline' && tookMs < minDeclineMs)) return false;
  gateway.log.info('elicitation_dismissed', { requestId: id, action, durationMs: tookMs });
  session.interactions.leaveToTools(id);
  return true;
}
