import type { Question, QuestionKind } from '../../core/question/question.ts';
import { isObject } from '../../lib/values.ts';

/** What a question is called on the wire, in both eras. */
const METHODS: Record<QuestionKind, string> = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

/** A question as a request to a client. */
export function asRequest({ kind, params }: Question): { method: string; params: Record<string, unknown> } {
  return { method: METHODS[kind], params };
}

/** Whether a client that declares these capabilities can be asked this. */
export function canBeAsked(
  capabilities: Record<string, unknown>,
  { kind, params }: Pick<Question, 'kind' | 'params'>,
): boolean {
  const declared = capabilities[kind];
  if (!isObject(declared)) return false;
  if (kind === 'elicitation') {
    // A declaration without a mode means forms, as it did before there were others.
    return params['mode'] === 'url'
      ? declared['url'] !== undefined
      : declared['form'] !== undefined || !declared['url'];
  }
  return kind !== 'sampling' || params['tools'] === undefined || declared['tools'] !== undefined;
}
