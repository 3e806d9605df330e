/** The answers of `--answer`: given beforehand, used one after the other. */

import type { ElicitResult, PendingElicitation, PendingSample } from '../../client/types.ts';
import { formMistake } from '../../core/question/form.ts';
import { jsonOf } from '../arguments/given.ts';
import { UsageError } from '../flags.ts';
import { isSchema, type Schema } from '../json-schema.ts';

export type Prepared<T> = { kind: 'answer'; answer: T } | { kind: 'mistake'; mistake: string } | { kind: 'none' };

/** What a model, or a person in its place, says; or that nobody does. */
export type SampleAnswer = { action: 'answer'; result: Record<string, unknown> } | { action: 'reject'; reason: string };

const ACTIONS = new Set<unknown>(['accept', 'decline', 'cancel']);

export class PreparedAnswers {
  readonly #left: Schema[];

  constructor(flags: readonly string[] = []) {
    this.#left = flags.map((text) => {
      const value = jsonOf(text, '--answer');
      if (isSchema(value)) return value;
      throw new UsageError('--answer: expected a JSON object, as in --answer \'{"name":"Ada"}\'');
    });
  }

  forElicitation({
    mode,
    requestedSchema = {},
  }: Pick<PendingElicitation, 'mode' | 'requestedSchema'>): Prepared<ElicitResult> {
    const given = this.#left.shift();
    if (given === undefined) return { kind: 'none' };
    const answer = asResult(given, requestedSchema);
    if (answer.action !== 'accept' || mode === 'url') return { kind: 'answer', answer };
    const content = answer.content ?? {};
    const mistake = formMistake(requestedSchema, content);
    return mistake === undefined ? { kind: 'answer', answer: { ...answer, content } } : { kind: 'mistake', mistake };
  }

  forSample(_sample: Pick<PendingSample, 'params'>): Prepared<SampleAnswer> {
    const given = this.#left.shift();
    if (given === undefined) return { kind: 'none' };
    const { action, text, content, ...rest } = given;
    if (action === 'decline' || action === 'cancel') {
      return { kind: 'answer', answer: { action: 'reject', reason: 'the user rejected the request' } };
    }
    if (typeof text === 'string')
      return { kind: 'answer', answer: { action: 'answer', result: modelAnswer(text, rest) } };
    if (content === undefined) return { kind: 'mistake', mistake: 'expected {"text": "…"} for a request to a model' };
    return { kind: 'answer', answer: { action: 'answer', result: { ...modelAnswer('', rest), content } } };
  }
}

/** A `CreateMessageResult`. */
export function modelAnswer(text: string, others: Schema = {}): Record<string, unknown> {
  return { role: 'assistant', model: 'human', stopReason: 'endTurn', content: { type: 'text', text }, ...others };
}

/** `{"action":"decline"}`, `{"action":"accept","content":{…}}`, or the content alone. */
function asResult(given: Schema, form: Schema): ElicitResult {
  const { action, content } = given;
  const isContent =
    isSchema(form['properties']) && Object.hasOwn(form['properties'], 'action') && content === undefined;
  if (isContent || !ACTIONS.has(action)) return { action: 'accept', content: given };
  return { action: action as ElicitResult['action'], ...(isSchema(content) && { content }) };
}
