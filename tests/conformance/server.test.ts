import { expect, test } from 'vitest';
import { surprises, type Finding } from './server-report.ts';
import { lost, type Loss } from './server-run.ts';
import { conformanceOfServers } from './server-runs.ts';
import type { Check } from './suite.ts';

test('D-3, D-4, D-5, D-6, M-1: direct and group endpoints pass the official conformance suite like the servers alone', async () => {
  const { surprises, findings, table } = await conformanceOfServers();
  expect(surprises, table).toEqual([]);
  // 30 + 37 + 9 scenarios, and some that do not count, with four backends and two groups.
  expect(findings.length).toBeGreaterThanOrEqual(76 * 6);
}, 240_000);

function check(id: string, status: Check['status']): Check {
  return { id, name: id, status, description: id };
}

test('D-5: a scenario is worse if a check is missing, or fails or warns more often than with the server alone', () => {
  const alone = [check('a', 'SUCCESS'), check('a', 'SUCCESS'), check('b', 'SUCCESS'), check('c', 'WARNING')];
  expect(lost(alone, alone)).toEqual([]);
  expect(lost(alone, [...alone, check('d', 'WARNING')])).toEqual([]);
  expect(lost(alone, undefined)).toHaveLength(1);
  expect(lost(alone, [check('a', 'SUCCESS'), check('c', 'WARNING')])).toHaveLength(1);
  expect(lost(alone, [...alone, check('a', 'WARNING')])).toHaveLength(1);
  expect(lost(alone, [...alone, check('d', 'FAILURE')])).toHaveLength(1);
});

test('D-5: an exception that is not needed is reported, and so is a loss without an exception', () => {
  const set = { name: 'tasks', revision: '2026-07-28' as const, scenarios: ['s'] };
  const target = { era: 'legacy' as const, transport: 'http' as const, url: 'http://127.0.0.1/' };
  const fine: Finding = { set, target, scenario: 's', passed: true, lost: [], exception: undefined };
  const exception = { checks: ['a'], reason: 'it cannot be' };
  const loss = (check: string): Loss => ({ check, complaint: 'wrong' });
  const none = { sameEra: {}, otherEra: {} };
  const one = { sameEra: {}, otherEra: { 'tasks/s': exception } };
  expect(surprises([fine], none)).toEqual([]);
  expect(surprises([{ ...fine, lost: [loss('a')], exception }], one)).toEqual([]);
  expect(surprises([{ ...fine, lost: [loss('a'), loss('b')], exception }], one)).toHaveLength(1);
  expect(surprises([{ ...fine, lost: [loss('a')] }], none)).toHaveLength(1);
  expect(surprises([{ ...fine, exception }], one)).toHaveLength(1);
  expect(surprises([fine], { sameEra: { 'tasks/s': exception }, otherEra: {} })).toHaveLength(1);
});
