import type { IncomingQuestion, OutgoingCall } from '../../core/ports.ts';
import { unlessAborted } from '../../lib/abort.ts';
import { isObject } from '../../lib/values.ts';
import { readQuestion } from '../questions.ts';
import { ProtocolViolation } from '../server-task.ts';
import type { CallChannel } from './channel.ts';

/** A question in the middle of a call: the server wants answers, and then the same call again with them. */
export interface InputRequired {
  resultType: 'input_required';
  inputRequests?: unknown;
  requestState?: string;
}

export function isInputRequired(result: Record<string, unknown>): result is Record<string, unknown> & InputRequired {
  return result['resultType'] === 'input_required';
}

/** What the next sending of the call carries, and what to abort once the server may have it. */
export interface Answered {
  params: Record<string, unknown>;
  taken: AbortController;
}

export async function answerRound(round: InputRequired, call: OutgoingCall, channel: CallChannel): Promise<Answered> {
  const asked = Object.entries(readInputRequests(round.inputRequests));
  // A round that cannot be completed takes its other questions along: nobody would receive their answers.
  const over = new AbortController();
  const withdrawn = AbortSignal.any([call.signal, over.signal]);
  const taken = new AbortController();
  const fate = { callId: call.id, withdrawn, taken: taken.signal };
  try {
    const answers = asked.map(async ([key, request]) => [key, await answerOne(request, { ...fate, key }, channel)]);
    // A question that waits for the next run of the program has no end in this one.
    const all = await unlessAborted(Promise.all(answers), call.signal, () => new Error('the call was stopped'));
    const inputResponses: Record<string, unknown> = Object.fromEntries(all);
    const params = {
      ...(asked.length > 0 && { inputResponses }),
      ...(round.requestState !== undefined && { requestState: round.requestState }),
    };
    return { params, taken };
  } catch (error) {
    over.abort();
    if (!call.signal.aborted) taken.abort();
    throw error;
  }
}

/** The questions in a server's result, by the key under which it wants the answer. */
export function readInputRequests(value: unknown): Record<string, Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isObject(value) || !Object.values(value).every(isObject)) {
    throw new ProtocolViolation("the server's inputRequests are not an object of requests");
  }
  return value as Record<string, Record<string, unknown>>;
}

/** What becomes of a question, and of its answer. */
type Fate = Required<Pick<IncomingQuestion, 'key' | 'callId' | 'withdrawn' | 'taken'>>;

export async function answerOne(
  request: Record<string, unknown>,
  fate: Fate,
  channel: CallChannel,
): Promise<Record<string, unknown>> {
  const { method, params } = request;
  return channel.question({ ...readQuestion(method, params), ...fate, detached: true });
}
