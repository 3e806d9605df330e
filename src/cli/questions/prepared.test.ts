import { expect, test } from 'vitest';
import { PreparedAnswers } from './prepared.ts';

const FORM = { type: 'object', properties: { name: { type: 'string', minLength: 2 } }, required: ['name'] };
const form = { mode: 'form' as const, requestedSchema: FORM };

test('C-3: prepared answers are used in order, each for one question', () => {
  const answers = new PreparedAnswers([
    '{"name":"Ada"}',
    '{"action":"decline"}',
    '{"action":"accept","content":{"name":"Bo"}}',
  ]);
  expect(answers.forElicitation(form)).toEqual({
    kind: 'answer',
    answer: { action: 'accept', content: { name: 'Ada' } },
  });
  expect(answers.forElicitation(form)).toEqual({ kind: 'answer', answer: { action: 'decline' } });
  expect(answers.forElicitation(form)).toEqual({
    kind: 'answer',
    answer: { action: 'accept', content: { name: 'Bo' } },
  });
  expect(answers.forElicitation(form)).toEqual({ kind: 'none' });
});

test('C-3: a prepared answer that does not match the form is a mistake and is not sent', () => {
  const answers = new PreparedAnswers(['{"name":"A"}', '{}']);
  expect(answers.forElicitation(form)).toEqual({
    kind: 'mistake',
    mistake: `--answer '{"name":"A"}', number 1 of 2, does not fit the question: 'name': expected at least 2 characters`,
  });
  expect(answers.forElicitation(form)).toEqual({
    kind: 'mistake',
    mistake: "--answer '{}', number 2 of 2, does not fit the question: 'name' is missing",
  });
});

test('C-3: unused prepared answers are reported', () => {
  const answers = new PreparedAnswers(['{"name":"Ada"}', '{"age":36}']);
  answers.forElicitation(form);
  expect(answers.unused).toBe(`not used, because nothing was asked for it: --answer '{"age":36}'`);
  answers.forElicitation(form);
  expect(answers.unused).toBeUndefined();
  expect(new PreparedAnswers().unused).toBeUndefined();
});

test('C-3: for a form with a field named action, an answer without content is the content', () => {
  const requestedSchema = { type: 'object', properties: { action: { type: 'string' } } };
  const answers = new PreparedAnswers(['{"action":"decline"}', '{"action":"decline","content":{}}']);
  expect(answers.forElicitation({ mode: 'form', requestedSchema })).toEqual({
    kind: 'answer',
    answer: { action: 'accept', content: { action: 'decline' } },
  });
  expect(answers.forElicitation({ mode: 'form', requestedSchema })).toMatchObject({ answer: { action: 'decline' } });
});

test('C-3: a URL elicitation is accepted with an answer without content', () => {
  const answers = new PreparedAnswers(['{"action":"accept"}']);
  expect(answers.forElicitation({ mode: 'url' })).toEqual({ kind: 'answer', answer: { action: 'accept' } });
});

test('C-3: a sampling request is answered with a text or a whole result, or is rejected', () => {
  const answers = new PreparedAnswers([
    '{"text":"hi"}',
    '{"content":[{"type":"text","text":"x"}],"model":"m"}',
    '{"action":"decline"}',
    '{"name":"Ada"}',
  ]);
  expect(answers.forSample()).toEqual({
    kind: 'answer',
    answer: {
      action: 'answer',
      result: { role: 'assistant', model: 'human', stopReason: 'endTurn', content: { type: 'text', text: 'hi' } },
    },
  });
  expect(answers.forSample()).toMatchObject({
    answer: { result: { model: 'm', content: [{ type: 'text', text: 'x' }] } },
  });
  expect(answers.forSample()).toMatchObject({ answer: { action: 'reject' } });
  expect(answers.forSample()).toMatchObject({ kind: 'mistake' });
  expect(answers.forSample()).toEqual({ kind: 'none' });
});

test.each(['{', '[]', '"x"', 'null'])('C-3: --answer %s is refused at the start', (text) => {
  expect(() => new PreparedAnswers([text])).toThrow('--answer');
});
