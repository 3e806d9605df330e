import { expect, test } from 'vitest';
import { betweenRounds, inTask, readResumePoint } from './resume-point.ts';

const inputRequests = { a: { method: 'elicitation/create', params: { message: 'Sure?' } } };

test.each([
  inTask({ taskId: 't' }),
  inTask({ taskId: 't', sessionId: 's', asked: [{ id: 7, method: 'elicitation/create', params: { message: '?' } }] }),
  betweenRounds({ resultType: 'input_required', inputRequests, requestState: 'state' }),
  betweenRounds({ resultType: 'input_required' }),
])('P-2: a stored checkpoint can be read again: %j', (point) => {
  expect(readResumePoint(JSON.parse(JSON.stringify(point)))).toEqual(point);
});

test.each([
  ['another version', { version: 99, task: { taskId: 't' } }],
  ['no version', { task: { taskId: 't' } }],
  ['neither a task nor a round', { version: 1 }],
  ['a task without an id', { version: 1, task: {} }],
  ['a string in place of an object', 'task'],
])('P-4: a checkpoint with %s is refused', (_what, stored) => {
  expect(() => readResumePoint(stored)).toThrow(/^the checkpoint of the call cannot be read: /);
});
