/** Durations and sizes as people write and read them. */

import { MAX_DELAY_MS } from '../lib/clock.ts';
import { UsageError } from './flags.ts';

const UNITS = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** `500ms`, `30s`, `1.5m`, `2h`, `7d`; a number alone means seconds. At most what a timer can wait. */
export function parseDuration(text: string, flag: string): number {
  const ms = milliseconds(text);
  if (ms >= 1 && ms <= MAX_DELAY_MS) return ms;
  throw new UsageError(`--${flag}: expected a time such as 30s, 5m or 500ms, got '${text}'`);
}

/** For deletions, where a mistake is costly: the unit is required. There is no upper limit. */
export function parseAge(text: string, flag: string): number {
  const ms = /[a-z]\s*$/.test(text) ? milliseconds(text) : NaN;
  if (ms >= 1 && ms <= Number.MAX_SAFE_INTEGER) return ms;
  throw new UsageError(`--${flag}: expected a time with its unit, as in 12h or 7d, got '${text}'`);
}

/** A time: an age such as `2h`, or a date with or without a time of day, in the local time zone. */
export function parseMoment(text: string, flag: string, now: number = Date.now()): number {
  const ago = /[a-z]\s*$/.test(text) ? milliseconds(text) : NaN;
  if (ago >= 0) return now - ago;
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    text.trim(),
  );
  // A date alone would be parsed as UTC.
  const moment = isDate
    ? Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? `${text.trim()}T00:00` : text.trim())
    : NaN;
  if (moment >= 0) return moment;
  throw new UsageError(`--${flag}: expected a time such as 2h, 7d, 2026-11-17 or 2026-11-17T08:30, got '${text}'`);
}

function milliseconds(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  return Math.round(Number(amount) * (UNITS.get(unit) ?? 1));
}

/** For people: `0s`, `59s`, `1m 05s`, `2h 03m`. */
export function showDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}

/** How long ago a moment was. */
export function showAge(moment: number): string {
  return `${showDuration(Math.max(0, Date.now() - moment))} ago`;
}

/** For people: `1 byte`, `1.5 kB`, `2.0 MB`. */
export function showBytes(count: number): string {
  if (count < 1000) return `${count} byte${count === 1 ? '' : 's'}`;
  const [divisor, unit] = count < 1_000_000 ? [1000, 'kB'] : [1_000_000, 'MB'];
  return `${(count / divisor).toFixed(1)} ${unit}`;
}
