import type { InteractionRouter } from '../../core/interaction/router.ts';
import type { Responder } from '../../core/interaction/responders.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { METHODS } from '../../core/interaction/methods.ts';
import { APPROVAL_META, withoutMeta, withoutRelatedTask } from '../../lib/meta.ts';
import { INVALID_REQUEST } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';

/** A question as a request to a client, without references to server tasks. */
export function asRequest(question: Interaction): { method: string; params: Record<string, unknown> } {
  const { kind, approval } = question;
  const params = withoutRelatedTask(question.params);
  // A server must not be able to imitate a question of the gateway.
  return { method: METHODS[kind], params: approval === undefined ? withoutMeta(params, APPROVAL_META) : params };
}

/** The questions of one round, by the keys under which they are answered. */
export function inputRequests(asked: ReadonlyMap<string, Interaction>): Record<string, unknown> {
  return Object.fromEntries([...asked].map(([key, question]) => [key, asRequest(question)]));
}

/** Whether a client that declares these capabilities can be asked this. */
export function canBeAsked(
  capabilities: Record<string, unknown>,
  { kind, params, audience }: Pick<Interaction, 'kind' | 'params'> & { audience?: Interaction['audience'] },
): boolean {
  if (audience === 'tools') return false;
  const declared = capabilities[kind];
  if (!isObject(declared)) return false;
  if (kind === 'elicitation') {
    // A declaration without modes means form mode.
    return params['mode'] === 'url'
      ? declared['url'] !== undefined
      : declared['form'] !== undefined || !declared['url'];
  }
  return kind !== 'sampling' || params['tools'] === undefined || declared['tools'] !== undefined;
}

export function nobodyToAsk({ kind }: Pick<Interaction, 'kind'>): string {
  return `the client did not declare ${kind}, and no other client can answer`;
}

/** Without a hub, immediately refuses questions that the client cannot answer. */
export function refuseUnaskable(
  interactions: InteractionRouter,
  capabilities: () => Record<string, unknown>,
): Responder {
  return (question) => {
    if (canBeAsked(capabilities(), question)) return false;
    const message = nobodyToAsk(question);
    // After the router has opened it.
    queueMicrotask(() => interactions.refuse(question.id, { code: INVALID_REQUEST, message }));
    return true;
  };
}
