import type { Gateway } from '../../../core/gateway.ts';
import type { InteractionKind } from '../../../core/interaction/interaction.ts';
import { requestOf } from '../../../core/interaction/link.ts';
import { tooLate } from './answer.ts';
import type { QuestionWork } from './work.ts';

/** A question with everything needed to answer it. */
export interface ShownQuestion {
  kind: InteractionKind;
  server: string;
  tool?: string;
  params: Record<string, unknown>;
}

/** An open question of a session; throws if it has ended. */
export async function questionHere(
  gateway: Gateway,
  { sessionId, owner, questionId }: QuestionWork,
): Promise<ShownQuestion> {
  const session = await gateway.restore(sessionId, owner);
  const question = session?.interactions.find(questionId);
  if (session === undefined || question === undefined) throw tooLate();
  const { kind, server, params, link } = question;
  const taskId = requestOf(link)?.taskId;
  const tool = taskId === undefined ? undefined : session.tasks.find(taskId)?.tool;
  return { kind, server, params, ...(tool !== undefined && { tool }) };
}
