import { expect, test } from 'vitest';
import { settleQuestion, type Question, type QuestionEvent } from './question.ts';

const open = (kind: Question['kind']): Question => ({
  id: 'q',
  sessionId: 's',
  server: 'one',
  kind,
  params: {},
  status: 'open',
  createdAt: 0,
  expiresAt: 10,
});

test.each([
  ['accept', 'accepted'],
  ['decline', 'declined'],
  ['cancel', 'cancelled'],
])('H-9: an elicitation answered with %s is %s', (action, status) => {
  expect(settleQuestion(open('elicitation'), { type: 'answer', answer: { action } })?.status).toBe(status);
});

test('H-9: an answered sampling request is completed', () => {
  const answer = { role: 'assistant', content: { type: 'text', text: 'x' } };
  expect(settleQuestion(open('sampling'), { type: 'answer', answer })?.status).toBe('completed');
});

test('T-1: a question that is not open any more never changes', () => {
  const events: QuestionEvent[] = [
    { type: 'answer', answer: { action: 'accept' } },
    { type: 'expire' },
    { type: 'reject', reason: 'gone' },
  ];
  for (const first of events) {
    const settled = settleQuestion(open('elicitation'), first);
    if (settled === undefined) throw new Error('an open question can be settled');
    for (const second of events) expect(settleQuestion(settled, second)).toBeUndefined();
  }
});

test('B-3: a rejected question says why', () => {
  expect(settleQuestion(open('sampling'), { type: 'reject', reason: 'server gone' })).toMatchObject({
    status: 'rejected',
    reason: 'server gone',
  });
});
