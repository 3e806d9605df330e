import type { ServerResponse } from 'node:http';
import { limitUnread } from './unread.ts';

export const KEEP_ALIVE_MS = 15_000;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** An answer that stays open, with something on it now and then, so that nobody on the way takes it for dead. */
export function beginStream(res: ServerResponse): void {
  res.writeHead(200, STREAM_HEADERS);
  const beat = setInterval(() => {
    // One that was ended stays open until a slow client has read all of it.
    if (!res.writableEnded) res.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  beat.unref();
  res.once('close', () => clearInterval(beat));
}

/** A client that does not read must not fill the memory: it is cut off, and may come back. */
export function say(res: ServerResponse, event: string): void {
  if (res.writableLength > MAX_UNREAD_BYTES) res.destroy();
  else {
    res.write(event);
    limitUnread(res);
  }
}

export function frame(message: unknown): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
