import { expect, test } from 'vitest';
import { RunningCalls } from './running-calls.ts';

test('D-5, H-3: the related request of a message is the one of its stream, none, the only open one, or unknown', () => {
  const calls = new RunningCalls();
  const endFirst = calls.beginOther({ id: 'first' });
  expect(calls.relatedRequest('any')).toEqual({ requestId: 'first' });
  expect(calls.relatedRequest('no call')).toBe('no request');
  const endSecond = calls.beginOther({ id: 'second' });
  expect(calls.relatedRequest('any')).toBe('unknown');
  expect(calls.relatedRequest({ callId: 'second' })).toEqual({ requestId: 'second' });
  endFirst();
  endSecond();
  expect(calls.relatedRequest('any')).toBe('unknown');
});
