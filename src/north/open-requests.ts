import type { OnCancel } from './cancel-reasons.ts';
import type { Carrier } from './carrier.ts';
import { ClientRequest, failureOf } from './client-request.ts';
import type { Message, Params, RequestId, RequestMessage } from './message.ts';

/** Resolves with the result of a request; rejects with the error of the reply. */
export type Handler = (request: ClientRequest) => Promise<Params> | Params;

/** The requests of one client that are not answered yet. */
export class OpenRequests {
  readonly #open = new Map<RequestId, ClientRequest>();
  readonly #carrier: Carrier;
  readonly #onCancel: OnCancel;

  constructor(carrier: Carrier, onCancel: OnCancel) {
    this.#carrier = carrier;
    this.#onCancel = onCancel;
  }

  /** Handles a request, and sends the reply unless the request was cancelled. */
  async answer(message: RequestMessage, handle: Handler): Promise<void> {
    const request = new ClientRequest(message, this.#carrier, this.#onCancel);
    const { id } = request;
    this.#open.set(id, request);
    const reply = await replyTo(request, handle);
    if (this.#open.get(id) !== request) return;
    this.#open.delete(id);
    this.#carrier.send(reply);
  }

  /** The client cancelled this request, or does not come back for its reply. */
  cancel(id: unknown, reason: unknown): void {
    const request = this.#open.get(id as RequestId);
    if (request === undefined) return;
    this.#open.delete(request.id);
    request.exchange.cancel(reason);
    this.#carrier.abandon(request.id);
  }

  /** The client is gone for good. */
  close(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { exchange } of open) exchange.withdraw();
  }
}

export async function replyTo(request: ClientRequest, handle: Handler): Promise<Message> {
  const { id } = request;
  try {
    return { jsonrpc: '2.0', id, result: await handle(request) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: failureOf(error) };
  }
}
