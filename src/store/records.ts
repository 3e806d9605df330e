/** The records of a store, on every engine. */

import { parseExact } from '../lib/exact-json.ts';
import { isObject } from '../lib/values.ts';
import type { OwnedKind, RecordKind, Records } from './queue.ts';

export const TABLES: Record<RecordKind, string> = {
  session: 'sessions',
  task: 'tasks',
  question: 'questions',
  event: 'events',
  subscription: 'subscriptions',
  server: 'servers',
};

export const OWNED_BY_A_SESSION: readonly OwnedKind[] = ['task', 'question', 'event', 'subscription'];

export interface UnreadableRecord {
  kind: RecordKind;
  id: string;
  reason: string;
}

/** The required fields of each kind of record, and their types. */
const REQUIRED: Record<RecordKind, Record<string, 'string' | 'number' | 'object'>> = {
  session: {
    id: 'string',
    principal: 'string',
    createdAt: 'number',
    lastActiveAt: 'number',
    view: 'object',
    owner: 'object',
  },
  task: { id: 'string', sessionId: 'string', server: 'string', tool: 'string', args: 'object', status: 'string' },
  question: { id: 'string', sessionId: 'string', server: 'string', kind: 'string', params: 'object', link: 'object' },
  event: { id: 'string', sessionId: 'string', type: 'string', data: 'object' },
  subscription: { id: 'string', sessionId: 'string', server: 'string', uri: 'string' },
  server: { id: 'string', owner: 'string', name: 'string', config: 'object' },
};

/** The store put the record there for this kind; only another program, or a failing disk, can have changed it. */
export function readRecord<K extends RecordKind>(kind: K, data: string): Records[K] {
  const record: unknown = parseExact(data);
  if (!isObject(record)) throw new Error('it is not an object');
  for (const [field, type] of Object.entries(REQUIRED[kind])) {
    const value = record[field];
    if (typeof value !== type || value === null) throw new Error(`'${field}' is not of type ${type}`);
  }
  return record as unknown as Records[K];
}
