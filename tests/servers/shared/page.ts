/** A cursor this server never handed out. Both SDKs put an integer `code` on the wire as it is. */
class InvalidCursor extends Error {
  readonly code = -32602;
  constructor(cursor: string) {
    super(`Invalid cursor: ${cursor}`);
  }
}

export interface Page<T> {
  readonly items: T[];
  /** Spread into a list result: absent on the last page. */
  readonly next: { nextCursor?: string };
}

export function page<T>(all: readonly T[], size: number, cursor: string | undefined): Page<T> {
  const start = cursor === undefined ? 0 : offsetOf(cursor, all.length);
  const end = start + size;
  return { items: all.slice(start, end), next: end < all.length ? { nextCursor: cursorAt(end) } : {} };
}

function cursorAt(offset: number): string {
  return Buffer.from(`offset:${offset}`).toString('base64url');
}

function offsetOf(cursor: string, length: number): number {
  const match = /^offset:(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString());
  const offset = Number(match?.[1]);
  if (!Number.isInteger(offset) || offset >= length) throw new InvalidCursor(cursor);
  return offset;
}
