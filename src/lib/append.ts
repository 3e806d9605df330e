/** Appends to a list that almost always has at most one entry. Pushing to an empty array would make V8 allocate 17 slots. */
export function append<T>(list: T[] | undefined, entry: T): T[] {
  if (list === undefined || list.length === 0) return [entry];
  list.push(entry);
  return list;
}
