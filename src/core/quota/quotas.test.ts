import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { Budget } from '../budget.ts';
import { GatewayError } from '../errors.ts';
import { Quotas } from './quotas.ts';
import { RateWindow } from './rate-window.ts';
import type { QuotaSettings } from './settings.ts';

function quotas(settings: Partial<QuotaSettings>, clock = new TestClock()): Quotas {
  const common = new Budget(1000, 'limits.totalBytes');
  return new Quotas({ overrides: [], ...settings }, { clock, observed: {}, memoryOf: () => common });
}

function refusal(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

test('A-N: the rate window counts the last minute, and knows when the next call is possible', () => {
  const window = new RateWindow();
  const start = 1_000_000_000;
  window.add(start);
  window.add(start + 30_000);
  window.add(start + 30_500);
  expect([window.sum(start + 59_999), window.sum(start + 60_000)]).toEqual([3, 2]);
  expect([window.untilGone(1, start + 60_000), window.untilGone(2, start + 60_000)]).toEqual([30_000, 30_000]);
  expect(window.untilGone(3, start + 60_000)).toBe(60_000);
  expect([window.sum(start + 89_999), window.sum(start + 90_000)]).toEqual([2, 0]);
  window.add(start + 90_000);
  // A clock that is set back a little forgets nothing, and one that is set back far starts anew.
  expect([window.sum(start + 80_000), window.sum(start)]).toEqual([1, 0]);
});

test('A-N: calls per minute above the quota are refused with the time until the next call', () => {
  const clock = new TestClock(60_000_000);
  const { of } = { of: quotas({ callsPerMinute: 2 }, clock) };
  const ada = of.of('ada');
  ada.beginCall()();
  clock.advance(10_000);
  ada.beginCall()();
  const refused = refusal(() => ada.beginCall());
  expect(refused.code).toBe('TOOL_ERR_LIMIT');
  expect(refused.details).toEqual({ quota: 'callsPerMinute', limit: 2, retryAfterMs: 50_000 });
  expect(refused.message).toContain("'ada' has 2 calls of the last minute (quotas.callsPerMinute = 2)");
  // Another principal has its own.
  of.of('ben').beginCall()();
  clock.advance(49_999);
  refusal(() => ada.beginCall());
  clock.advance(1);
  ada.beginCall()();
});

test('A-N: open calls and tasks count until they are released, also when their session closes', () => {
  const ada = quotas({ openCalls: 1, tasks: 2, sessions: 1 }).of('ada');
  const end = ada.beginCall();
  expect(refusal(() => ada.beginCall()).details).toMatchObject({ quota: 'openCalls', limit: 1 });
  end();
  end();
  ada.beginCall()();
  const tasks = ada.holder('tasks');
  tasks.take();
  tasks.take();
  expect(refusal(() => tasks.assertRoom()).details).toMatchObject({ quota: 'tasks', retryAfterMs: 5000 });
  tasks.close();
  ada.assertRoom('tasks');
  ada.holder('questions').assertRoom();
});

test('A-N: usage of other gateways counts, too', () => {
  const clock = new TestClock();
  const [a, b] = [quotas({ openCalls: 2, callsPerMinute: 3, bytes: 100 }, clock), quotas({ openCalls: 2 }, clock)];
  const end = a.of('ada').beginCall();
  a.of('ada').memory.add(60);
  expect(a.usage).toEqual({
    'quota:callsPerMinute': { ada: 1 },
    'quota:openCalls': { ada: 1 },
    'quota:bytes': { ada: 60 },
  });
  b.noteElsewhere([a.usage, a.usage]);
  expect(refusal(() => b.of('ada').beginCall()).details).toMatchObject({ quota: 'openCalls' });
  b.of('ben').beginCall();
  end();
  b.noteElsewhere([a.usage]);
  b.of('ada').beginCall();
  a.noteElsewhere([{ 'quota:bytes': { ada: 30 } }]);
  expect(a.of('ada').memory.left).toBe(10);
  expect(a.of('ada').memory.shortage(20)).toBe('quotas.bytes = 100');
  expect(refusal(() => a.of('ada').assertBytes(20)).details).toMatchObject({ quota: 'bytes' });
});

test('A-N: overrides apply to the principals they match, and unset limits use the defaults', () => {
  const all = quotas({
    openCalls: 1,
    tasks: 1,
    overrides: [
      { principals: ['ci-*'], openCalls: 10 },
      { claims: { plan: 'pro' }, openCalls: 5 },
    ],
  });
  expect(all.of('ci-1').limits).toMatchObject({ openCalls: 10, tasks: 1, bytes: undefined });
  expect(all.of('ada').limits.openCalls).toBe(1);
  const facts = { scopes: [], claims: { plan: ['pro'] } };
  expect(all.for({ principal: 'ada', facts }).limits.openCalls).toBe(5);
  expect(all.for({ principal: 'ada' }).limits.openCalls).toBe(1);
});
