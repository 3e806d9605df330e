import { expect, test } from 'vitest';
import { answeredBy, questionStatus } from './words.ts';
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

test('W-2: a question without a principal who refused is shown as withdrawn', () => {
  expect(questionStatus(QUESTION).text).toBe('Withdrawn');
  expect(questionStatus({ ...QUESTION, answeredBy: { principal: 'ada', via: 'console' } }).text).toBe('Refused');
});

test('G-3, G-4: the shown answerer is the rule, the model or the person', () => {
  const by = (via: string, name?: string) =>
    answeredBy({ ...QUESTION, answeredBy: { principal: 'ada', via, ...(name !== undefined && { name }) } });
  expect(by('rule', 'small tables')).toBe('the rule small tables');
  expect(by('model', 'local')).toBe('the model local');
  expect(by('console')).toBe('ada in the console');
});
