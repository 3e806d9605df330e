/** Receives the requests that other gateways forward. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { statesKey } from '../../core/cluster/claims.ts';
import type { Identity } from '../../core/ports/identity.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { respondError } from '../http/response.ts';
import { DELIVERY, FORWARDED, type ForwardedRequest } from '../http/addressed.ts';
import { Arrivals } from './arrivals.ts';
import type { Forwarded } from './forwarded-header.ts';
import { Verifier } from './signer.ts';
import { StandIns } from './stand-ins.ts';
import type { ForwardStore } from './owners.ts';

/** In a response: the gateway that refused the request and has done nothing. */
export const REFUSED_BY = 'meanwhile-refused-by';

export interface Received extends ForwardedRequest, Identity {}

export class Receiver {
  readonly #store: ForwardStore;
  readonly #log: Log;
  readonly #verifier: Verifier;
  readonly #standIns: StandIns;
  readonly #arrivals = new Arrivals();

  constructor({ store, clock, log }: { store: ForwardStore; clock: Clock; log: Log }) {
    this.#store = store;
    this.#verifier = new Verifier(store, clock);
    this.#log = log;
    this.#standIns = new StandIns(clock);
  }

  /** The request of another gateway's client; `undefined` if it was refused, since a client may have sent the header itself. */
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
    // The forwarding gateway sets these headers itself, and HTTP/1.1 keeps connections open by default.
    res.sendDate = false;
    res.removeHeader('connection');
    const { principal, facts, sender, recipient, connection } = forwarded;
    if (recipient !== this.#store.gatewayId) {
      this.refuse(res);
      return undefined;
    }
    const [request, confirmed] = String(req.headers[DELIVERY] ?? '').split(' ');
    if (confirmed !== undefined) this.#arrivals.confirm(sender, confirmed);
    // Requests that only confirm have no number, and need no confirmation.
    if (Number(request) > 0) this.#arrivals.expect(sender, Number(request), res);
    return { principal, facts, connection: this.#standIns.of(sender, connection, res) };
  }

  /** The number of unconfirmed responses to clients of other gateways. */
  get unconfirmed(): number {
    return this.#arrivals.open;
  }

  /** Reports that this gateway does not own the session and has done nothing. */
  refuse(res: ServerResponse): void {
    const headers = { [REFUSED_BY]: this.#store.gatewayId };
    respondError(res, 421, -32000, 'Misdirected Request: another gateway has the session', { headers });
  }

  #read(req: IncomingMessage): Forwarded {
    const { headers } = req;
    const forwarded = this.#verifier.read(req, String(headers[FORWARDED]));
    const { key, principal } = forwarded;
    if (key !== '' && key !== headers['mcp-session-id'] && key !== statesKey(principal)) {
      throw new Error(`the header ${FORWARDED} is about another session`);
    }
    return forwarded;
  }
}
