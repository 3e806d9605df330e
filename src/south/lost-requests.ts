import type { RequestId } from '@modelcontextprotocol/client';
import type { Answer } from '../core/interaction/interaction.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { CANCELLED } from '../lib/protocol.ts';
import { NOT_ANSWERED, rpcFailure, type RpcError, type RpcFailure } from '../lib/rpc-error.ts';
import type { AskedRequest } from './call/resume-point.ts';
import type { ServerTransport } from './transport/transport.ts';
import { LazyMap } from '../lib/lazy-collections.ts';

export interface LostRequestsHost {
  readonly log: Log;
  /** Answers a request that outlives its connection; `undefined` for other requests. */
  answer: (request: AskedRequest) => Promise<Answer> | undefined;
  respond: (id: RequestId, response: { result: Answer } | { error: RpcFailure }) => Promise<void>;
  /** The id of our current session with the server. */
  sessionId: () => string | undefined;
}

/**
 * Requests in both directions that a disconnect left unanswered. A server that still knows our session keeps working on
 * ours and waits for answers to its own: once it is back, ours are cancelled and its own are answered.
 */
export class LostRequests {
  /** The server's requests that have no answer yet. */
  readonly #open = new LazyMap<RequestId, AskedRequest>();
  #incoming: AskedRequest[] = [];
  #outgoing: RequestId[] = [];
  readonly #host: LostRequestsHost;

  constructor(host: LostRequestsHost) {
    this.#host = host;
  }

  /** Registers a request of the server until the returned function is called. */
  begin(request: AskedRequest): () => void {
    this.#open.set(request.id, request);
    return () => {
      if (this.#open.get(request.id) === request) this.#open.delete(request.id);
    };
  }

  /** Whether the server waits for an answer. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  connectionLost(outgoing: RequestId[]): void {
    this.#outgoing = outgoing;
    this.#incoming = [...this.#open.values()];
    this.#open.clear();
  }

  /** Reconnected. In another session the server no longer knows the requests. */
  connected(transport: ServerTransport, isSameSession: boolean): void {
    const [outgoing, incoming] = [this.#outgoing, this.#incoming];
    this.#outgoing = [];
    this.#incoming = [];
    if (!isSameSession) return;
    this.cancel(transport, outgoing);
    for (const request of incoming) void this.#answerLate(request, transport.sessionId);
  }

  cancel(transport: ServerTransport, ids: readonly RequestId[]): void {
    const { log } = this.#host;
    for (const requestId of ids) {
      const params = { requestId, reason: 'the connection was lost' };
      transport.send({ jsonrpc: '2.0', method: CANCELLED, params }).catch((error: unknown) => {
        log.debug('notification_not_sent', { method: CANCELLED, error: messageOf(error) });
      });
    }
  }

  async #answerLate(request: AskedRequest, sessionId: string | undefined): Promise<void> {
    const { id, method } = request;
    const { log, answer, respond } = this.#host;
    const lost = { error: { code: NOT_ANSWERED, message: `${method} was not answered: the connection was lost` } };
    try {
      const response = await answer(request)?.then(
        (result) => ({ result }),
        (error: RpcError) => ({ error: rpcFailure(error) }),
      );
      // In another session the same id may belong to another request.
      if (this.#host.sessionId() === sessionId) await respond(id, response ?? lost);
    } catch (error) {
      log.debug('answer_not_sent', { method, error: messageOf(error) });
    }
  }
}
