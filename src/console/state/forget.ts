/** A page that is open for days must not grow with everything that happens. */

import type { Collection } from './collection.ts';

interface Rule<T> {
  /** How many items are remembered at least. */
  keep: number;
  /** `undefined` if the item must stay. */
  endedAt: (item: T) => number | undefined;
}

/** Removes the items that ended first. Not at each new one, since that would take long. */
export function forgetOldest<T extends { id: string }>(items: Collection<T>, { keep, endedAt }: Rule<T>): void {
  if (items.size <= keep * 1.2) return;
  const ended = items.all().flatMap((item) => {
    const at = endedAt(item);
    return at === undefined ? [] : [{ id: item.id, at }];
  });
  const oldest = ended.toSorted((a, b) => a.at - b.at).slice(0, items.size - keep);
  for (const { id } of oldest) items.delete(id);
}
