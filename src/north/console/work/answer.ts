import { GatewayError } from '../../../core/errors.ts';
import type { Gateway } from '../../../core/gateway.ts';
import { InvalidAnswer } from '../../../core/interaction/answer.ts';
import type { OpenInteraction } from '../../../core/interaction/interaction.ts';
import type { Session } from '../../../core/session/session.ts';
import { checkOfferedTools, USER_REJECTED } from '../../hub/tools/sampling.ts';
import { ApiError } from '../api-error.ts';
import type { AnswerBody } from '../api/schemas.ts';
import type { Person } from '../person.ts';
import type { AnswerWork } from './work.ts';

/** Answers a question in its session. Throws if it was already answered, or if the answer is invalid. */
export async function answerHere(gateway: Gateway, person: Person, work: AnswerWork): Promise<void> {
  const { sessionId, owner, questionId, answer, via, name } = work;
  const session = await gateway.restore(sessionId, owner);
  const question = session?.interactions.find(questionId);
  if (session === undefined || question === undefined) throw tooLate();
  try {
    await give(session, question, answer, { principal: person.principal, via, name });
  } catch (error) {
    if (error instanceof InvalidAnswer) throw invalid(error.mistake, error.fields);
    if (!(error instanceof GatewayError)) throw error;
    // It ended while the answer was being stored.
    if (error.code === 'TOOL_ERR_REQUEST_NOT_FOUND') throw tooLate();
    if (error.code === 'TOOL_ERR_INVALID_ANSWER') throw new ApiError(422, 'invalid_answer', error.message);
    throw error;
  } finally {
    await gateway.recorder?.flush();
  }
}

/** The route adds the question, which shows who answered. */
export const tooLate = (): ApiError =>
  new ApiError(409, 'already_answered', 'the question is no longer open; nothing was sent to the server');

async function give(
  { interactions }: Session,
  question: OpenInteraction,
  answer: AnswerBody,
  by: { principal: string; via: AnswerWork['via']; name: string | undefined },
): Promise<void> {
  const { id, kind } = question;
  switch (kind) {
    case 'elicitation': {
      if (!('action' in answer)) throw invalid("answer an elicitation with 'action' (accept, decline or cancel)");
      const { action, content } = answer;
      const given = action === 'accept' && content !== undefined ? { action, content } : { action };
      await interactions.answer(id, kind, given, by.via, by.principal, by.name);
      return;
    }
    case 'sampling':
      if ('error' in answer) {
        const { message } = answer.error;
        if (!interactions.refuse(id, { code: USER_REJECTED, message }, by.via, by.principal)) throw tooLate();
        return;
      }
      if (!('result' in answer)) throw invalid("answer a sampling request with 'result', or refuse it with 'error'");
      checkOfferedTools(question, answer.result.content);
      await interactions.answer(id, kind, withStopReason(answer.result), by.via, by.principal, by.name);
      return;
    case 'roots':
      throw new ApiError(422, 'invalid_answer', 'only the client can answer a roots request');
  }
}

type SamplingResult = Extract<AnswerBody, { result: object }>['result'];

function withStopReason(result: SamplingResult): SamplingResult {
  const blocks = Array.isArray(result.content) ? result.content : [result.content];
  const usesTools = blocks.some(({ type }) => type === 'tool_use');
  return { stopReason: usesTools ? 'toolUse' : 'endTurn', ...result };
}

function invalid(mistake: string, fields: Record<string, string> = {}): ApiError {
  const message = `the answer is invalid, and the question stays open: ${mistake}`;
  return new ApiError(422, 'invalid_answer', message, { details: { fields } });
}
