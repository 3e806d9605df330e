import { failureOfGateway, GatewayError } from '../core/errors.ts';
import { messageOf } from '../lib/log.ts';
import { INTERNAL_ERROR, type RpcFailure } from '../lib/rpc-error.ts';
import { isObject } from '../lib/values.ts';
import type { OnCancel } from './cancel-reasons.ts';
import type { Carrier } from './carrier.ts';
import { Exchange } from './exchange.ts';
import { progressTokenOf, type Params, type RequestId, type RequestMessage } from './message.ts';

/** A request of a client, from the moment it was received. */
export class ClientRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  /** The progress token of the client. */
  readonly progressToken: RequestId | undefined;
  readonly exchange: Exchange;
  readonly #carrier: Carrier;

  constructor({ id, method, params = {} }: RequestMessage, carrier: Carrier, onCancel: OnCancel) {
    this.id = id;
    this.method = method;
    this.params = params;
    this.#carrier = carrier;
    const token = progressTokenOf(params);
    this.progressToken = token;
    this.exchange = new Exchange(token === undefined ? undefined : this.#progress(token), onCancel);
    carrier.track(id, this.exchange);
  }

  #progress(progressToken: RequestId): (report: Params) => void {
    return (report) => this.notify('notifications/progress', { ...report, progressToken });
  }

  /** Sends a notification in the course of the request. */
  notify(method: string, params?: Params): void {
    this.#carrier.send({ jsonrpc: '2.0', method, ...(params && { params }) }, this.id);
  }
}

/** The error of the reply: gateway errors with the code of the table, others with their own if it is a JSON-RPC code. */
export function failureOf(error: unknown): RpcFailure {
  if (error instanceof GatewayError) return failureOfGateway(error);
  const { code, data } = isObject(error) ? error : {};
  return {
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
    message: messageOf(error),
    ...(data !== undefined && { data }),
  };
}
