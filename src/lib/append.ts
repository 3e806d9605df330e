/** Adds to a list that has at most one entry nearly always: V8 makes room for 17 when it adds to an empty one. */
export function append<T>(list: T[] | undefined, entry: T): T[] {
  if (list === undefined || list.length === 0) return [entry];
  list.push(entry);
  return list;
}
