/** Sends an answer, and says what became of it. */

import { announce, note } from '../state/announce.ts';
import { forgetDraft } from '../state/drafts.ts';
import { openQuestions, questions, fetchQuestion } from '../state/live.ts';
import { go, route } from '../state/route.ts';
import { hrefOf } from '../route.ts';
import { RequestError, post } from '../wire/api.ts';
import type { Json, Question } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { answeredBy } from './words.ts';

const DONE: Record<string, string> = {
  accept: 'Answer sent',
  decline: 'Declined',
  cancel: 'Dismissed',
  result: 'Reply sent',
  error: 'Refused',
};

/** Returns what is wrong with the fields, if the answer was refused for that. */
export async function sendAnswer(question: Question, answer: Json): Promise<Record<string, string> | undefined> {
  const { id, server } = question;
  try {
    const next = nextAfter(id);
    questions.put(await post<Question>(`/api/v1/questions/${encodeURIComponent(id)}/answer`, answer));
    forgetDraft(id);
    const action = typeof answer['action'] === 'string' ? answer['action'] : 'result' in answer ? 'result' : 'error';
    note(`${DONE[action] ?? 'Answer sent'} to ${server}.`, 'done', hrefOf('inbox', id));
    // In the inbox the next question comes up; elsewhere the person stays.
    if (route.get().page === 'inbox' && next !== undefined) go(hrefOf('inbox', next));
    return undefined;
  } catch (error) {
    return refused(question, error);
  }
}

function nextAfter(id: string): string | undefined {
  const open = openQuestions();
  const at = open.findIndex((each) => each.id === id);
  return (open[at + 1] ?? open.find((each) => each.id !== id))?.id;
}

function refused(question: Question, error: unknown): Record<string, string> | undefined {
  if (!(error instanceof RequestError)) throw error;
  if (error.code === 'invalid_answer') {
    announce(`Not sent: ${error.message}`);
    if (Object.keys(error.fields).length > 0) return error.fields;
  }
  if (error.status === 409) {
    if (error.question === undefined) void fetchQuestion(question);
    else questions.put(error.question);
    const by = error.question === undefined ? '' : answeredBy(error.question);
    note(by === '' ? error.message : `Not sent: ${by} was first.`, 'problem');
    return undefined;
  }
  if (error.status === 404) void fetchQuestion(question);
  const kept = error.status === 0 ? ' Your answer is still in the form.' : '';
  note(`Not sent: ${messageOf(error)}${kept}`, 'problem');
  return undefined;
}
