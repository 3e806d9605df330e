import { Unreachable } from './broken-wire.ts';
import type { HttpAnswer } from './http-request.ts';
import { wireWords } from './wire-words.ts';

/** How an HTTP transport reports by itself that something is wrong with the server. */
export interface HttpHealth {
  /** Certain: nothing listens there any more, or the server has forgotten our session. */
  onLost: (reason: string) => void;
  /** A connection broke: worth asking whether the server is still there. */
  onDoubt: (reason: string) => void;
}

/** Reports a request that did not get through, and throws `Unreachable` for it. */
export async function orUnreachable(
  request: Promise<HttpAnswer>,
  { origin }: URL,
  signals: readonly AbortSignal[],
  health: HttpHealth,
): Promise<HttpAnswer> {
  try {
    return await request;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (signals.some(({ aborted }) => aborted)) throw error;
    const unsent = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH';
    // The sender learns first that its request did not arrive, and can wait for the server to be back.
    if (unsent) setImmediate(() => health.onLost(message));
    else health.onDoubt(message);
    throw new Unreachable(`cannot reach ${origin}: ${wireWords(error as NodeJS.ErrnoException)}`, unsent, error);
  }
}
