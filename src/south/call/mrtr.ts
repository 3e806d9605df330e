import type { IncomingQuestion } from '../../core/ports/connection.ts';
import { unlessAborted, abortSignalOf, type StopSignal } from '../../lib/abort.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { readQuestion } from '../questions.ts';
import { ProtocolViolation } from '../server-task.ts';
import type { CallChannel } from './channel.ts';
import type { InputRequired } from './resume-point.ts';

/** A server that asks more often counts as broken. */
export const MAX_ROUNDS = 100;

export function isInputRequired(result: Record<string, unknown>): result is Record<string, unknown> & InputRequired {
  return result['resultType'] === 'input_required';
}

/** The additional parameters of the next request, and the controller to abort once the server may have it. */
export interface AnsweredRound {
  params: Record<string, unknown>;
  taken: AbortController;
}

/** A request with MRTR rounds. */
interface AskingRequest {
  id: string;
  signal: StopSignal;
}

/** Sends a request other than a tool call, and resends it with the answers each time the server asks. */
export async function sendInRounds(
  request: AskingRequest,
  channel: CallChannel,
  send: (answers: Record<string, unknown>) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  try {
    let answered: AnsweredRound | undefined;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const { params = {}, taken } = answered ?? {};
      const result = await send(params).finally(() => taken?.abort());
      if (!isInputRequired(result)) return result;
      answered = await answerRound(result, request, channel);
    }
    throw tooManyRounds();
  } catch (error) {
    throw error instanceof ProtocolViolation ? new RpcError(-32603, error.message) : error;
  }
}

export function tooManyRounds(): ProtocolViolation {
  return new ProtocolViolation(`the server asked for more than ${MAX_ROUNDS} rounds`);
}

export async function answerRound(
  round: InputRequired,
  call: AskingRequest,
  channel: CallChannel,
): Promise<AnsweredRound> {
  const asked = Object.entries(readInputRequests(round.inputRequests));
  // If one question of a round fails, the others are withdrawn: their answers could not be sent.
  const over = new AbortController();
  const withdrawn = AbortSignal.any([abortSignalOf(call.signal), over.signal]);
  const taken = new AbortController();
  const fate = { callId: call.id, withdrawn, taken: taken.signal };
  try {
    const answers = asked.map(async ([key, request]) => [key, await answerOne(request, { ...fate, key }, channel)]);
    // A question that is kept for the next process does not settle in this one.
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

/** The questions in a result, by their keys. */
export function readInputRequests(value: unknown): Record<string, Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isObject(value) || !Object.values(value).every(isObject)) {
    throw new ProtocolViolation("the server's inputRequests are not an object of requests");
  }
  return value as Record<string, Record<string, unknown>>;
}

/** The signals and key of a question. */
type Fate = Required<Pick<IncomingQuestion, 'key' | 'callId' | 'withdrawn' | 'taken'>>;

export async function answerOne(
  request: Record<string, unknown>,
  fate: Fate,
  channel: CallChannel,
): Promise<Record<string, unknown>> {
  const { method, params } = request;
  return channel.question({ ...readQuestion(method, params), ...fate, detached: true });
}
