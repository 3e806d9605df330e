import type { ServerFailure } from '../../lib/server-failure.ts';
import { Unreachable } from './broken-wire.ts';
import type { HttpAnswer, HttpExchange } from './http-pool.ts';
import { networkFailure } from './network-failure.ts';

/** How an HTTP transport reports by itself that something is wrong with the server. */
export interface HttpHealth {
  /** Certain: nothing listens there any more, or the server has forgotten our session. */
  onLost: (failure: ServerFailure) => void;
  /** A connection broke: worth asking whether the server is still there. */
  onDoubt: (reason: string) => void;
}

/** Waits for the response. Reports a request that did not get through, and throws `Unreachable` for it. */
export async function answerOf(exchange: HttpExchange, health: HttpHealth): Promise<HttpAnswer> {
  try {
    return await exchange.answer;
  } catch (error) {
    if (exchange.aborted) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const { failure, message } = networkFailure(error as NodeJS.ErrnoException);
    const unsent = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH';
    // The sender learns first that its request did not arrive, and can wait for the server to be back.
    const unreachable = new Unreachable(failure, message, unsent, error);
    if (unsent) setImmediate(() => health.onLost(unreachable));
    else health.onDoubt(message);
    throw unreachable;
  }
}
