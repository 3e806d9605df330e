import * as z from 'zod';
import { GatewayError, known } from '../../../core/errors.ts';
import type { Interaction } from '../../../core/interaction/interaction.ts';
import { quotable } from '../../../lib/values.ts';
import { everythingIn } from '../elsewhere.ts';
import { ownerOfQuestion } from '../visible.ts';
import { leaveOut } from '../reply.ts';
import { json, READS, tool } from '../tool.ts';
import { samplingView } from '../views.ts';
import { serverName, shortText } from './arguments.ts';

export const samplingBlock = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.enum(['image', 'audio']), data: z.base64(), mimeType: z.string() }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.looseObject({ type: z.literal('tool_result'), toolUseId: z.string(), content: z.array(z.looseObject({})) }),
]);

const SHAPES =
  'text, a block {type:"text",text} {type:"image"|"audio",data,mimeType} {type:"tool_use",id,name,input}, or an array';

const answer = z.union([z.string(), samplingBlock, z.array(samplingBlock).min(1)], `expected ${SHAPES}`);

/** The schema in `tools/list`: the whole schema would be the most expensive part of the list. */
const shownBlock = z.looseObject({ type: z.string() });
const shownAnswer = z.union([z.string(), shownBlock, z.array(shownBlock)], `expected ${SHAPES}`);

/** The specification's error code for a request that the user rejects. */
export const USER_REJECTED = -1;

export const samplingTools = [
  tool({
    name: 'get_sampling_requests',
    description: 'List pending sampling requests.',
    input: () => z.object({ server: serverName.optional() }),
    annotations: READS,
    run: async ({ server }, context) =>
      json({
        sampling_requests: (await everythingIn(context, 'none')).questions('sampling', server).map(samplingView),
      }),
  }),
  tool({
    name: 'respond_to_sampling',
    description: `Answer a sampling request as the model, or decline it with a reason. content: ${SHAPES}.`,
    input: () =>
      z.object({
        request_id: shortText,
        action: z.enum(['accept', 'decline']).default('accept'),
        content: shownAnswer.pipe(answer).optional(),
        reason: shortText.optional(),
        role: z.enum(['assistant', 'user']).default('assistant'),
        model: shortText.default('unknown'),
        stop_reason: shortText.optional(),
      }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    run: async ({ request_id, action, content: given, reason, role, model, stop_reason }, context) => {
      const { interactions } = await ownerOfQuestion(context, request_id);
      const question = interactions.get(request_id, 'sampling');
      if (action === 'decline') {
        const error = { code: USER_REJECTED, message: reason ?? 'User rejected sampling request' };
        interactions.refuse(request_id, error, 'tools');
        // The client needs no event for its own action.
        leaveOut(context, ({ data: { requestId } }) => requestId === request_id);
        return json({ success: true, message: `declined ${request_id}` });
      }
      if (given === undefined) {
        throw new GatewayError(
          'TOOL_ERR_INVALID_ARGUMENT',
          'content is missing; to decline the request, set action to "decline"',
        );
      }
      const content = typeof given === 'string' ? { type: 'text' as const, text: given } : given;
      const used = checkOfferedTools(question, content);
      const stopReason = stop_reason ?? (used.length > 0 ? 'toolUse' : 'endTurn');
      await interactions.answer(request_id, 'sampling', { role, content, model, stopReason }, 'tools');
      return json({ success: true, message: `answered ${request_id}` });
    },
  }),
];

type Block = z.infer<typeof samplingBlock>;

/** Throws if the answer uses a tool that the request does not offer; returns those that it uses. */
export function checkOfferedTools({ id, params }: Interaction, content: Block | Block[]): string[] {
  const used = (Array.isArray(content) ? content : [content]).flatMap((each) =>
    each.type === 'tool_use' ? [each.name] : [],
  );
  const offered = Array.isArray(params['tools']) ? params['tools'] : [];
  const names = offered.map((each: { name?: unknown }) => quotable(each.name));
  const wrong = used.find((name) => !names.includes(name));
  if (wrong === undefined) return used;
  throw new GatewayError(
    'TOOL_ERR_INVALID_ANSWER',
    `the answer is invalid and request ${id} stays open: the request offers no tool '${wrong}'; ${known(names)}`,
  );
}
