import { expect, test } from 'vitest';
import { settle, type OpenInteraction } from './interaction.ts';

const open = (kind: OpenInteraction['kind']): OpenInteraction => ({
  id: 'q',
  sessionId: 's',
  server: 'one',
  kind,
  params: {},
  status: 'open',
  createdAt: 0,
  expiresAt: 10,
  link: { certainty: 'none' },
  audience: 'anyone',
});

test.each([
  ['accept', 'accepted'],
  ['decline', 'declined'],
  ['cancel', 'cancelled'],
])('H-9: an elicitation answered with %s is %s', (action, status) => {
  expect(settle(open('elicitation'), { type: 'answered', answer: { action } }).status).toBe(status);
});

test('H-9: an answered sampling request is completed', () => {
  const answer = { role: 'assistant', content: { type: 'text', text: 'x' } };
  expect(settle(open('sampling'), { type: 'answered', answer }).status).toBe('completed');
});

test('B-3: a rejected question has a reason', () => {
  expect(settle(open('sampling'), { type: 'rejected', reason: 'server gone' })).toMatchObject({
    status: 'rejected',
    reason: 'server gone',
  });
});
