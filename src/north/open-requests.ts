import { InFlight } from '../lib/in-flight.ts';
import { stringifyInTurns } from '../lib/json-in-turns.ts';
import { roughSize } from '../lib/rough-size.ts';
import type { OnCancel } from './cancel-reasons.ts';
import type { Carrier } from './carrier.ts';
import { ClientRequest, failureOf } from './client-request.ts';
import { isKept } from './kept-results.ts';
import type { ErrorMessage, Params, RequestId, RequestMessage, ResultMessage, WrittenReply } from './message.ts';

type Reply = ResultMessage | WrittenReply | ErrorMessage;

/** Larger results are written over several turns of the event loop. */
const LARGE_RESULT = 2 * 1024 * 1024;

/** Resolves with the result of a request; rejects with the error of the reply. */
export type Handler = (request: ClientRequest) => Promise<Params> | Params;

/** The open requests of one client. */
export class OpenRequests {
  readonly #open = new InFlight<RequestId, ClientRequest>();
  readonly #carrier: Carrier;
  readonly #onCancel: OnCancel;

  constructor(carrier: Carrier, onCancel: OnCancel) {
    this.#carrier = carrier;
    this.#onCancel = onCancel;
  }

  /** Handles a request, and sends the reply unless the request was cancelled. */
  answer(message: RequestMessage, handle: Handler): Promise<void> {
    const request = new ClientRequest(message, this.#carrier, this.#onCancel);
    const { id } = request;
    this.#open.add(id, request);
    return handled(request, handle, (reply) => {
      if (this.#open.get(id) !== request) return;
      this.#open.delete(id);
      sendReply(this.#carrier, reply);
    });
  }

  /** The client cancelled this request, or will not return for its reply. */
  cancel(id: unknown, reason: unknown): void {
    const request = this.#open.take(id as RequestId);
    if (request === undefined) return;
    try {
      request.exchange.cancel(reason);
    } finally {
      this.#carrier.abandon(request.id);
    }
  }

  /** The client is gone for good. */
  close(): void {
    const open = this.#open.values();
    this.#open.clear();
    for (const { exchange } of open) exchange.withdraw();
  }
}

/** Handles a request and sends the reply, to a client that cancels by leaving. */
export function answer(request: ClientRequest, carrier: Carrier, handle: Handler): Promise<void> {
  return handled(request, handle, (reply) => sendReply(carrier, reply));
}

/** A reply that cannot be written, because it is nested too deeply for example, becomes an error. */
function sendReply(carrier: Carrier, reply: Reply): void {
  try {
    carrier.send(reply);
  } catch (error) {
    carrier.send({ jsonrpc: '2.0', ...(reply.id !== undefined && { id: reply.id }), error: failureOf(error) });
  }
}

async function handled(request: ClientRequest, handle: Handler, send: (reply: Reply) => void): Promise<void> {
  const { id } = request;
  let reply: Reply;
  try {
    const result = await handle(request);
    const isLarge = !isKept(result) && roughSize(result, LARGE_RESULT) > LARGE_RESULT;
    reply = isLarge
      ? { jsonrpc: '2.0', id, resultJson: await stringifyInTurns(result) }
      : { jsonrpc: '2.0', id, result };
  } catch (error) {
    reply = { jsonrpc: '2.0', id, error: failureOf(error) };
  }
  send(reply);
}
