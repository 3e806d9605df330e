import { GatewayError } from '../errors.ts';
import { isObject } from '../../lib/values.ts';
import { formMistake, formMistakes } from '../../lib/form/check.ts';
import type { Answer, Interaction } from './interaction.ts';

/** An answer that the server would not accept; the interaction stays open. */
export class InvalidAnswer extends GatewayError {
  /** What is wrong with it. */
  readonly mistake: string;

  /** What is wrong with each field of a form. */
  readonly fields: Record<string, string>;

  constructor({ id, params }: Pick<Interaction, 'id' | 'params'>, mistake: string, answer?: unknown) {
    const hint = isObject(params['requestedSchema']) ? '; see its requestedSchema' : '';
    super('TOOL_ERR_INVALID_ANSWER', `the answer is invalid and the question ${id} stays open: ${mistake}${hint}`);
    this.mistake = mistake;
    this.fields = fieldsOf(params, answer);
  }
}

function fieldsOf({ requestedSchema }: Record<string, unknown>, answer: unknown): Record<string, string> {
  if (!isObject(requestedSchema) || !isObject(answer) || !isObject(answer['content'])) return {};
  const mistakes = formMistakes(requestedSchema, answer['content']);
  // Not an object with a prototype: a field may have any name.
  return Object.fromEntries(mistakes.map(({ field, mistake }) => [field, mistake]));
}

/** What is wrong with a raw answer; `undefined` if it is valid. */
export function answerMistake(
  { kind, params }: Pick<Interaction, 'kind' | 'params'>,
  answer: unknown,
): string | undefined {
  if (!isObject(answer)) return 'the answer must be an object';
  switch (kind) {
    case 'elicitation':
      return elicitationMistake(params, answer);
    case 'sampling':
      return samplingMistake(answer);
    case 'roots':
      return Array.isArray(answer['roots']) ? undefined : "'roots' must be an array";
  }
}

function elicitationMistake(params: Record<string, unknown>, answer: Record<string, unknown>): string | undefined {
  const { action, content } = answer;
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    return "'action' must be accept, decline or cancel";
  }
  const { requestedSchema } = params;
  if (action !== 'accept' || params['mode'] === 'url' || !isObject(requestedSchema)) return undefined;
  return isObject(content) ? formMistake(requestedSchema, content) : 'content is missing';
}

function samplingMistake({ role, model, content }: Record<string, unknown>): string | undefined {
  if (role !== 'assistant' && role !== 'user') return "'role' must be assistant or user";
  if (typeof model !== 'string') return "'model' must be a string";
  return isObject(content) || Array.isArray(content) ? undefined : 'content is missing';
}

/** Through the hub tools, the model answers instead of a person. */
export function assertToolsMayAnswer({ approval, approver }: Interaction, answer: unknown): void {
  if (approver === 'person' || approval?.approver === 'person') {
    throw new GatewayError(
      'TOOL_ERR_NOT_ALLOWED',
      'a person must decide this in the console, with `meanwhile inbox`, or in a client that shows the question; tell the user',
    );
  }
  const content = isObject(answer) ? answer['content'] : undefined;
  if (approval !== undefined && isObject(content) && content['decision'] === 'always') {
    throw new GatewayError(
      'TOOL_ERR_NOT_ALLOWED',
      'only a person can allow a tool for the rest of the session; answer "allow" for this call, or "deny"',
    );
  }
}

/** Every form of denial counts as a decline. */
export function asGiven({ approval }: Interaction, answer: Answer): Answer {
  const { content } = answer;
  return approval !== undefined && isObject(content) && content['decision'] === 'deny' ? { action: 'decline' } : answer;
}
