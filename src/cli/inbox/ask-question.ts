/** Asks the person at the terminal an open question of a gateway. */

import type { ElicitResult } from '../../client/types.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { shortenText } from '../../lib/shorten.ts';
import { isObject } from '../../lib/values.ts';
import { Failure } from '../failure.ts';
import type { ApiClient, Sent } from '../gateway/api-client.ts';
import type { Question } from '../../lib/api-items.ts';
import { callerOf, describeQuestionEnd, subjectOf, waitOf } from '../gateway/words.ts';
import type { SampleAnswer } from '../questions/prepared.ts';
import { askApproval } from '../terminal/ask-approval.ts';
import { askForm, type RefusedForm } from '../terminal/ask-form.ts';
import { askLink } from '../terminal/ask-link.ts';
import { askSample } from '../terminal/ask-sample.ts';
import type { Prompter, PromptResult } from '../terminal/prompter.ts';

export type AskOutcome = 'answered' | 'late' | 'later' | 'interrupted';

/** `ended` is aborted with the question when it was answered elsewhere, or with a failure. */
export async function askQuestion(
  api: ApiClient,
  prompter: Prompter,
  question: Question,
  ended: AbortSignal,
): Promise<AskOutcome> {
  await prompter.say(questionTitle(question), 'info');
  await prompter.say(contextOf(question));
  if (question.secret) await prompter.say(SECRET, 'warn');
  if (question.kind === 'roots') {
    await prompter.say('Only the client can answer this question.', 'warn');
    return 'later';
  }
  let refused: RefusedForm | undefined;
  for (;;) {
    const given = await ask(prompter, question, ended, refused);
    if (given.kind === 'over') {
      if (ended.reason instanceof Failure) return 'interrupted';
      return late(prompter, isQuestion(ended.reason) ? ended.reason : undefined);
    }
    if (given.kind !== 'answered') return given.kind === 'escaped' ? 'later' : 'interrupted';
    const sent = await send(api, question.id, given.value);
    if (sent.kind === 'taken') {
      await prompter.end(THANKS[sent.question.status] ?? 'Answered.');
      return 'answered';
    }
    if (sent.kind === 'late') return late(prompter, sent.question, sent.message);
    refused = { content: isObject(given.value['content']) ? given.value['content'] : {}, mistakes: sent.fields };
    await prompter.say(sent.message, 'warn');
  }
}

/** The body of an answer. */
export type AnswerBody = Record<string, unknown>;

export function elicitationBody({ action, content }: ElicitResult): AnswerBody {
  return { action, ...(content !== undefined && { content }) };
}

export function sampleBody(answer: SampleAnswer): AnswerBody {
  return answer.action === 'answer' ? { result: answer.result } : { error: { message: answer.reason } };
}

/** `demo asks: …`. */
export function questionTitle(question: Question): string {
  const { kind, server, message, params = {}, approval } = question;
  if (approval !== undefined) return `Approval needed: ${clean(params['message'] ?? message)}`;
  if (kind !== 'elicitation') return `${cleanLine(server)} ${subjectOf(question).slice(1, -1)}`;
  return `${cleanLine(server)} asks: ${clean(message ?? params['message'])}`;
}

/** The parts of a question that the forms need. */
export function formOf({ mode = 'form', params = {} }: Question): {
  mode: 'form' | 'url';
  url: string;
  requestedSchema: Record<string, unknown>;
} {
  const { requestedSchema, url } = params;
  return {
    mode,
    url: typeof url === 'string' ? url : '',
    requestedSchema: isObject(requestedSchema) ? requestedSchema : {},
  };
}

async function ask(
  prompter: Prompter,
  question: Question,
  ended: AbortSignal,
  refused: RefusedForm | undefined,
): Promise<PromptResult<AnswerBody>> {
  const onEscape = 'leave';
  if (question.kind === 'sampling') {
    return mapped(await askSample(prompter, { params: question.params ?? {} }, ended, { onEscape }), sampleBody);
  }
  const form = formOf(question);
  if (question.approval !== undefined) return mapped(await askApproval(prompter, form, ended), elicitationBody);
  const asked =
    form.mode === 'url'
      ? await askLink(prompter, form, ended, { onEscape })
      : await askForm(prompter, form, ended, { onEscape, refused });
  return mapped(asked, elicitationBody);
}

function mapped<A, B>(result: PromptResult<A>, change: (value: A) => B): PromptResult<B> {
  return result.kind === 'answered' ? { kind: 'answered', value: change(result.value) } : result;
}

/** If the connection is lost, the input is kept and can be sent again. */
async function send(api: ApiClient, id: string, body: AnswerBody): Promise<Sent> {
  try {
    return await api.answer(id, body);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { kind: 'invalid', message: `Not sent: ${error.message}`, fields: {} };
  }
}

async function late(
  prompter: Prompter,
  question: Question | undefined,
  otherwise = 'The question is no longer open.',
): Promise<'late'> {
  await prompter.end(question === undefined ? otherwise : `The question is ${describeQuestionEnd(question)}.`);
  return 'late';
}

const isQuestion = (value: unknown): value is Question => isObject(value) && 'status' in value;

const THANKS: Partial<Record<Question['status'], string>> = {
  declined: 'Declined.',
  cancelled: 'Dismissed without an answer.',
  rejected: 'Rejected.',
};

const SECRET =
  'A field of this form looks like a secret. Servers must not ask for secrets in forms: decline if in doubt.';

const LONGEST_ARGUMENTS = 500;

/** What a person needs to know besides the question. */
function contextOf(question: Question): string {
  const { tool, presented, approval } = question;
  // The message of an approval shows them.
  const given =
    question.arguments === undefined || approval !== undefined
      ? ''
      : ` ${cleanLine(stringifyExact(question.arguments))}`;
  return [
    ...(tool === undefined ? [] : [shortenText(`in ${cleanLine(tool)}${given}`, LONGEST_ARGUMENTS)]),
    `called by ${callerOf(question)}; waiting for ${waitOf(question)}`,
    ...(presented ? ['the client also shows this question; the first answer counts'] : []),
  ].join('\n');
}
