/** Times, durations and sizes for people. */

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** `850 ms`, `4.2 s`, `1 m 05 s`, `3 h 20 m`. */
export function duration(ms: number): string {
  const value = Math.max(0, ms);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${(Math.floor(value / 100) / 10).toFixed(1)} s`;
  if (value < MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < HOUR) return `${Math.floor(value / MINUTE)} m ${two((value % MINUTE) / SECOND)} s`;
  if (value < DAY) return `${Math.floor(value / HOUR)} h ${two((value % HOUR) / MINUTE)} m`;
  return `${Math.floor(value / DAY)} d ${Math.floor((value % DAY) / HOUR)} h`;
}

/** A duration that changes only once a second: `12 s`, `4 m`, `2 h`. */
export function roughly(ms: number): string {
  const value = Math.max(0, ms);
  if (value < MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < HOUR) return `${Math.floor(value / MINUTE)} m`;
  if (value < DAY) return `${Math.floor(value / HOUR)} h`;
  return `${Math.floor(value / DAY)} d`;
}

export function ago(at: number, now: number): string {
  const passed = now - at;
  return passed < 5 * SECOND ? 'just now' : `${roughly(passed)} ago`;
}

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

export function moment(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(count < 10_240 ? 1 : 0)} KB`;
  return `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
