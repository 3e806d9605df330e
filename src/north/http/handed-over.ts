import type { ServerResponse } from 'node:http';

/**
 * Tells once whether all of an answer was handed to a client that was still there. Node calls an answer finished also
 * when its connection broke while it was being written; whether it did, only the socket knows, and only a moment later.
 */
export function onceHandedOver(res: ServerResponse, tell: (complete: boolean) => void): void {
  const { socket } = res.req;
  let told = false;
  const once = (complete: boolean): void => {
    if (told) return;
    told = true;
    tell(complete);
  };
  res.once('finish', () => process.nextTick(() => once(socket.errored === null)));
  // Also follows a finished answer, but then later than the word on it.
  res.once('close', () => process.nextTick(() => once(false)));
}
