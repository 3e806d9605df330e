/**
 * How deeply lists and objects may be nested in a message. Much deeper messages can be read, but overflow the stack
 * when they are compared (from about 1200 levels) or written again (from about 4000).
 */
export const MAX_LEVELS = 1000;

/** JSON that is shorter cannot be nested too deeply: each level has two brackets. */
export const MIN_DEEP_LENGTH = 2 * MAX_LEVELS;

/** Whether lists and objects are nested more deeply than this. Much deeper values cannot be serialized. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  return isNested(value) && isNestedDeeper(value, levels);
}

type Nested = unknown[] | Record<string, unknown>;

function isNested(value: unknown): value is Nested {
  return typeof value === 'object' && value !== null;
}

/** Avoids a call for each string and number, of which large results have many. */
function isNestedDeeper(value: Nested, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isNested(inner) && isNestedDeeper(inner, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const inner = value[key];
    if (isNested(inner) && isNestedDeeper(inner, levels - 1)) return true;
  }
  return false;
}
