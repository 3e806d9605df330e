import type { QuestionBook } from '../../core/question/book.ts';
import type { Desk } from '../../core/question/desks.ts';
import type { Question, QuestionKind } from '../../core/question/question.ts';
import { withoutRelatedTask } from '../../lib/related-task.ts';
import { isObject } from '../../lib/values.ts';

/** What a question is called on the wire, in both eras. */
const METHODS: Record<QuestionKind, string> = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

/** A question as a request to a client, who knows nothing of the tasks that the server keeps. */
export function asRequest({ kind, params }: Question): { method: string; params: Record<string, unknown> } {
  return { method: METHODS[kind], params: withoutRelatedTask(params) };
}

/** The questions of one round, by the keys under which they are answered. */
export function inputRequests(asked: ReadonlyMap<string, Question>): Record<string, unknown> {
  return Object.fromEntries([...asked].map(([key, question]) => [key, asRequest(question)]));
}

/** Whether a client that declares these capabilities can be asked this. */
export function canBeAsked(
  capabilities: Record<string, unknown>,
  { kind, params, toolsOnly }: Pick<Question, 'kind' | 'params' | 'toolsOnly'>,
): boolean {
  if (toolsOnly) return false;
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

export function nobodyToAsk({ kind }: Pick<Question, 'kind'>): string {
  return `the client cannot be asked (${kind} was not declared), and there is nobody else to ask`;
}

/** Where there is no hub: what the client cannot be asked, nobody can, and its server is told so at once. */
export function refuseUnaskable(questions: QuestionBook, capabilities: () => Record<string, unknown>): Desk {
  return (question) => {
    if (canBeAsked(capabilities(), question)) return false;
    const message = nobodyToAsk(question);
    // Not in the middle of its opening.
    queueMicrotask(() => questions.refuse(question.id, { code: -32600, message }));
    return true;
  };
}
