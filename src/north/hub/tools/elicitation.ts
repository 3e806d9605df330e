import * as z from 'zod';
import { everythingIn } from '../elsewhere.ts';
import { ownerOfQuestion } from '../visible.ts';
import { json, READS, tool } from '../tool.ts';
import { elicitationView } from '../views.ts';
import { serverName, shortText } from './arguments.ts';

export const elicitationTools = [
  tool({
    name: 'get_elicitations',
    description: 'List pending elicitations: questions to the user.',
    input: () => z.object({ server: serverName.optional() }),
    annotations: READS,
    run: async ({ server }, context) =>
      json({
        elicitations: (await everythingIn(context, 'none')).questions('elicitation', server).map(elicitationView),
      }),
  }),
  tool({
    name: 'respond_to_elicitation',
    description:
      "Answer an elicitation with the user's reply. accept needs content matching requestedSchema (none for a url).",
    input: () =>
      z.object({
        request_id: shortText,
        action: z.enum(['accept', 'decline', 'cancel']),
        content: z.record(z.string(), z.unknown()).optional(),
      }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    run: async ({ request_id, action, content }, context) => {
      const { interactions } = await ownerOfQuestion(context, request_id);
      const answer = action === 'accept' && content !== undefined ? { action, content } : { action };
      await interactions.answer(request_id, 'elicitation', answer, 'tools');
      return json({ success: true, message: `answered ${request_id} with ${action}` });
    },
  }),
];
