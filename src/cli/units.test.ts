import { expect, test } from 'vitest';
import { parseAge, parseDuration, showDuration } from './units.ts';

test.each([
  ['30s', 30_000],
  ['500ms', 500],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  ['10', 10_000],
])('C-3: the time %s is %i milliseconds', (text, ms) => {
  expect(parseDuration(text, 'timeout')).toBe(ms);
});

test.each(['', 'soon', '-1s', '0', '1w', '25d', '1e3s', '1000h', '30 s'])('C-3: %j is no time', (text) => {
  expect(() => parseDuration(text, 'timeout')).toThrow('--timeout: expected a time such as 30s');
});

test('P-1: a time that no timer has to run may be longer', () => {
  expect(parseAge('90d', 'older-than')).toBe(90 * 86_400_000);
});

test.each(['7', '0.5', '7 ', 'soon', '0d', '1w'])(
  'C-3: %j is no time for what removes, where the unit must be clear',
  (text) => {
    expect(() => parseAge(text, 'older-than')).toThrow(
      `--older-than: expected a time with its unit, as in 12h or 7d, got '${text}'`,
    );
  },
);

test('C-3: times for people', () => {
  expect([0, 999, 59_999, 65_000, 7_380_000].map(showDuration)).toEqual(['0s', '0s', '59s', '1m 05s', '2h 03m']);
});
