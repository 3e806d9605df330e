import { expect, test } from 'vitest';
import { questionStatus } from './words.ts';
import type { Question } from '../../lib/api-items.ts';

const QUESTION: Question = {
  id: 'q',
  seq: 1,
  kind: 'sampling',
  status: 'rejected',
  server: 'office',
  sessionId: 's',
  principal: 'ada',
  createdAt: 1,
};

test('W-2: a question that nobody refused was withdrawn', () => {
  expect(questionStatus(QUESTION).text).toBe('Withdrawn');
  expect(questionStatus({ ...QUESTION, answeredBy: { principal: 'ada', via: 'console' } }).text).toBe('Refused');
});
