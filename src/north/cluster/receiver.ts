/** Receives the requests that other gateways forward. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { statesKey } from '../../core/cluster/claims.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { respondError, setConfirmation } from '../http/response.ts';
import { FORWARDED, type ForwardedRequest } from '../http/addressed.ts';
import { readForwarded, type Forwarded } from './forwarded-header.ts';
import { StandIns } from './stand-ins.ts';
import type { ForwardStore } from './owners.ts';

/** In a response: the gateway that answers, which has not done what was asked. */
export const REFUSED_BY = 'meanwhile-refused-by';

export interface Received extends ForwardedRequest {
  principal: string;
}

export class Receiver {
  readonly #store: ForwardStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #standIns: StandIns;

  constructor({ store, clock, log }: { store: ForwardStore; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#standIns = new StandIns(clock);
  }

  /** The request of another gateway's client; nothing if it was refused, for a client may have sent the header itself. */
  receive(req: IncomingMessage, res: ServerResponse): Received | undefined {
    let forwarded: Forwarded;
    try {
      forwarded = this.#read(req);
    } catch (error) {
      const message = messageOf(error);
      this.#log.warn('forwarded_request_refused', { error: message });
      respondError(res, 403, -32000, message, { headers: { [REFUSED_BY]: this.#store.gatewayId } });
      return undefined;
    }
    const { principal, sender, recipient, connection, bodyBytes } = forwarded;
    if (recipient !== this.#store.gatewayId) {
      this.refuse(res);
      return undefined;
    }
    setConfirmation(res, (listener) => whenConfirmed(req, listener));
    if (bodyBytes === 0) req.resume();
    return { principal, connection: this.#standIns.of(sender, connection, res), bodyBytes };
  }

  /** This gateway does not have the session, and has done nothing. */
  refuse(res: ServerResponse): void {
    const headers = { [REFUSED_BY]: this.#store.gatewayId };
    respondError(res, 421, -32000, 'Misdirected Request: another gateway has the session', { headers });
  }

  #read({ headers, method = '', url: path = '' }: IncomingMessage): Forwarded {
    const header = String(headers[FORWARDED]);
    const forwarded = readForwarded(this.#store.key, { method, path }, header, this.#clock.now());
    const { key, principal } = forwarded;
    if (key !== '' && key !== headers['mcp-session-id'] && key !== statesKey(principal)) {
      throw new Error(`the header ${FORWARDED} is about another session`);
    }
    return forwarded;
  }
}

/** The other gateway ends its request when the client has received the response, and breaks it off if that has failed. */
function whenConfirmed(req: IncomingMessage, listener: (received: boolean) => void): void {
  if (req.readableEnded || req.destroyed) {
    listener(req.readableEnded);
    return;
  }
  const { socket } = req;
  const onEnd = (): void => {
    socket.off('close', onClose);
    listener(true);
  };
  const onClose = (): void => {
    req.off('end', onEnd);
    listener(false);
  };
  req.once('end', onEnd);
  socket.once('close', onClose);
}
