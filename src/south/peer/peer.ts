import { randomBytes } from 'node:crypto';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  RequestId,
} from '@modelcontextprotocol/client';
import type { StopSignal } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import { messageOf } from '../../lib/log.ts';
import { metaOf } from '../../lib/meta.ts';
import { CANCELLED, INTRODUCTIONS, SUBSCRIPTION_ID_KEY } from '../../lib/protocol.ts';
import { hasRpcCode, rpcFailure, INTERNAL_ERROR, METHOD_NOT_FOUND, type RpcFailure } from '../../lib/rpc-error.ts';
import type { SendOptions, ServerTransport, StreamTag } from '../transport/transport.ts';
import { ConnectionClosed, ErrorResponse, RequestTimeout } from './errors.ts';
import { readResult } from './result.ts';

type Params = Record<string, unknown>;

const LISTEN = 'subscriptions/listen';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
/** Notifications that exist only in the legacy era. */
const WITH_SESSIONS_ONLY = new Set([
  'notifications/initialized',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
  'notifications/elicitation/complete',
]);

/** The result of the negotiation with a server. */
export interface Introduction {
  protocolVersion: string;
  /** The result of `initialize` or `server/discover` as the server sent it. */
  result: Record<string, unknown>;
}

export interface RequestOptions extends SendOptions {
  signal?: StopSignal | undefined;
  /** No limit if absent. */
  timeoutMs?: number | undefined;
  /** Whether the server may respond with `input_required`. */
  mayAsk?: boolean | undefined;
}

/** What a peer does with messages of the server. */
export interface PeerHandlers {
  request: (request: JSONRPCRequest, stream: StreamTag, withdrawn: AbortSignal) => Promise<Params>;
  notification: (notification: JSONRPCNotification, stream: StreamTag) => void;
}

/** An open request. */
interface Pending {
  method: string;
  resolve: (result: Params) => void;
  reject: (error: unknown) => void;
  mayAsk: boolean;
  stopTimer: (() => void) | undefined;
  signal: StopSignal | undefined;
  onAbort: (() => void) | undefined;
}

/**
 * The client side of JSON-RPC on a connection to a server: matches requests and answers, and passes on requests
 * and notifications of the server. Results and errors are passed on as the server sent them.
 */
export class Peer {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  handlers: PeerHandlers = {
    request: async ({ method }) => {
      throw new ErrorResponse(METHOD_NOT_FOUND, `Method not found: ${method}`);
    },
    notification: () => {},
  };
  /** The result of the negotiation; absent in a session that was taken over. */
  introduction: Introduction | undefined;
  #transport: ServerTransport | undefined;
  #lastId = -1;
  #idPrefix: string | undefined;
  /** Adds the `_meta` of every message in the modern era. */
  #envelope: ((meta: Params) => Params) | undefined;
  readonly #pending = new InFlight<RequestId, Pending>();
  /** Requests of the server that have no answer yet. */
  readonly #incoming = new LazyMap<RequestId, AbortController>();
  /** Streams for changes that the server has not acknowledged yet. */
  readonly #acknowledged = new LazyMap<unknown, (filter: unknown) => void>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the server speaks a version without sessions. */
  get isModern(): boolean {
    return this.#envelope !== undefined;
  }

  /** The protocol version has been agreed on. All messages have the envelope, if there is one. */
  useProtocol(version: string, envelope?: (meta: Params) => Params): void {
    this.#envelope = envelope;
    this.#transport?.setProtocolVersion?.(version);
  }

  /**
   * For a session from before a restart: request ids must be unique within a session. A server that
   * still works on an earlier request would answer it instead of ours.
   */
  useFreshIds(): void {
    this.#idPrefix ??= `${randomBytes(6).toString('base64url')}.`;
  }

  /** Starts the transport and takes its messages. */
  async connect(transport: ServerTransport): Promise<void> {
    this.#transport = transport;
    transport.onclose = () => this.#closed(transport);
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, stream) => {
      // A large message takes several turns of the event loop, during which the connection may be replaced.
      if (this.#transport !== transport) return;
      try {
        this.#received(message, stream, transport);
      } catch (error) {
        // Thrown inside a transport, it would crash the process.
        const what = 'method' in message ? message.method : 'a response';
        this.onerror?.(new Error(`${what} was not handled: ${messageOf(error)}`));
      }
    };
    if (this.introduction) transport.setProtocolVersion?.(this.introduction.protocolVersion);
    await transport.start();
  }

  async close(): Promise<void> {
    await this.#transport?.close();
  }

  /** Sends one request; result and error are returned unchanged. */
  request(method: string, params: Params | undefined, options: RequestOptions = {}): Promise<Params> {
    return this.send(this.nextId(), method, params, options);
  }

  nextId(): RequestId {
    this.#lastId += 1;
    return this.#idPrefix === undefined ? this.#lastId : `${this.#idPrefix}${this.#lastId}`;
  }

  /** Sends a request with an id chosen by the caller. */
  send(id: RequestId, method: string, params: Params | undefined, options: RequestOptions): Promise<Params> {
    return new Promise((resolve, reject) => {
      const transport = this.#transport;
      if (transport === undefined) throw new ConnectionClosed();
      const { signal, timeoutMs, mayAsk = false } = options;
      signal?.throwIfAborted();
      const onAbort = signal && ((): void => this.#cancel(id, signal.reason));
      const pending: Pending = { method, resolve, reject, mayAsk, stopTimer: undefined, signal, onAbort };
      this.#pending.add(id, pending);
      if (timeoutMs !== undefined) {
        pending.stopTimer = this.#clock.after(timeoutMs, () => this.#cancel(id, new RequestTimeout(timeoutMs)));
      }
      if (onAbort) signal?.addEventListener('abort', onAbort, { once: true });
      const sent = this.#enveloped(params);
      const message: JSONRPCRequest =
        sent === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params: sent };
      transport.send(message, options).catch((error: unknown) => this.#take(id)?.reject(error));
    });
  }

  /** Sends a notification. */
  async notify(method: string, params?: Params): Promise<void> {
    if (this.isModern && WITH_SESSIONS_ONLY.has(method)) throw new Error(`the protocol of the server has no ${method}`);
    if (this.#transport === undefined) throw new ConnectionClosed();
    const sent = this.#enveloped(params);
    await this.#transport.send({ jsonrpc: '2.0', method, ...(sent && { params: sent }) }, {});
  }

  /** Resolves when the server acknowledges the subscription stream with this id, with the accepted filter. */
  onAcknowledged(id: RequestId): { filter: Promise<unknown>; forget: () => void } {
    const filter = new Promise<unknown>((resolve) => {
      this.#acknowledged.set(id, resolve);
    });
    return { filter, forget: () => void this.#acknowledged.delete(id) };
  }

  #enveloped(params: Params | undefined): Params | undefined {
    if (this.#envelope === undefined) return params;
    // V8 takes long to add a field after those of a spread (docs/PERFORMANCE.md): it is there before, and set afterwards.
    const sent: Params = { _meta: undefined, ...params };
    sent['_meta'] = this.#envelope(metaOf(sent));
    return sent;
  }

  /** Removes an open request. */
  #take(id: RequestId): Pending | undefined {
    const pending = this.#pending.take(id);
    if (pending === undefined) return undefined;
    pending.stopTimer?.();
    if (pending.onAbort) pending.signal?.removeEventListener('abort', pending.onAbort);
    return pending;
  }

  /** Cancels a request and notifies the server. */
  #cancel(id: RequestId, reason: unknown): void {
    const pending = this.#take(id);
    const transport = this.#transport;
    if (pending === undefined) return;
    // Without sessions, the end of the response stream is the cancellation.
    if (this.isModern && transport?.drop) transport.drop(id);
    else if (!INTRODUCTIONS.has(pending.method)) {
      this.notify(CANCELLED, { requestId: id, reason: String(reason) }).catch((error: unknown) => {
        this.onerror?.(new Error(`a cancellation was not sent: ${messageOf(error)}`));
      });
    }
    pending.reject(reason instanceof Error ? reason : new Error(String(reason)));
  }

  #received(message: JSONRPCMessage, stream: StreamTag, transport: ServerTransport): void {
    if (!('method' in message)) this.#answered(message);
    else if ('id' in message) this.#requested(message, stream, transport);
    else this.#notified(message, stream);
  }

  #answered(response: JSONRPCResponse): void {
    const { id } = response;
    // Some servers return the id of a request as text.
    const pending = id === undefined ? undefined : (this.#take(id) ?? this.#take(Number(id)));
    if (pending === undefined) {
      this.onerror?.(new Error(`a response to an unknown request: ${JSON.stringify(id)}`));
      return;
    }
    if ('error' in response) {
      const { code, message, data } = response.error;
      pending.reject(new ErrorResponse(code, message, data));
      return;
    }
    try {
      pending.resolve(readResult(response.result, pending.method, { isModern: this.isModern, mayAsk: pending.mayAsk }));
    } catch (error) {
      pending.reject(error);
    }
  }

  #notified(notification: JSONRPCNotification, stream: StreamTag): void {
    const { method, params = {} } = notification;
    if (this.isModern && WITH_SESSIONS_ONLY.has(method)) return;
    if (method === CANCELLED) {
      this.#withdrawn(params);
      return;
    }
    if (method === ACKNOWLEDGED) {
      this.#acknowledged.get(metaOf(params)[SUBSCRIPTION_ID_KEY])?.(params['notifications']);
      return;
    }
    this.handlers.notification(notification, stream);
  }

  #withdrawn({ requestId, reason }: Params): void {
    const id = requestId as RequestId;
    this.#incoming.get(id)?.abort(reason);
    // A stdio server ends a subscription stream like this.
    if (this.#pending.get(id)?.method === LISTEN) this.#take(id)?.reject(new Error('the server ended the stream'));
  }

  #requested(request: JSONRPCRequest, stream: StreamTag, transport: ServerTransport): void {
    const { id, method } = request;
    if (this.isModern) {
      // Without sessions, servers ask in their results.
      this.onerror?.(new Error(`dropped a request from the server: its protocol has no server requests (${method})`));
      return;
    }
    const withdrawn = new AbortController();
    this.#incoming.set(id, withdrawn);
    const answer = method === 'ping' ? Promise.resolve({}) : this.handlers.request(request, stream, withdrawn.signal);
    void answer
      .then(
        (result) => ({ jsonrpc: '2.0' as const, id, result }),
        (error: unknown) => ({ jsonrpc: '2.0' as const, id, error: failureOf(error) }),
      )
      .then(async (response) => {
        if (!withdrawn.signal.aborted) await transport.send(response, {});
      })
      .catch((error: unknown) => this.onerror?.(new Error(`an answer was not sent: ${messageOf(error)}`)))
      .finally(() => {
        if (this.#incoming.get(id) === withdrawn) this.#incoming.delete(id);
      });
  }

  /** The connection has ended, and with it all requests in both directions. */
  #closed(transport: ServerTransport): void {
    if (this.#transport !== transport) return;
    this.#transport = undefined;
    const [pending, incoming] = [this.#pending.keys(), [...this.#incoming.values()]];
    this.#incoming.clear();
    const closed = new ConnectionClosed();
    try {
      this.onclose?.();
    } finally {
      for (const id of pending) this.#take(id)?.reject(closed);
      for (const withdrawn of incoming) withdrawn.abort(closed);
    }
  }
}

/** The error response to a request of the server. */
function failureOf(error: unknown): RpcFailure {
  return hasRpcCode(error) ? rpcFailure(error) : { code: INTERNAL_ERROR, message: messageOf(error) };
}
