import type { ServerResponse } from 'node:http';

/** What clients have not read yet, of less than this nobody keeps account. */
const SMALL = 256 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/** Responses with much that their clients have not read, the oldest first. */
const unread = new Set<ServerResponse>();

/**
 * Called after something was written. When all clients together leave too much unread, those are disconnected that have
 * been slow for the longest time.
 */
export function limitUnread(res: ServerResponse): void {
  if (res.writableLength <= SMALL || res.destroyed) return;
  if (!unread.has(res)) {
    unread.add(res);
    res.once('close', () => unread.delete(res));
  }
  let total = 0;
  for (const each of unread) total += each.writableLength;
  for (const slow of unread) {
    if (total <= MAX_TOTAL_BYTES) return;
    total -= slow.writableLength;
    slow.destroy();
  }
}
