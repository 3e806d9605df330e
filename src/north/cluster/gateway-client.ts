/** Sends requests to other gateways. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Writable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HttpConnections, type HttpConnection, type Undici } from '../../lib/http-connections.ts';

const CONNECT_TIMEOUT_MS = 2000;
/** Less than the idle timeout of gateways, so that a request does not use a connection that is being closed. */
const MAX_IDLE_MS = 30_000;
const SHORT_BODY = 16 * 1024;

export interface GatewayRequestOptions {
  /** `http://host:port` */
  address: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body?: Buffer | undefined;
}

export interface GatewayResponse {
  status: number;
  headers: IncomingHttpHeaders;
}

export interface AnswerHandler {
  /** Returns where to write the response body, if it is wanted. */
  onAnswer: (answer: GatewayResponse) => Writable | undefined;
  /** The request has ended; `error`: why the response is incomplete. */
  onClose?: (error: Error | undefined) => void;
}

export type SendOutcome =
  | { kind: 'answered' }
  /** The request has certainly not been received. */
  | { kind: 'unreachable'; error: Error }
  /** The request may have been received. */
  | { kind: 'broken'; error: Error };

export class GatewayClient {
  readonly #undici: Undici;
  /** By address. */
  readonly #connections = new Map<string, HttpConnections>();

  constructor(undici: Undici) {
    this.#undici = undici;
  }

  send(request: GatewayRequestOptions, handler: AnswerHandler): GatewayRequest {
    return new GatewayRequest(this.#connectionsTo(request.address), request, handler);
  }

  close(): void {
    for (const connections of this.#connections.values()) connections.release();
    this.#connections.clear();
  }

  #connectionsTo(address: string): HttpConnections {
    const known = this.#connections.get(address);
    if (known !== undefined) return known;
    const options = { connectTimeoutMs: CONNECT_TIMEOUT_MS, idleMs: MAX_IDLE_MS };
    const connections = new HttpConnections(this.#undici, address, options);
    this.#connections.set(address, connections);
    return connections;
  }
}

/** One request and its response. */
export class GatewayRequest implements Dispatcher.DispatchHandler {
  /** Resolves when the response has started, or will not arrive. */
  readonly outcome: Promise<SendOutcome>;
  #resolve!: (outcome: SendOutcome) => void;
  readonly #connections: HttpConnections;
  readonly #connection: HttpConnection;
  readonly #handler: AnswerHandler;
  #isSent = false;
  #isOver = false;
  #isPaused = false;
  #body: Writable | undefined;
  /** The content length of the response, if known. */
  #length = -1;

  constructor(
    connections: HttpConnections,
    { method, path, headers, body }: GatewayRequestOptions,
    handler: AnswerHandler,
  ) {
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#handler = handler;
    this.#connections = connections;
    this.#connection = connections.take();
    this.#connection.dispatch({ method, path, headers, body: body ?? null }, this);
  }

  /** The client has left, or nothing more is expected of the recipient. */
  abort(): void {
    // Usually it has ended: creating an error is expensive.
    if (!this.#isOver) this.#end(new Error('aborted'));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  onRequestStart(): void {
    this.#isSent = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#isOver) return;
    this.#body = this.#handler.onAnswer({ status, headers });
    this.#length = Number(headers['content-length'] ?? -1);
    this.#resolve({ kind: 'answered' });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const body = this.#body;
    if (body === undefined) return;
    if (chunk.length === this.#length && chunk.length <= SHORT_BODY) {
      // Sent together with the head in one write.
      body.end(chunk.toString('latin1'), 'latin1');
      return;
    }
    if (body.write(chunk) || this.#isPaused) return;
    this.#isPaused = true;
    this.#connection.pause();
    body.once('drain', () => {
      this.#isPaused = false;
      // Afterwards another request may use the connection.
      if (!this.#isOver) this.#connection.resume();
    });
  }

  onResponseEnd(): void {
    this.#body?.end();
    this.#end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error === undefined) this.#connections.giveBack(this.#connection);
    else {
      this.#connection.destroy();
      this.#resolve({ kind: this.#isSent ? 'broken' : 'unreachable', error });
    }
    this.#handler.onClose?.(error);
  }
}
