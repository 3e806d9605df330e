import { expect, test } from 'vitest';
import { outcomeLabel } from './labels.ts';

test('V-1: outcome labels are those in the documentation', () => {
  const outcomes = [undefined, 'tool_error', '-32602', '_OTHER', 'unreachable', 'lost', 'cancelled'].map(outcomeLabel);
  expect(outcomes).toEqual(['result', 'tool_error', 'error', 'error', 'unreachable', 'lost', 'cancelled']);
});
