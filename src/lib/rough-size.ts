/** The approximate size of a number, a key or an object besides its text. */
const OVERHEAD = 8;

/** The approximate size of a JSON value in bytes, counted only until `limit` is passed. */
export function roughSize(value: unknown, limit: number): number {
  const pending: object[] = [];
  /** Counts a string or number, and queues lists and objects. */
  const take = (next: unknown): number => {
    if (typeof next === 'string') return OVERHEAD + next.length;
    if (typeof next === 'object' && next !== null) pending.push(next);
    return OVERHEAD;
  };
  let size = take(value);
  for (let next = pending.pop(); next !== undefined && size <= limit; next = pending.pop()) {
    if (Array.isArray(next)) {
      // A list whose number of entries alone passes the limit is not read.
      if (size + next.length * OVERHEAD > limit) return size + next.length * OVERHEAD;
      for (const entry of next) size += take(entry);
    } else {
      for (const key in next) size += key.length + take((next as Record<string, unknown>)[key]);
    }
  }
  return size;
}
