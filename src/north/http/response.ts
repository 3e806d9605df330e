/** Writes HTTP responses: JSON-RPC errors and event streams; tells whether a client received them. */

import type { ServerResponse } from 'node:http';
import { ERROR_TABLE, failureOfGateway, type GatewayError } from '../../core/errors.ts';
import { limitUnread } from './unread.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

const KEEP_ALIVE_MS = 15_000;
/** Longer bodies are sent as bytes. */
const LONG_BODY = 64 * 1024;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const NO_HEADERS: readonly string[] = [];

/** `headers`: names and values in turn, which costs least. */
export function respondJson(res: ServerResponse, status: number, body: string, headers = NO_HEADERS): void {
  // A short text leaves together with the head, in one piece; Node would copy a long one twice.
  const content = body.length > LONG_BODY ? Buffer.from(body) : body;
  const length = String(Buffer.byteLength(content));
  res.writeHead(status, ['content-type', 'application/json', 'content-length', length, ...headers]).end(content);
  limitUnread(res);
}

/** A response whose body is a JSON-RPC error. */
export function respondError(
  res: ServerResponse,
  status: number,
  code: number,
  message: string,
  options: { id?: unknown; data?: unknown; headers?: Record<string, string> } = {},
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { id = null, data, headers } = options;
  const error = { code, message, ...(data !== undefined && { data }) };
  respondJson(res, status, stringifyExact({ jsonrpc: '2.0', id, error }), Object.entries(headers ?? {}).flat());
}

/** The same for an error of the gateway: the table says which status and code. */
export function respondGatewayError(
  res: ServerResponse,
  error: GatewayError,
  options: { id?: unknown; headers?: Record<string, string> } = {},
): void {
  const { code, message, data } = failureOfGateway(error);
  const retryAfterMs = error.details?.['retryAfterMs'];
  const wait = typeof retryAfterMs === 'number' ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : undefined;
  const headers = wait === undefined ? options.headers : { ...wait, ...options.headers };
  respondError(res, ERROR_TABLE[error.code].http, code, message, { ...options, ...(headers && { headers }), data });
}

/** Sends a comment now and then on a stream that stays open, so that no proxy closes it. */
export function keepAlive(res: ServerResponse): void {
  const beat = setInterval(() => {
    // An ended response stays open until a slow client has read all of it.
    if (!res.writableEnded) res.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  beat.unref();
  res.once('close', () => clearInterval(beat));
}

export function beginStream(res: ServerResponse): void {
  res.writeHead(200, STREAM_HEADERS);
  keepAlive(res);
}

/** Writes an event. A client that does not read must not fill the memory: it is disconnected, and may come back. */
export function writeEvent(res: ServerResponse, event: string): void {
  // A write after the end would be an error that ends the program.
  if (res.writableEnded) return;
  if (res.writableLength > MAX_UNREAD_BYTES) res.destroy();
  else {
    res.write(event);
    limitUnread(res);
  }
}

/** An event with a JSON-RPC message; with an id, a client can resume the stream after it. */
export function frame(data: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}

/** `unknown`: the gateway on the way has died with it, or after it had passed it on. */
export type ReplyArrival = 'received' | 'lost' | 'unknown';

type WhenArrived = (listener: (arrival: ReplyArrival) => void) => void;

const ARRIVAL = Symbol('arrival');

interface Forwarded extends ServerResponse {
  [ARRIVAL]?: WhenArrived;
}

/** The response goes to another gateway, which tells whether the client has received it. */
export function setArrival(res: Forwarded, whenArrived: WhenArrived): void {
  res[ARRIVAL] = whenArrived;
}

/**
 * Tells once whether the whole response was handed to a client that was still there; if not, whether it may have been all the
 * same. Node calls a response finished also when its connection broke while it was being written; only the socket knows, a
 * moment later. `onClose` is called when the response closes, finished or not; two listeners for that would cost more.
 */
export function onceHandedOver(
  res: Forwarded,
  listener: (complete: boolean, mayHaveArrived: boolean) => void,
  onClose?: () => void,
): void {
  const { socket } = res.req;
  let finished = false;
  let told = false;
  const tell = (): void => {
    if (told) return;
    told = true;
    const complete = finished && socket.errored === null;
    // The gateway on the way may have had all of it before the connection ended.
    listener(complete, !complete && res[ARRIVAL] !== undefined && res.writableEnded);
  };
  res.on('finish', () => {
    finished = true;
    if (res[ARRIVAL] === undefined) process.nextTick(tell);
    else res[ARRIVAL]((arrival) => listener(arrival === 'received', arrival === 'unknown'));
  });
  // Also emitted after a finished response.
  res.on('close', () => {
    if (!finished) process.nextTick(tell);
    onClose?.();
  });
}
