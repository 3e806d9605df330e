import { expect, test } from 'vitest';
import { LEAVE_RUNNING, type IncomingQuestion } from '../core/ports/connection.ts';
import type { Running } from './following.ts';
import { askListeners } from './pending.ts';
import type { PendingElicitation, PendingSample } from './types.ts';

const FORM = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};

function ask(question: Partial<IncomingQuestion> = {}, running?: Partial<Running>) {
  const withdraw = new AbortController();
  const stop = new AbortController();
  const pending: (PendingElicitation | PendingSample)[] = [];
  const incoming: IncomingQuestion = { kind: 'elicitation', params: FORM, withdrawn: withdraw.signal, ...question };
  const caller = running && { toolName: 'work', params: {}, stop, ...running };
  const answer = askListeners(incoming, caller, (_type, detail) => {
    pending.push(detail as PendingElicitation);
  }).catch((error: Error) => error.message);
  const [asked] = pending;
  if (asked === undefined) throw new Error('nothing was asked');
  return { asked, answer, withdraw, stop };
}

const elicitation = (asked: PendingElicitation | PendingSample): PendingElicitation => asked as PendingElicitation;

test('C-1: the first answer that matches the form counts', async () => {
  const { asked, answer } = ask();
  expect(asked).toMatchObject({ message: 'Which size?', mode: 'form', requestedSchema: FORM.requestedSchema });
  expect(() => elicitation(asked).respond({ action: 'accept', content: { size: 5 } })).toThrow(
    'does not match the form',
  );
  expect(() => elicitation(asked).respond({ action: 'accept' })).toThrow('does not match the form');
  expect(asked.over.aborted).toBe(false);
  elicitation(asked).respond({ action: 'accept', content: { size: 'M' } });
  elicitation(asked).respond({ action: 'decline' });
  expect(await answer).toEqual({ action: 'accept', content: { size: 'M' } });
  expect(asked.over.aborted).toBe(true);
});

test('C-1: a form can be declined without content', async () => {
  const { asked, answer } = ask();
  elicitation(asked).respond({ action: 'decline' });
  expect(await answer).toEqual({ action: 'decline' });
});

test('C-1: a URL elicitation has a URL and no form', async () => {
  const { asked, answer } = ask({ params: { message: 'Sign in', mode: 'url', url: 'https://example.com/' } });
  expect(asked).toMatchObject({ mode: 'url', url: 'https://example.com/' });
  elicitation(asked).respond({ action: 'accept' });
  expect(await answer).toEqual({ action: 'accept' });
});

test('C-1: a sampling request is answered or rejected', async () => {
  const first = ask({ kind: 'sampling', params: { messages: [] } });
  (first.asked as PendingSample).respond({ role: 'assistant' });
  expect(await first.answer).toEqual({ role: 'assistant' });
  const second = ask({ kind: 'sampling', params: { messages: [] } });
  (second.asked as PendingSample).reject('not today');
  expect(await second.answer).toBe('not today');
  expect(second.asked.over.aborted).toBe(true);
});

test('C-1: the task ID of a question comes from the question, or else from the call that asks it', () => {
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'named' } };
  expect(ask({ params: { ...FORM, _meta: related } }, { taskId: 'of the call' }).asked.taskId).toBe('named');
  expect(ask({}, { taskId: 'of the call' }).asked.taskId).toBe('of the call');
  expect(ask().asked.taskId).toBeUndefined();
});

test('C-1: a question ends when the server withdraws it or when its call is cancelled', async () => {
  const withdrawn = ask();
  withdrawn.withdraw.abort();
  expect(await withdrawn.answer).toBe('the question was withdrawn');
  expect(withdrawn.asked.over.aborted).toBe(true);
  const cancelled = ask({}, {});
  cancelled.stop.abort(new Error('enough'));
  expect(await cancelled.answer).toBe('the question was withdrawn');
  expect(cancelled.asked.over.aborted).toBe(true);
});

test('C-1: the question of a call that is left running still accepts an answer', async () => {
  const { asked, answer, stop } = ask({}, {});
  stop.abort(LEAVE_RUNNING);
  expect(asked.over.aborted).toBe(false);
  elicitation(asked).respond({ action: 'cancel' });
  expect(await answer).toEqual({ action: 'cancel' });
});
