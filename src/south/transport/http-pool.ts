import type { Socket } from 'node:net';
import type { Dispatcher, Pool } from 'undici';
import type { AddressCheck } from '../../lib/addresses.ts';
import { checkedLookup } from './checked-address.ts';

/**
 * Servers close idle connections, many after five seconds, and for a request on a connection that is just being closed it is
 * not known whether it arrived. So a connection that was idle for nearly as long is not used again.
 */
const MAX_IDLE_MS = 4000;

/** The parts of undici that a pool needs. */
export type Undici = Awaited<ReturnType<typeof loadUndici>>;

/** Only these parts: all of undici takes several times as long to load. */
export async function loadUndici() {
  const [pool, connect] = await Promise.all([
    import('undici/lib/dispatcher/pool.js'),
    import('undici/lib/core/connect.js'),
  ]);
  return { Pool: pool.default, buildConnector: connect.default };
}

export interface HttpRequest {
  url: URL;
  method: 'GET' | 'POST' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
  /** The request is being written: the server may have it. */
  onSent?: (() => void) | undefined;
}

/** Kept-alive connections to one server. */
export class HttpPool {
  readonly #pool: Pool;
  readonly #exchanges = new Set<HttpExchange>();
  readonly #connecting = new Set<Socket>();

  constructor({ Pool, buildConnector }: Undici, url: URL, connections: number, isAllowed?: AddressCheck) {
    const connector = buildConnector({ timeout: 0, ...(isAllowed && { lookup: checkedLookup(isAllowed) }) });
    this.#pool = new Pool(url.origin, {
      connections,
      pipelining: 1,
      // A call may take arbitrarily long, and a stream may be silent.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: MAX_IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      connect: (options, callback) => {
        // Contrary to its type, it returns the socket.
        const socket = connector(options, (...outcome) => {
          this.#connecting.delete(socket);
          callback(...outcome);
        }) as unknown as Socket;
        this.#connecting.add(socket);
      },
    });
  }

  /** Sends one request. A same-origin redirect that keeps the method is followed once. */
  request(request: HttpRequest): HttpExchange {
    const exchange = new HttpExchange(this.#pool, request, () => this.#exchanges.delete(exchange));
    this.#exchanges.add(exchange);
    exchange.dispatch(request.url);
    return exchange;
  }

  /** Gives up all requests. */
  abort(): void {
    for (const exchange of this.#exchanges) exchange.abort();
  }

  destroy(): void {
    this.abort();
    void this.#pool.destroy();
    // The pool would wait for them.
    for (const socket of this.#connecting) socket.destroy();
  }
}

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: HttpBody;
}

export interface HttpBody {
  /** Everything that comes, and that has come already. */
  read(reader: BodyReader): void;
  discard(): void;
  abort(): void;
}

export interface BodyReader {
  onData: (chunk: Buffer) => void;
  /** The body is over: complete, or with the reason why not. */
  onClose: (error: Error | undefined) => void;
}

const DISCARD: BodyReader = { onData: () => {}, onClose: () => {} };

/** One request and its response. */
export class HttpExchange implements HttpBody, Dispatcher.DispatchHandler {
  readonly answer: Promise<HttpAnswer>;
  #resolve!: (answer: HttpAnswer) => void;
  #reject!: (error: Error) => void;
  #state: 'waiting' | 'redirecting' | 'answered' | 'ended' = 'waiting';
  #redirectTo: URL | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #reader: BodyReader | undefined;
  /** What has come before there was a reader. */
  #early: Buffer[] = [];
  #error: Error | undefined;
  #aborted = false;
  readonly #pool: Pool;
  readonly #request: HttpRequest;
  readonly #onEnd: () => void;

  constructor(pool: Pool, request: HttpRequest, onEnd: () => void) {
    this.#pool = pool;
    this.#request = request;
    this.#onEnd = onEnd;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  dispatch({ pathname, search }: URL): void {
    const { method, headers, body = null } = this.#request;
    this.#pool.dispatch({ path: pathname + search, method, headers, body }, this);
  }

  /** Gives up the request, or the rest of its response. */
  abort(): void {
    if (this.#state === 'ended') return;
    this.#aborted = true;
    const error = new Error('aborted');
    this.#controller?.abort(error);
    // A request that waits for its connection is not written then.
    this.#end(error);
  }

  read(reader: BodyReader): void {
    const hasEnded = this.#state === 'ended';
    const early = this.#early;
    this.#early = [];
    this.#reader = reader;
    for (const chunk of early) {
      // The reader may have had enough.
      if (this.#state === 'ended' && !hasEnded) return;
      reader.onData(chunk);
    }
    if (hasEnded) reader.onClose(this.#error);
  }

  discard(): void {
    this.read(DISCARD);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // What is thrown here ends the request, but not the connection.
    if (this.#aborted) throw new Error('aborted');
    this.#controller = controller;
    this.#request.onSent?.();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status === 101) {
      this.#switched();
      controller.abort(new Error('the server changed the protocol'));
      return;
    }
    if (status < 200) return;
    this.#redirectTo = this.#redirectTo === undefined ? this.#redirection(status, headers) : undefined;
    if (this.#redirectTo !== undefined) {
      this.#state = 'redirecting';
      return;
    }
    this.#state = 'answered';
    this.#resolve({ status, headers, body: this });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state === 'redirecting') return;
    if (this.#reader === undefined) this.#early.push(chunk);
    else this.#reader.onData(chunk);
  }

  onResponseEnd(): void {
    if (this.#state === 'redirecting' && this.#redirectTo !== undefined) this.dispatch(this.#redirectTo);
    else this.#end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // This is how undici reports a 101 with the headers of an upgrade.
    if (this.#state === 'waiting' && error.message === 'bad upgrade') this.#switched();
    this.#end(error);
  }

  /** An unsolicited 101: no response follows. */
  #switched(): void {
    this.#resolve({ status: 101, headers: {}, body: this });
    this.#end(undefined);
  }

  #redirection(status: number, headers: HttpAnswer['headers']): URL | undefined {
    const location = status === 307 || status === 308 ? headerOf(headers, 'location') : undefined;
    if (location === undefined) return undefined;
    const { url } = this.#request;
    const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    return target?.origin === url.origin ? target : undefined;
  }

  #end(error: Error | undefined): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#error = error;
    this.#onEnd();
    if (error) this.#reject(error);
    this.#reader?.onClose(error);
  }
}

export function isEventStream({ headers }: HttpAnswer): boolean {
  return headerOf(headers, 'content-type')?.startsWith('text/event-stream') === true;
}

/** The first header of that name. */
export function headerOf(headers: HttpAnswer['headers'], name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value[0] : value;
}
