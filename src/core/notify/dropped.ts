/** Counts notifications that were dropped because too many were queued, in one store counter per day. */

import { isoTime } from '../../lib/clock.ts';
import type { Store } from '../ports/store.ts';

const DAY_MS = 86_400_000;

type Counters = Pick<Store, 'addToCounter'>;

const add = async (counters: Counters, at: number, count: number): Promise<number> => {
  const day = isoTime(at).slice(0, 10);
  return counters.addToCounter(`notifications dropped ${day}`, count, Date.parse(day) + 3 * DAY_MS);
};

export async function countDropped(counters: Counters, now: number, count: number): Promise<void> {
  await add(counters, now, count);
}

/** The count since the start of the previous day, in UTC. */
export async function droppedLately(counters: Counters, now: number): Promise<number> {
  return (await add(counters, now, 0)) + (await add(counters, now - DAY_MS, 0));
}
