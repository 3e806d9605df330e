/** The approximate size of a number, a key or an object besides its text. */
const OVERHEAD = 8;

/** The approximate size of a JSON value in bytes, counted only until `limit` is passed. */
export function roughSize(value: unknown, limit: number): number {
  let size = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0 && size <= limit) {
    const next = pending.pop();
    size += OVERHEAD;
    if (typeof next === 'string') size += next.length;
    else if (Array.isArray(next)) size += pushAll(next, pending, limit - size);
    else if (typeof next === 'object' && next !== null) {
      for (const key in next) {
        size += key.length;
        pending.push((next as Record<string, unknown>)[key]);
      }
    }
  }
  return size;
}

/** A list whose number of entries alone passes the limit is not read. */
function pushAll(entries: unknown[], pending: unknown[], room: number): number {
  if (entries.length * OVERHEAD > room) return entries.length * OVERHEAD;
  for (const entry of entries) pending.push(entry);
  return 0;
}
