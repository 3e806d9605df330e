import { expect, test } from 'vitest';
import { LiveCalls } from './live-calls.ts';

test('D-5, H-3: what is told is about the request on whose stream it came, none, the only one, or nobody can tell', () => {
  const calls = new LiveCalls();
  const endFirst = calls.beginOther({ id: 'first' });
  expect(calls.speaking('any')).toEqual({ requestId: 'first' });
  expect(calls.speaking('no call')).toBe('no request');
  const endSecond = calls.beginOther({ id: 'second' });
  expect(calls.speaking('any')).toBe('unknown');
  expect(calls.speaking({ callId: 'second' })).toEqual({ requestId: 'second' });
  endFirst();
  endSecond();
  expect(calls.speaking('any')).toBe('unknown');
});
