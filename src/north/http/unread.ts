import type { ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';

/** Responses with fewer unread bytes are not counted. */
const SMALL = 256 * 1024;
/** Beyond this, clients that have stopped reading are disconnected. */
const MAX_STALLED_BYTES = 64 * 1024 * 1024;
/** Beyond this, others are disconnected as well, before memory runs out. */
const MAX_BYTES = Math.max(2 * MAX_STALLED_BYTES, getHeapStatistics().heap_size_limit / 4);
/** A client has stopped reading if its connection has accepted nothing for this long. */
const STALLED_MS = 5000;

/** The client that reads a response. */
export interface ResponseReader {
  principal: string;
  /** Called when the client was disconnected because it left too many bytes unread. */
  onDisconnected: (unreadBytes: number) => void;
}

interface Unread extends ResponseReader {
  /** Until when it counts as stalled, unless it stalls again. */
  stalledUntil: number;
}

const RECIPIENT = Symbol('recipient');

/** A response with its recipient: a separate map would be too slow. */
interface Addressed extends ServerResponse {
  [RECIPIENT]?: ResponseReader;
}

/** Responses with many unread bytes, the oldest first. */
const unread = new Map<ServerResponse, Unread>();

export function setRecipient(res: Addressed, recipient: ResponseReader): void {
  res[RECIPIENT] = recipient;
}

/**
 * Called after something was written. When all clients together leave too much unread, some are disconnected: first those
 * that have stopped reading, and those of the principal that leaves most unread.
 */
export function limitUnread(res: ServerResponse): void {
  if (res.writableLength <= SMALL || res.destroyed) return;
  if (!unread.has(res)) watch(res);
  disconnectSome();
}

function watch(res: Addressed): void {
  const { principal = '', onDisconnected = () => {} } = res[RECIPIENT] ?? {};
  const entry: Unread = { principal, onDisconnected, stalledUntil: 0 };
  unread.set(res, entry);
  const onTimeout = (): void => {
    if (res.writableLength <= SMALL) {
      forget();
      return;
    }
    // The next timeout fires in time to confirm this one.
    entry.stalledUntil = Date.now() + 2 * STALLED_MS;
    res.setTimeout(STALLED_MS);
    disconnectSome();
  };
  const forget = (): void => {
    if (!unread.delete(res)) return;
    res.off('timeout', onTimeout);
    if (!res.destroyed) res.setTimeout(0);
  };
  // Node counts it as activity when a connection takes a part of what was written.
  res.setTimeout(STALLED_MS, onTimeout);
  res.once('close', forget);
}

function disconnectSome(): void {
  const byPrincipal = new Map<string, number>();
  let total = 0;
  for (const [{ writableLength }, { principal }] of unread) {
    total += writableLength;
    byPrincipal.set(principal, (byPrincipal.get(principal) ?? 0) + writableLength);
  }
  while (total > MAX_STALLED_BYTES) {
    const next = nextToDisconnect(byPrincipal, total > MAX_BYTES);
    if (next === undefined) return;
    const [res, { principal, onDisconnected }] = next;
    const { writableLength } = res;
    total -= writableLength;
    byPrincipal.set(principal, (byPrincipal.get(principal) ?? 0) - writableLength);
    unread.delete(res);
    res.destroy();
    onDisconnected(writableLength);
  }
}

/**
 * The oldest response of the principal that leaves most unread, if its client has stopped reading; with `any` even if not.
 * A principal that leaves no more unread than its share is spared.
 */
function nextToDisconnect(
  byPrincipal: ReadonlyMap<string, number>,
  any: boolean,
): [ServerResponse, Unread] | undefined {
  const now = Date.now();
  const share = MAX_STALLED_BYTES / byPrincipal.size;
  const bytesOf = ([, { principal }]: [ServerResponse, Unread]): number => byPrincipal.get(principal) ?? 0;
  const crowding = [...unread].filter((each) => bytesOf(each) > share);
  const stalled = crowding.filter(([, { stalledUntil }]) => stalledUntil > now);
  const candidates = stalled.length === 0 && any ? crowding : stalled;
  const most = Math.max(...candidates.map(bytesOf));
  return candidates.find((each) => bytesOf(each) === most);
}
