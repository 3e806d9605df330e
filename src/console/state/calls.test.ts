import { expect, test } from 'vitest';
import { matches } from './calls.ts';
import type { Call } from '../../lib/api-items.ts';

const CALL: Call = {
  id: 'call-1',
  seq: 1,
  taskId: 'task-2',
  server: 'office',
  tool: 'order',
  sessionId: 'session-3',
  principal: 'ada',
  view: 'hub',
  startedAt: 1,
  endedAt: 2,
  status: 'failed',
  waits: [],
  argumentBytes: 2,
  error: { message: 'Out of Paper' },
};

test.each(['CALL-1', 'task-2', 'office', 'order', 'session-3', 'ada', 'of paper'])(
  'W-3: the text %j finds a call, as on the gateway',
  (text) => {
    expect(matches(CALL, { text })).toBe(true);
    expect(matches(CALL, { text, status: 'running' })).toBe(false);
  },
);

test('W-3: a call that the gateway found for a text is shown if it matches the rest of the filter', () => {
  expect(matches(CALL, { text: 'elsewhere' })).toBe(false);
  expect(matches(CALL, { text: 'elsewhere' }, new Set(['call-1']))).toBe(true);
  expect(matches(CALL, { text: 'elsewhere', server: 'other' }, new Set(['call-1']))).toBe(false);
});
