import { MAX_DELAY_MS } from '../lib/timers.ts';
import { UsageError } from './flags.ts';

const UNITS = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** `500ms`, `30s`, `1.5m`, `2h`, `7d`; a number alone is seconds. No longer than a timer can run, unless told otherwise. */
export function parseDuration(text: string, flag: string, most: number = MAX_DELAY_MS): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  const ms = Math.round(Number(amount) * (UNITS.get(unit) ?? 1));
  if (!(ms >= 1 && ms <= most)) {
    throw new UsageError(`--${flag}: expected a time such as 30s, 5m or 500ms, got '${text}'`);
  }
  return ms;
}

/** For people: `0s`, `59s`, `1m 05s`, `2h 03m`. */
export function showDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}
