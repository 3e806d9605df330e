/** Length of all strings in a value, counted only until `limit` is passed: cheap for what is small. */
export function roughSize(value: unknown, limit: number): number {
  let size = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0 && size <= limit) {
    const next = pending.pop();
    if (typeof next === 'string') size += next.length;
    else if (typeof next === 'object' && next !== null) {
      for (const [key, inner] of Object.entries(next)) {
        size += key.length;
        pending.push(inner);
      }
    } else size += 8;
  }
  return size;
}
