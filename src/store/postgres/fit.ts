/** Finds what has to go so that the records of a session are small enough to be read. */

import { TABLES } from '../records.ts';
import { BYTES_PER_UNIT, SHARE } from '../trim.ts';
import type { Database } from './database.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

type Kind = 'event' | 'question' | 'task';
const KINDS: readonly Kind[] = ['event', 'question', 'task'];

export interface Excess {
  /** What all records take now. */
  bytes: number;
  /** The keys of the records that do not fit. */
  keys: Record<Kind, string[]>;
}

/**
 * Sizes are about those in memory, in UTF-16 units. That of a record that is too large in any case is not looked at more
 * closely, which would mean to read it.
 */
export async function excessOf(db: Database, sessionId: string, maxBytes: number): Promise<Excess> {
  const found: Excess = { bytes: 0, keys: { event: [], question: [], task: [] } };
  for (const kind of KINDS) {
    const share = maxBytes * SHARE[`${kind}s`];
    const rows = await db.read(
      `SELECT id, CASE WHEN octet_length(data) > $2::float8 THEN octet_length(data)
         ELSE greatest(length(data), octet_length(data) / 2) END AS bytes
       FROM ${SCHEMA}.${TABLES[kind]} WHERE session_id = $1 ORDER BY id DESC`,
      [keyOf(sessionId), BYTES_PER_UNIT * share],
    );
    let taken = 0;
    for (const { id, bytes } of rows) {
      const size = Number(bytes);
      found.bytes += size;
      // A record that is too large by itself does not count: it must not push out older ones.
      if (size <= share) taken += size;
      if (size > share || taken > share) found.keys[kind].push(String(id));
    }
  }
  return found;
}
