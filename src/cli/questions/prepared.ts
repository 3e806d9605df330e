/** The answers of `--answer`, used one after the other. */

import type { ElicitResult, PendingElicitation } from '../../client/types.ts';
import { formMistake } from '../../lib/form/check.ts';
import { jsonOf } from '../arguments/given.ts';
import { UsageError } from '../flags.ts';
import type { JsonSchema } from '../../lib/form/json-schema.ts';
import { isObject } from '../../lib/values.ts';

export type Prepared<T> =
  | { kind: 'answer'; answer: T }
  /** A message that names the answer. */
  | { kind: 'mistake'; mistake: string }
  | { kind: 'none' };

/** The reply to a sampling request, or its rejection. */
export type SampleAnswer = { action: 'answer'; result: Record<string, unknown> } | { action: 'reject'; reason: string };

const ACTIONS = new Set<unknown>(['accept', 'decline', 'cancel']);

export class PreparedAnswers {
  /** Mistakes in prepared answers, when no person could be asked instead. */
  readonly misfits: string[] = [];
  /** How many questions had neither a prepared answer nor a person to ask. */
  unanswered = 0;
  readonly #all: readonly Record<string, unknown>[];
  #used = 0;

  constructor(flags: readonly string[] = []) {
    this.#all = flags.map((text) => {
      const value = jsonOf(text, '--answer');
      if (isObject(value)) return value;
      throw new UsageError('--answer: expected a JSON object, as in --answer \'{"name":"Ada"}\'');
    });
  }

  forElicitation({
    mode,
    requestedSchema = {},
  }: Pick<PendingElicitation, 'mode' | 'requestedSchema'>): Prepared<ElicitResult> {
    const given = this.#next();
    if (given === undefined) return { kind: 'none' };
    const answer = asResult(given, requestedSchema);
    if (answer.action !== 'accept' || mode === 'url') return { kind: 'answer', answer };
    const content = answer.content ?? {};
    const mistake = formMistake(requestedSchema, content);
    return mistake === undefined ? { kind: 'answer', answer: { ...answer, content } } : this.#mistake(given, mistake);
  }

  forSample(): Prepared<SampleAnswer> {
    const given = this.#next();
    if (given === undefined) return { kind: 'none' };
    const { action, text, content, ...rest } = given;
    if (action === 'decline' || action === 'cancel') {
      return { kind: 'answer', answer: { action: 'reject', reason: 'the user rejected the request' } };
    }
    if (typeof text === 'string')
      return { kind: 'answer', answer: { action: 'answer', result: modelAnswer(text, rest) } };
    if (content === undefined) return this.#mistake(given, 'expected {"text": "…"} for a sampling request');
    return { kind: 'answer', answer: { action: 'answer', result: { ...modelAnswer('', rest), content } } };
  }

  /** A message about answers that were not needed. */
  get unused(): string | undefined {
    const left = this.#all.slice(this.#used);
    if (left.length === 0) return undefined;
    const which = left.map((answer) => `--answer '${JSON.stringify(answer)}'`).join(' and ');
    return `not used, because nothing was asked for it: ${which}`;
  }

  #next(): Record<string, unknown> | undefined {
    const given = this.#all[this.#used];
    if (given !== undefined) this.#used += 1;
    return given;
  }

  #mistake(given: Record<string, unknown>, mistake: string): { kind: 'mistake'; mistake: string } {
    const which = this.#all.length === 1 ? '' : `, number ${this.#used} of ${this.#all.length},`;
    return {
      kind: 'mistake',
      mistake: `--answer '${JSON.stringify(given)}'${which} does not fit the question: ${mistake}`,
    };
  }
}

/** A `CreateMessageResult`. */
export function modelAnswer(text: string, others: Record<string, unknown> = {}): Record<string, unknown> {
  return { role: 'assistant', model: 'human', stopReason: 'endTurn', content: { type: 'text', text }, ...others };
}

/** `{"action":"decline"}`, `{"action":"accept","content":{…}}`, or the content alone. */
function asResult(given: Record<string, unknown>, form: JsonSchema): ElicitResult {
  const { action, content } = given;
  const isContent =
    isObject(form['properties']) && Object.hasOwn(form['properties'], 'action') && content === undefined;
  if (isContent || !ACTIONS.has(action)) return { action: 'accept', content: given };
  return { action: action as ElicitResult['action'], ...(isObject(content) && { content }) };
}
