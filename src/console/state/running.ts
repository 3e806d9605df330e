/** Reads all calls that have not ended. */

import { get } from '../wire/api.ts';
import type { Call, Page } from '../../lib/api-items.ts';

const LIMIT = 200;

/** A call that people see as running has one of two states in the gateway. */
export async function readRunning(filter: Record<string, string | undefined> = {}): Promise<Call[]> {
  const read = async (status: string): Promise<Call[]> =>
    readAll(async (cursor) => get<Page<Call>>('/api/v1/calls', { ...filter, status, limit: LIMIT, cursor }));
  return (await Promise.all([read('running'), read('waiting')])).flat();
}

export async function readAll<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await read(cursor);
    all.push(...items);
    cursor = next;
  } while (cursor !== undefined);
  return all;
}
