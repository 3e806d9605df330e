/** An object in the sense of JSON: no list, not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value that should be a text, for an error message. `String` throws for `{"toString":0}` and for deeply nested lists. */
export function quotable(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? '[list]' : '[object]';
}
