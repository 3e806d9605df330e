/** The reply for a call that was not made: a tool error result, which every client shows to the model. */

import type { CallRequest } from '../call/request.ts';
import type { CallOutcome } from '../ports/connection.ts';
import type { Rule } from './rule.ts';

/** Why there is no approval. */
export type Refusal =
  | { why: 'rule' }
  | { why: 'denied' | 'dismissed' }
  | { why: 'expired'; afterMs: number }
  /** The question was refused or withdrawn, or could not be asked. */
  | { why: 'unanswered'; reason: string };

export const REFUSAL_META = 'meanwhile/refused';

/** The results created by `refused`; a server could send the same `_meta`. */
const made = new WeakMap<object, Refusal['why']>();

/** Why the call was not sent, for the audit record; `undefined` if the result is from a server. */
export function whyNotSent(result: object | undefined): string | undefined {
  const why = result && made.get(result);
  if (why === undefined) return undefined;
  return why === 'rule' ? 'not sent: a rule denies it' : 'not sent: it was not approved';
}

export function refused(
  { server, tool }: Pick<CallRequest, 'server' | 'tool'>,
  refusal: Refusal,
  { message }: Pick<Rule, 'message'>,
): CallOutcome {
  const note = message === undefined ? '' : ` (${message})`;
  const text = `'${tool}' on server '${server}' was not called: ${wordsFor(refusal, note)}`;
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [REFUSAL_META]: { code: 'TOOL_ERR_NOT_ALLOWED', reason: refusal.why } },
  };
  made.set(result, refusal.why);
  return { kind: 'result', result };
}

function wordsFor(refusal: Refusal, note: string): string {
  switch (refusal.why) {
    case 'rule':
      return `a rule of the gateway denies this call${note}. Do not repeat it; find another way, or tell the user.`;
    case 'denied':
      return `it needs approval${note}, and the person who was asked denied it. Do not repeat it unless the user wants it.`;
    case 'dismissed':
      return `it needs approval${note}, and the question was dismissed without a decision. Ask the user before you repeat it.`;
    case 'expired':
      return `it needs approval${note}, and no person decided within ${duration(refusal.afterMs)}. Repeat the call to ask again.`;
    case 'unanswered':
      return `it needs approval${note}, and there was no decision: ${refusal.reason}. Repeat the call to ask again.`;
  }
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
