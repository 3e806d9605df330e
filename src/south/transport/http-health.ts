import type { ServerFailure } from '../../lib/server-failure.ts';
import { Unreachable } from './broken-wire.ts';
import { httpRequest, type HttpAnswer, type HttpRequest } from './http-request.ts';
import { networkFailure } from './network-failure.ts';

/** How an HTTP transport reports by itself that something is wrong with the server. */
export interface HttpHealth {
  /** Certain: nothing listens there any more, or the server has forgotten our session. */
  onLost: (failure: ServerFailure) => void;
  /** A connection broke: worth asking whether the server is still there. */
  onDoubt: (reason: string) => void;
}

/** Reports a request that did not get through, and throws `Unreachable` for it. */
export async function exchange(request: HttpRequest, health: HttpHealth): Promise<HttpAnswer> {
  try {
    return await httpRequest(request);
  } catch (error) {
    if (request.signals.some(({ aborted }) => aborted)) throw error;
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
