/**
 * How many lists and objects inside each other a message may have. Much deeper messages can be read, but overflow the stack
 * when they are compared (from about 1200 levels) or written again (from about 4000).
 */
export const MAX_LEVELS = 1000;

/** JSON that is shorter cannot be nested too deeply: each level has two brackets. */
export const MIN_DEEP_LENGTH = 2 * MAX_LEVELS;

/** Whether a value has more than so many lists and objects inside each other. Those far deeper have no JSON. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((inner) => isDeeperThan(inner, levels - 1));
  for (const key in value) if (isDeeperThan((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}
