import { randomBytes } from 'node:crypto';
import { whenAborted } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { LazyMap } from '../lib/lazy-collections.ts';
import { messageOf } from '../lib/log.ts';
import { CANCELLED, SESSION_VERSIONS } from '../lib/protocol.ts';
import { INVALID_PARAMS, RpcError } from '../lib/rpc-error.ts';
import type { OnCancel } from './cancel-reasons.ts';
import type { Carrier } from './carrier.ts';
import { initializeMistake } from './client-info.ts';
import type { ClientRequest } from './client-request.ts';
import type { ErrorMessage, Message, NotificationMessage, Params, RequestId, ResultMessage } from './message.ts';
import { OpenRequests } from './open-requests.ts';

/** The endpoint that a legacy client sees. */
export interface LegacyEndpoint {
  /** The result of `initialize`, for a client that gets this version of the protocol. */
  introduce(protocolVersion: string): Params;
  /** Resolves with the result of a request; rejects with the error of the reply. */
  handle(request: ClientRequest): Promise<Params>;
  onNotification(method: string, params: Params | undefined): void;
}

interface PeerOptions {
  onCancel: OnCancel;
  clock: Clock;
  /** Called with messages that the client should not have sent. */
  onMistake: (message: string) => void;
}

interface AskOptions {
  /** The client's request whose stream carries the request; by default the standing stream. */
  on?: RequestId | undefined;
  /** Cancels the request. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** An open request to the client. */
interface Asked {
  method: string;
  resolve: (result: Params) => void;
  reject: (error: unknown) => void;
  on: RequestId | undefined;
  stopTimer: (() => void) | undefined;
  forgetSignal: (() => void) | undefined;
}

/** JSON-RPC with one client that has a session: requests in both directions, their replies and cancellations. */
export class ClientPeer {
  readonly #carrier: Carrier;
  readonly #endpoint: LegacyEndpoint;
  readonly #options: PeerOptions;
  readonly #requests: OpenRequests;
  readonly #asked = new LazyMap<unknown, Asked>();
  /**
   * Ids of requests to the client must be unique in its session, which may be from before a restart. Not
   * numbers: some clients ignore the cancellation of a request with the id 0.
   */
  #prefix: string | undefined;
  #lastId = 0;
  #closed = false;

  constructor(carrier: Carrier, endpoint: LegacyEndpoint, options: PeerOptions) {
    this.#carrier = carrier;
    this.#endpoint = endpoint;
    this.#options = options;
    this.#requests = new OpenRequests(carrier, options.onCancel);
  }

  receive(message: Message): void {
    if (!('method' in message)) this.#onResponse(message);
    else if ('id' in message) void this.#requests.answer(message, this.#handle);
    else this.#receiveNotification(message);
  }

  /** The client cancelled this request, or will not return for its reply. */
  cancel(id: unknown, reason: unknown): void {
    this.#requests.cancel(id, reason);
  }

  /** The method of a request that the client has not answered. */
  askedWith(id: RequestId | undefined): string | undefined {
    return this.#asked.get(id)?.method;
  }

  /** Sends a request to the client. Rejects with its error, or with an error without a code if it cannot be reached. */
  async request(method: string, params: Params | undefined, { on, signal, timeoutMs }: AskOptions): Promise<Params> {
    if (this.#closed || signal?.aborted) throw new Error(this.#closed ? CLOSED : String(signal?.reason));
    const id = this.#nextId();
    return new Promise<Params>((resolve, reject) => {
      const asked: Asked = { method, resolve, reject, on, stopTimer: undefined, forgetSignal: undefined };
      this.#asked.set(id, asked);
      asked.forgetSignal = whenAborted(signal, () => this.#cancelAsked(id, String(signal?.reason)));
      if (timeoutMs !== undefined) {
        const timedOut = (): void => this.#cancelAsked(id, 'Request timed out');
        asked.stopTimer = this.#options.clock.after(timeoutMs, timedOut, { unref: true });
      }
      try {
        this.#carrier.send({ jsonrpc: '2.0', id, method, ...(params && { params }) }, on);
      } catch (error) {
        this.#take(id)?.reject(error);
      }
    });
  }

  #nextId(): RequestId {
    this.#prefix ??= `${randomBytes(6).toString('base64url')}.`;
    const id = `${this.#prefix}${this.#lastId}`;
    this.#lastId += 1;
    return id;
  }

  /** Removes an open request to the client. */
  #take(id: unknown): Asked | undefined {
    const asked = this.#asked.get(id);
    if (asked === undefined) return undefined;
    this.#asked.delete(id);
    asked.stopTimer?.();
    asked.forgetSignal?.();
    return asked;
  }

  /** Cancels a request and notifies the client. */
  #cancelAsked(id: RequestId, reason: string): void {
    const asked = this.#take(id);
    if (asked === undefined) return;
    asked.reject(new Error(reason));
    const params = { requestId: id, reason };
    this.#carrier.send({ jsonrpc: '2.0', method: CANCELLED, params }, asked.on);
  }

  /** The client is gone for good. */
  close(): void {
    this.#closed = true;
    this.#requests.close();
    const ids = [...this.#asked.keys()];
    for (const id of ids) this.#take(id)?.reject(new Error(CLOSED));
  }

  readonly #handle = (request: ClientRequest): Promise<Params> | Params => {
    switch (request.method) {
      case 'initialize':
        return this.#endpoint.introduce(versionFor(request.params));
      case 'ping':
        return {};
      default:
        return this.#endpoint.handle(request);
    }
  };

  #receiveNotification(message: NotificationMessage): void {
    try {
      this.#onNotification(message);
    } catch (error) {
      this.#options.onMistake(`${message.method} was not handled: ${messageOf(error)}`);
    }
  }

  #onNotification({ method, params }: NotificationMessage): void {
    switch (method) {
      case 'notifications/initialized':
        break;
      case CANCELLED:
        this.cancel(params?.['requestId'], params?.['reason']);
        break;
      default:
        this.#endpoint.onNotification(method, params);
    }
  }

  #onResponse(message: ResultMessage | ErrorMessage): void {
    const asked = this.#take(message.id);
    if (asked === undefined) {
      this.#options.onMistake(`response to an unknown request: ${JSON.stringify(message.id)}`);
    } else if ('result' in message) asked.resolve(message.result);
    else asked.reject(RpcError.passedOn(message.error));
  }
}

const CLOSED = 'Connection closed';

/** The version that a client gets: the one that it requests if that is supported, else the newest. */
export function negotiated(requested: string): string {
  const [newest = requested] = SESSION_VERSIONS;
  return SESSION_VERSIONS.includes(requested) ? requested : newest;
}

function versionFor(params: Params): string {
  const mistake = initializeMistake(params);
  if (mistake !== undefined) throw new RpcError(INVALID_PARAMS, `Invalid params: ${mistake.key}: ${mistake.problem}`);
  return negotiated(String(params['protocolVersion']));
}
