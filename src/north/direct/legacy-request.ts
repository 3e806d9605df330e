import type { Gateway } from '../../core/gateway.ts';
import type { HelperTools } from '../all/helper-tools.ts';
import type { Progress } from '../../core/ports/connection.ts';
import type { Session } from '../../core/session/session.ts';
import type { Carrier } from '../carrier.ts';
import type { ClientRequest } from '../client-request.ts';
import type { Exchange } from '../exchange.ts';
import type { Clock } from '../../lib/clock.ts';
import { Delayed } from '../../lib/timers.ts';
import type { Params, RequestId } from '../message.ts';
import type { ClientPeer } from '../peer.ts';
import { whileWaiting } from '../waiting.ts';
import type { Shown } from './shown.ts';

/** How often a waiting client without progress is pinged, so that no proxy closes the stream. */
const PING_MS = 10_000;

export interface LegacyViewParts {
  gateway: Gateway;
  session: Session;
  shown: Shown;
  carrier: Carrier;
  /** For a client without native tasks and questions. */
  helpers?: HelperTools | undefined;
  /** There is no hub where others could answer questions that this client does not support. */
  alone?: boolean;
}

/** One request of a client with a session. */
export class LegacyRequest {
  /** The client's id of the request, which also names the stream on which the client waits. */
  readonly id: RequestId;
  readonly progressToken: RequestId | undefined;
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly #pings: Pings;
  #isPinged = false;

  constructor({ id, progressToken, exchange }: ClientRequest, clock: Clock, pings: Pings) {
    this.id = id;
    this.progressToken = progressToken;
    this.exchange = exchange;
    this.clock = clock;
    this.#pings = pings;
  }

  /** Runs long work while the client waits, with progress or pings. */
  async waiting<T>(
    what: string,
    work: Parameters<typeof whileWaiting<T>>[2],
    marked?: (progress: Progress) => Progress,
  ): Promise<T> {
    if (this.exchange.progress !== undefined) return whileWaiting(this, what, work, marked);
    // Waits may be nested.
    if (this.#isPinged) return work(() => {});
    this.#isPinged = true;
    this.#pings.add(this);
    try {
      return await work(() => {});
    } finally {
      this.#pings.delete(this);
      this.#isPinged = false;
    }
  }
}

/** The waiting requests of clients without progress, which are pinged on their streams. */
export type Pings = Delayed<LegacyRequest>;

export function pingsTo(peer: ClientPeer, clock: Clock): Pings {
  const pings: Pings = new Delayed(
    PING_MS,
    (request) => {
      pings.add(request);
      if (!request.exchange.reaches) return;
      // A client that answers no pings may still be waiting.
      peer.request('ping', undefined, { on: request.id, timeoutMs: PING_MS }).catch(() => {});
    },
    clock,
  );
  return pings;
}

/** Sends a notification, on the stream of one of the client's requests if it belongs there. */
export function tellClient(
  { carrier }: { carrier: Carrier },
  method: string,
  params: Params | undefined,
  on?: RequestId,
): void {
  carrier.send({ jsonrpc: '2.0', method, ...(params && { params }) }, on);
}
