import * as z from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { Question } from '../../../core/question/question.ts';
import { formMistake } from '../../../core/question/form.ts';
import { ownerOfQuestion, questionsIn } from '../reach.ts';
import { json, READS, tool } from '../tool.ts';
import { elicitationView } from '../views.ts';
import { serverName, shortText } from './arguments.ts';

export const elicitationTools = [
  tool({
    name: 'get_elicitations',
    description: 'Questions of servers to the user that wait for an answer.',
    input: z.object({ server: serverName.optional() }),
    annotations: READS,
    run: async ({ server }, context) =>
      json({ elicitations: questionsIn(context, 'elicitation', server).map(elicitationView) }),
  }),
  tool({
    name: 'respond_to_elicitation',
    description:
      'Answer a question of a server with what the user says. accept needs content that fits requestedSchema (none for a url).',
    input: z.object({
      request_id: shortText,
      action: z.enum(['accept', 'decline', 'cancel']),
      content: z.record(z.string(), z.unknown()).optional(),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    run: async ({ request_id, action, content }, context) => {
      const { questions } = await ownerOfQuestion(context, request_id);
      const question = questions.get(request_id, 'elicitation');
      if (action === 'accept') checkContent(question, content);
      const answer = action === 'accept' && content !== undefined ? { action, content } : { action };
      await questions.answer(request_id, 'elicitation', answer);
      return json({ success: true, message: `answered ${request_id} with ${action}` });
    },
  }),
];

function checkContent({ id, params }: Question, content: Record<string, unknown> | undefined): void {
  const schema = params['requestedSchema'];
  if (typeof schema !== 'object' || schema === null) return;
  const mistake =
    content === undefined ? 'content is missing' : formMistake(schema as Record<string, unknown>, content);
  if (mistake === undefined) return;
  throw new GatewayError(
    'TOOL_ERR_INVALID_ANSWER',
    `the answer does not fit, and the question ${id} stays open: ${mistake}; see its requestedSchema`,
  );
}
