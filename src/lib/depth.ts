/**
 * How many lists and objects inside each other a message may have. Much deeper messages can be read, but overflow the stack
 * when they are compared (from about 1200 levels) or written again (from about 4000).
 */
export const MAX_LEVELS = 1000;

/** Whether a value has more than so many lists and objects inside each other. Those far deeper have no JSON. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (depth >= levels) return true;
      for (const inner of Array.isArray(each) ? (each as unknown[]) : Object.values(each)) {
        if (typeof inner === 'object' && inner !== null) next.push(inner);
      }
    }
    level = next;
  }
  return false;
}
