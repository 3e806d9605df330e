import { expect, test } from 'vitest';
import { parseAge, parseDuration, parseMoment, showDuration } from './units.ts';

test.each([
  ['30s', 30_000],
  ['500ms', 500],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  ['10', 10_000],
])('C-3: the duration %s is %i milliseconds', (text, ms) => {
  expect(parseDuration(text, 'timeout')).toBe(ms);
});

test.each(['', 'soon', '-1s', '0', '1w', '25d', '1e3s', '1000h', '30 s'])('C-3: %j is not a duration', (text) => {
  expect(() => parseDuration(text, 'timeout')).toThrow('--timeout: expected a time such as 30s');
});

test('P-1: an age may be longer than the longest timer', () => {
  expect(parseAge('90d', 'older-than')).toBe(90 * 86_400_000);
});

test.each(['7', '0.5', '7 ', 'soon', '0d', '1w'])('C-3: %j is not an age, because an age needs a unit', (text) => {
  expect(() => parseAge(text, 'older-than')).toThrow(
    `--older-than: expected a time with its unit, as in 12h or 7d, got '${text}'`,
  );
});

test('C-3: durations are formatted for people', () => {
  expect([0, 999, 59_999, 65_000, 7_380_000].map(showDuration)).toEqual(['0s', '0s', '59s', '1m 05s', '2h 03m']);
});

test('G-5: a point in time can be an age, or a date in the local time zone', () => {
  const now = Date.parse('2026-11-17T12:00:00Z');
  expect(parseMoment('2h', 'since', now)).toBe(now - 7_200_000);
  expect(parseMoment('7d', 'since', now)).toBe(now - 7 * 86_400_000);
  expect(parseMoment('2026-11-17', 'since', now)).toBe(new Date(2026, 10, 17).getTime());
  expect(parseMoment('2026-11-17 08:30', 'since', now)).toBe(new Date(2026, 10, 17, 8, 30).getTime());
  expect(parseMoment('2026-11-17T08:30:05.5Z', 'since', now)).toBe(Date.UTC(2026, 10, 17, 8, 30, 5, 500));
});

test.each(['', 'yesterday', '2026', '17.11.2026', '2026-13-45', '1w', '5'])(
  'G-5: %j is not a point in time',
  (text) => {
    expect(() => parseMoment(text, 'until')).toThrow('--until: expected a time such as 2h, 7d, 2026-11-17');
  },
);
