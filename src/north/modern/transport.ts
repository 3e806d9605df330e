import type { ServerResponse } from 'node:http';
import type { Session } from '../../core/session/session.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import {
  beginStream,
  frame,
  listenToResponse,
  respondError,
  respondJson,
  writeEvent,
  type ResponseListener,
} from '../http/response.ts';
import { limitUnread } from '../http/unread.ts';
import { messageText } from '../kept-results.ts';
import { HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION } from '../../lib/rpc-error.ts';
import { type OutgoingMessage, type RequestId } from '../message.ts';

/** The HTTP status that the specification assigns to errors. */
const STATUS: Record<number, number> = {
  [METHOD_NOT_FOUND]: 404,
  [HEADER_MISMATCH]: 400,
  [MISSING_CAPABILITY]: 400,
  [UNSUPPORTED_VERSION]: 400,
};

export function statusOf(code: number, otherwise: number): number {
  return STATUS[code] ?? otherwise;
}

/** The response to one request of a modern client: plain JSON, or a stream if anything is sent before the reply. */
export class RequestTransport implements Carrier, ResponseListener {
  readonly #res: ServerResponse;
  readonly #isInDoubt: () => boolean;
  readonly #onOver: (transport: RequestTransport) => void;
  #exchange: Exchange | undefined;
  /** The session of the request, once known. */
  session: Session | undefined;

  /**
   * `onOver` is called when the answer is sent or the client has left. While it is uncertain whether another gateway owns the session,
   * nothing may be sent.
   */
  constructor(res: ServerResponse, onOver: (transport: RequestTransport) => void, isInDoubt = () => false) {
    this.#res = res;
    this.#isInDoubt = isInDoubt;
    this.#onOver = onOver;
    listenToResponse(res, this);
  }

  onHandedOver(complete: boolean, mayHaveArrived: boolean): void {
    this.#onOver(this);
    if (mayHaveArrived && this.#exchange) this.#exchange.mayHaveArrived = true;
    if (complete) this.#exchange?.settle(true);
    else this.#exchange?.closed();
  }

  track(_id: RequestId, exchange: Exchange): void {
    this.#exchange = exchange;
  }

  /** A request is cancelled by leaving it. */
  abandon(): void {}

  /** There is no standing stream: whatever is sent belongs to the request. */
  reaches(): boolean {
    return false;
  }

  send(message: OutgoingMessage): void {
    const res = this.#res;
    if (this.over) return;
    if (this.#isInDoubt()) {
      res.destroy();
      return;
    }
    if ('method' in message) {
      if (!res.headersSent) beginStream(res);
      writeEvent(res, frame(messageText(message)));
      return;
    }
    if (res.headersSent) {
      res.end(frame(messageText(message)));
      limitUnread(res);
      return;
    }
    respondJson(res, 'error' in message ? statusOf(message.error.code, 200) : 200, messageText(message));
  }

  /** Another gateway owns the session: nothing more may be sent to the client. */
  hangUp(): void {
    this.#res.destroy();
  }

  /** The gateway shuts down. */
  stop(): void {
    // A reply sent through another gateway may arrive without a confirmation.
    if (this.#exchange && this.over) this.#exchange.mayHaveArrived = true;
    this.#exchange?.clientLeft();
    // Messages sent from now on are not its reply.
    this.#exchange = undefined;
    if (this.#res.headersSent) this.#res.end();
    else respondError(this.#res, 503, -32000, 'the gateway is shutting down; try again later');
  }

  /** Whether the response is complete, or its client has left. */
  get over(): boolean {
    return this.#res.writableEnded || this.#res.destroyed;
  }
}
