import { ServerFailure } from '../../lib/server-failure.ts';
import { Unreachable } from './broken-wire.ts';
import type { HttpAnswer, HttpExchange } from './http-pool.ts';
import { networkFailure } from './network-failure.ts';

/** How an HTTP transport reports problems with the server. */
export interface HttpHealth {
  /** Certain: nothing listens there any more, or the server has forgotten our session. */
  onLost: (failure: ServerFailure) => void;
  /** A connection broke: worth checking whether the server is alive. */
  onDoubt: (reason: string) => void;
}

/** Nothing is at the address. */
const NOBODY_THERE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH']);

/** Waits for the response. Reports a request that did not get through, and throws `Unreachable` for it. */
export function answerOf(exchange: HttpExchange, health: HttpHealth): Promise<HttpAnswer> {
  return exchange.answer.catch((error: unknown) => {
    if (exchange.aborted) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const { failure, message } = networkFailure(error as NodeJS.ErrnoException);
    // The fault is in the request, such as a header that cannot be written; nothing is wrong with the server.
    if (code === 'UND_ERR_INVALID_ARG') throw new ServerFailure(failure, message, { cause: error });
    const unreachable = new Unreachable(failure, message, !exchange.sent, error);
    // The sender learns first that its request did not arrive, and can wait for the server to be back.
    if (code !== undefined && NOBODY_THERE.has(code)) setImmediate(() => health.onLost(unreachable));
    else health.onDoubt(message);
    throw unreachable;
  });
}
