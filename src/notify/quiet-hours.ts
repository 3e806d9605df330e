import type { QuietHours } from './settings.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** The moment itself, or the end of the quiet hours that it is in. */
export function afterQuietHours(quiet: QuietHours | undefined, moment: number): number {
  if (quiet === undefined) return moment;
  const [from, to, now] = [minuteIn(quiet.from), minuteIn(quiet.to), minuteOfDay(moment, quiet.timeZone)];
  const isQuiet = from <= to ? now >= from && now < to : now >= from || now < to;
  if (!isQuiet) return moment;
  const minutes = (to - now + DAY_MINUTES) % DAY_MINUTES;
  return moment - (moment % MINUTE_MS) + minutes * MINUTE_MS;
}

function minuteIn(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

function minuteOfDay(moment: number, timeZone: string | undefined): number {
  const format = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone });
  return minuteIn(format.format(moment));
}
