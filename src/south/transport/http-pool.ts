import type { Dispatcher } from 'undici';
import type { NoToken } from '../../core/ports/accounts.ts';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { HttpConnection, HttpConnections } from '../../lib/http-connections.ts';

export interface HttpRequest {
  url: URL;
  method: 'GET' | 'POST' | 'DELETE';
  headers: Record<string, string>;
  body?: Buffer;
  /** The request is being written: the server may receive it. */
  onSent?: (() => void) | undefined;
}

/** Requests to one server. Requests beyond the limit wait. */
export class HttpPool {
  readonly #connections: HttpConnections;
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #exchanges = new InFlight<HttpExchange, HttpExchange>();
  #open = 0;
  #waiting: HttpExchange[] = [];

  constructor(connections: HttpConnections, limit: number, clock: Clock) {
    this.#connections = connections;
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Sends one request. A same-origin redirect that keeps the method is followed once. */
  request(request: HttpRequest): HttpExchange {
    const exchange = new HttpExchange(request, this.#connections, this.#clock, this);
    this.#exchanges.add(exchange, exchange);
    if (this.#open < this.#limit) this.#start(exchange);
    else this.#waiting.push(exchange);
    return exchange;
  }

  /** Aborts all requests. */
  abort(): void {
    this.#waiting = [];
    for (const exchange of this.#exchanges.values()) exchange.abort();
  }

  destroy(): void {
    this.abort();
    this.#connections.release();
  }

  /** Closes idle connections now, because nothing more will be sent soon. */
  closeIdle(): void {
    this.#connections.closeIdle();
  }

  #start(exchange: HttpExchange): void {
    this.#open += 1;
    exchange.start();
  }

  /** An exchange has ended; `wasOpen`: it had been started. */
  ended(exchange: HttpExchange, wasOpen: boolean): void {
    this.#exchanges.delete(exchange);
    if (!wasOpen) {
      this.#waiting = this.#waiting.filter((each) => each !== exchange);
      return;
    }
    this.#open -= 1;
    const next = this.#waiting.shift();
    if (next) this.#start(next);
  }
}

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: HttpBody;
  /** Why no token can be had for a server that refused the request. */
  denied?: NoToken;
}

export interface HttpBody {
  /** The whole body, if it has arrived in one piece. */
  readonly whole: Buffer | undefined;
  /** Reads everything, including what has already arrived. */
  read(reader: BodyReader): void;
  /** Stops reading, so that the server has to wait. Pieces that were read before may still arrive. */
  pause(): void;
  resume(): void;
  readonly isPaused: boolean;
  /** Reads the rest so that the connection can be reused, unless it is large or slow. */
  discard(): void;
  abort(): void;
}

export interface BodyReader {
  onData: (chunk: Buffer) => void;
  /** The body has ended: complete, or with the reason why not. */
  onClose: (error: Error | undefined) => void;
}

/** How much of a body is read just to reuse the connection, and for how long. */
const MAX_DISCARDED_BYTES = 64 * 1024;
const MAX_DISCARD_MS = 1000;
/** How much of a body is buffered before there is a reader; then the server has to wait. */
const MAX_EARLY_BYTES = 64 * 1024;

/** One request and its response. */
export class HttpExchange implements HttpBody, Dispatcher.DispatchHandler {
  readonly answer: Promise<HttpAnswer>;
  #resolve!: (answer: HttpAnswer) => void;
  #reject!: (error: Error) => void;
  #state: 'waiting' | 'redirecting' | 'answered' | 'ended' = 'waiting';
  #redirectTo: URL | undefined;
  #reader: BodyReader | undefined;
  /** Data that arrived before there was a reader. */
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #error: Error | undefined;
  #aborted = false;
  #sent = false;
  readonly #request: HttpRequest;
  readonly #connections: HttpConnections;
  readonly #clock: Clock;
  #connection: HttpConnection | undefined;
  /** The controller of the request, once it is written. */
  #controller: Dispatcher.DispatchController | undefined;
  readonly #pool: Pick<HttpPool, 'ended'>;

  constructor(request: HttpRequest, connections: HttpConnections, clock: Clock, pool: Pick<HttpPool, 'ended'>) {
    this.#request = request;
    this.#connections = connections;
    this.#clock = clock;
    this.#pool = pool;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Whether the request was written at least in part, so that the server may have received it. */
  get sent(): boolean {
    return this.#sent;
  }

  get whole(): Buffer | undefined {
    const isWhole = this.#state === 'ended' && this.#error === undefined && this.#early.length === 1;
    return isWhole ? this.#early[0] : undefined;
  }

  start(): void {
    this.#connection = this.#connections.take();
    this.#dispatch(this.#request.url);
  }

  #dispatch({ pathname, search }: URL): void {
    const { method, headers, body = null } = this.#request;
    this.#connection?.dispatch({ path: pathname + search, method, headers, body }, this);
  }

  /** Aborts the request or the rest of its response. */
  abort(): void {
    if (this.#state === 'ended') return;
    this.#aborted = true;
    this.#end(new Error('aborted'));
  }

  read(reader: BodyReader): void {
    const hasEnded = this.#state === 'ended';
    this.resume();
    const early = this.#early;
    this.#early = [];
    this.#reader = reader;
    for (const chunk of early) {
      // The reader may have aborted.
      if (this.#state === 'ended' && !hasEnded) return;
      reader.onData(chunk);
    }
    if (hasEnded) reader.onClose(this.#error);
  }

  pause(): void {
    if (this.#state !== 'ended') this.#connection?.pause();
  }

  resume(): void {
    if (this.#state !== 'ended') this.#connection?.resume();
  }

  get isPaused(): boolean {
    return this.#state !== 'ended' && this.#connection?.isPaused === true;
  }

  discard(): void {
    this.#early = [];
    if (this.#state === 'ended') return;
    let left = MAX_DISCARDED_BYTES;
    const stopTimer = this.#clock.after(MAX_DISCARD_MS, () => this.abort(), { unref: true });
    this.read({
      onData: (chunk) => {
        left -= chunk.length;
        if (left < 0) this.abort();
      },
      onClose: stopTimer,
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sent = true;
    this.#request.onSent?.();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status === 101) {
      this.#switched();
      return;
    }
    if (status < 200) return;
    this.#redirectTo = this.#redirectTo === undefined ? this.#redirection(status, headers) : undefined;
    if (this.#redirectTo !== undefined) {
      this.#state = 'redirecting';
      // A body that has not arrived yet may take arbitrarily long.
      setImmediate(() => this.#follow());
      return;
    }
    this.#state = 'answered';
    this.#resolve({ status, headers, body: this });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state === 'redirecting') return;
    if (this.#reader !== undefined) {
      this.#reader.onData(chunk);
      return;
    }
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    if (this.#earlyBytes > MAX_EARLY_BYTES) this.pause();
  }

  onResponseEnd(): void {
    if (this.#state === 'redirecting') this.#follow({ isRead: true });
    else this.#end(undefined);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    // From the connection of an aborted redirect.
    if (controller !== this.#controller) return;
    // This is how undici reports a 101 with the headers of an upgrade.
    if (this.#state === 'waiting' && error.message === 'bad upgrade') this.#switched();
    this.#end(error);
  }

  /** An unsolicited 101: no response follows. */
  #switched(): void {
    this.#resolve({ status: 101, headers: {}, body: this });
    this.#connection?.destroy();
    this.#end(undefined);
  }

  /** Sends the request to the redirect target; `isRead`: the connection is free. */
  #follow({ isRead = false } = {}): void {
    const connection = this.#connection;
    if (this.#state !== 'redirecting' || this.#redirectTo === undefined || connection === undefined) return;
    this.#state = 'waiting';
    this.#sent = false;
    this.#controller = undefined;
    if (isRead) this.#connections.giveBack(connection);
    else connection.destroy();
    this.#connection = this.#connections.take();
    this.#dispatch(this.#redirectTo);
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
    const connection = this.#connection;
    if (connection && error) connection.destroy();
    else if (connection) this.#connections.giveBack(connection);
    this.#pool.ended(this, connection !== undefined);
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
