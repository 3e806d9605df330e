import { expect, test } from 'vitest';
import type { QuestionEntry } from '../../../core/history/entry.ts';
import { exactNumber } from '../../../lib/exact-json.ts';
import { callItem, eventItem, listedQuestion, questionItem } from './items.ts';

const asked = (params: Record<string, unknown>): QuestionEntry => ({
  kind: 'question',
  id: 'q',
  seq: 7,
  asks: 'elicitation',
  principal: 'ann',
  server: 'demo',
  sessionId: 's',
  status: 'open',
  createdAt: 1,
  expiresAt: 2,
  params,
});

const form = (properties: Record<string, unknown>) => asked({ requestedSchema: { type: 'object', properties } });

test.each([
  [{ password: { type: 'string' } }, true],
  [{ value: { type: 'string', title: 'Your API key' } }, true],
  [{ value: { type: 'string', format: 'password' } }, true],
  [{ pin: { type: 'string' } }, true],
  [{ keepPassword: { type: 'boolean' } }, undefined],
  [{ name: { type: 'string' }, spinner: { type: 'string' } }, undefined],
  [{ odd: null, other: 'text' }, undefined],
])('W-2: a form with the fields %j is marked as asking for a secret: %s', (properties, secret) => {
  expect(questionItem(form(properties)).secret).toBe(secret);
});

test('W-2: a large question is listed without its params', () => {
  const large = asked({ message: 'x'.repeat(100_000) });
  expect(listedQuestion(large)).toMatchObject({ id: 'q', kind: 'elicitation', truncated: true });
  expect(listedQuestion(large)).not.toHaveProperty('params');
  // Or was not read at all.
  const { params: _params, ...unread } = large;
  expect(listedQuestion(unread)).toMatchObject({ truncated: true });
  expect(questionItem(large).params).toEqual(large.params);
  expect(listedQuestion(asked({ message: 'short' })).params).toEqual({ message: 'short' });
});

test('W-6: events contain neither params nor contents', () => {
  expect(eventItem(asked({ message: 'x' }))).toEqual({
    event: 'question',
    item: expect.not.objectContaining({ params: expect.anything() }),
  });
});

test('W-3: large numbers in progress become the nearest JavaScript numbers', () => {
  const entry = {
    kind: 'call' as const,
    id: 'c',
    seq: 1,
    principal: 'ann',
    server: 'demo',
    tool: 'work',
    sessionId: 's',
    view: 'hub' as const,
    startedAt: 1,
    status: 'running' as const,
    waits: [],
    argumentBytes: 2,
    progress: { progress: exactNumber('9007199254740993'), total: exactNumber('90071992547409930') },
    arguments: { a: 1 },
  };
  const { progress, ...call } = callItem(entry);
  expect(progress).toEqual({ progress: 9_007_199_254_740_992, total: Number('90071992547409930') });
  expect(call).not.toHaveProperty('arguments');
});
