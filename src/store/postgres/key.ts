import { createHash } from 'node:crypto';

/** Longer ones may not fit into an index. */
const MAX_LENGTH = 512;

/**
 * The id of a record, or the name of a principal, in a column: unchanged, or its hash if PostgreSQL could not store it. Starts
 * with a quote if and only if it is a hash; the record itself has the original id.
 */
export function keyOf(id: string): string {
  const isKept = id.length <= MAX_LENGTH && !id.startsWith('"') && !/\0|\p{Surrogate}/u.test(id);
  // As JSON, since in UTF-8 all halves of a surrogate pair would be the same.
  return isKept ? id : `"${createHash('sha256').update(JSON.stringify(id)).digest('hex')}`;
}

export const isHashed = (key: string): boolean => key.startsWith('"');
