import { summary } from './schema/issue.ts';
import type { Schema } from './schema/kinds.ts';

/** Reads a stored value. Throws if it has another shape: another version of the program stored it, or it was damaged. */
export function readStored<T>(schema: Schema<T>, stored: unknown, name: string): T {
  const read = schema.safeParse(stored);
  if (read.success) return read.data;
  throw new Error(`${name} cannot be read: ${summary(read.issues)}`);
}
