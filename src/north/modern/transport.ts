import type { ServerResponse } from 'node:http';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import { ModernTransport } from '../../lib/sdk/modern-transport.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import { beginStream, frame, onceHandedOver, respondError, respondJson, writeEvent } from '../http/response.ts';
import { limitUnread } from '../http/unread.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** The HTTP status of errors for which the specification names one. */
const STATUS: Record<number, number> = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

export function statusOf(code: number, otherwise: number): number {
  return STATUS[code] ?? otherwise;
}

/**
 * One message of a client without sessions, and the answer to it: plain JSON, or a stream if anything is sent before the
 * reply.
 */
export class RequestTransport extends ModernTransport implements Carrier {
  readonly #res: ServerResponse;
  #exchange: Exchange | undefined;

  /** `onOver` is called when the answer is out, or the client gone. */
  constructor(res: ServerResponse, onOver: (transport: RequestTransport) => void) {
    super();
    this.#res = res;
    onceHandedOver(res, (complete) => {
      onOver(this);
      if (complete) {
        this.#exchange?.settle(true);
        return;
      }
      this.#exchange?.closed();
      this.#end();
    });
  }

  track(_id: RequestId, exchange: Exchange): void {
    this.#exchange = exchange;
  }

  /** A request is cancelled by leaving it. */
  abandon(): void {}

  deliver(message: JSONRPCRequest | JSONRPCNotification): void {
    if (this.#over) return;
    this.receive(message);
    if (!('id' in message)) this.#res.writeHead(202).end();
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const res = this.#res;
    if (this.#over) return;
    if ('method' in message) {
      if (options?.relatedRequestId === undefined) return;
      if (!res.headersSent) beginStream(res);
      writeEvent(res, frame(stringifyExact(message)));
      return;
    }
    if (res.headersSent) {
      res.end(frame(stringifyExact(message)));
      limitUnread(res);
      return;
    }
    respondJson(res, 'error' in message ? statusOf(message.error.code, 200) : 200, stringifyExact(message));
  }

  /** The program ends. */
  stop(): void {
    this.#exchange?.clientLeft();
    this.#end();
    if (this.#res.headersSent) this.#res.end();
    else respondError(this.#res, 503, -32000, 'the gateway is shutting down; try again later');
  }

  get #over(): boolean {
    return this.#res.writableEnded || this.#res.destroyed;
  }

  #end(): void {
    // Whatever goes out now is not its reply.
    this.#exchange = undefined;
    void this.close();
  }
}
