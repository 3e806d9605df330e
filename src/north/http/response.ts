/** Writes HTTP responses: JSON-RPC errors and event streams; reports whether a client received them. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_TABLE, failureOfGateway, type GatewayError } from '../../core/errors.ts';
import { limitUnread } from './unread.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

const KEEP_ALIVE_MS = 15_000;
/** Longer bodies are sent as bytes. */
const LONG_BODY = 64 * 1024;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** How much of a request is read after it has been refused, and for how long; then its connection is closed. */
const MAX_DISCARDED_BYTES = 256 * 1024 * 1024;
const MAX_DISCARD_MS = 30_000;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const NO_HEADERS: readonly string[] = [];

/** `headers`: alternating names and values, which is the fastest form. */
export function respondJson(res: ServerResponse, status: number, body: string, headers = NO_HEADERS): void {
  // A short text is sent with the head in one write; Node would copy a long one twice.
  const content = body.length > LONG_BODY ? Buffer.from(body) : body;
  const length = String(Buffer.byteLength(content));
  res.writeHead(status, ['content-type', 'application/json', 'content-length', length, ...headers]);
  endResponse(res, content);
  limitUnread(res);
}

/**
 * Ends a response. If its request is still arriving, the rest of it is read and discarded first: if the connection closed before
 * that, it would be reset, and the client might not see the response.
 */
export function endResponse(res: ServerResponse, content?: string | Buffer): void {
  const { req } = res;
  if (req.complete || res.destroyed || !hasBody(req)) {
    res.end(content);
    return;
  }
  // With HEAD, nothing is sent otherwise before the end.
  res.flushHeaders();
  if (content !== undefined) res.write(content);
  // Not a timeout of the socket, which would also apply to the next request on this connection.
  const deadline = setTimeout(() => req.destroy(), MAX_DISCARD_MS);
  deadline.unref();
  res.once('close', () => clearTimeout(deadline));
  let left = MAX_DISCARDED_BYTES;
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  req.once('end', () => {
    clearTimeout(deadline);
    res.end();
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
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

/** The same for a gateway error, with the status and code of the table. */
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

/** Periodically sends a comment on an open stream, so that no proxy closes it. */
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

/** Writes an event. Disconnects a client that stops reading, to save memory; it may return. */
export function writeEvent(res: ServerResponse, event: string): void {
  // A write after the end would crash the process.
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

/** `unknown`: the forwarding gateway died before it confirmed the delivery. */
export type ReplyArrival = 'received' | 'lost' | 'unknown';

type WhenArrived = (listener: (arrival: ReplyArrival) => void) => void;

const ARRIVAL = Symbol('arrival');

interface Forwarded extends ServerResponse {
  [ARRIVAL]?: WhenArrived;
}

/** The response goes through another gateway, which reports whether the client received it. */
export function setArrival(res: Forwarded, whenArrived: WhenArrived): void {
  res[ARRIVAL] = whenArrived;
}

/** Receives the fate of a response. */
export interface ResponseListener {
  /** Called once: whether the whole response reached a connected client; if not, whether it may have arrived all the same. */
  onHandedOver(complete: boolean, mayHaveArrived: boolean): void;
  /** Called when the response closes, finished or not. */
  onClosed?(): void;
}

const HANDOVER = Symbol('handover');

interface WatchedResponse extends Forwarded {
  [HANDOVER]?: { readonly listener: ResponseListener; finished: boolean; told: boolean };
}

/**
 * Reports the fate of a response to its only listener. Node reports a response as finished even if its connection broke during the
 * write; only the socket knows, a moment later.
 */
export function listenToResponse(res: WatchedResponse, listener: ResponseListener): void {
  if (res[HANDOVER] !== undefined) throw new Error('the response already has a listener');
  res[HANDOVER] = { listener, finished: false, told: false };
  // Not closures, which would stay with each open response.
  res.on('finish', onFinish);
  // Also emitted after a finished response.
  res.on('close', onClose);
}

function onFinish(this: WatchedResponse): void {
  const handover = this[HANDOVER];
  if (handover === undefined) return;
  handover.finished = true;
  const whenArrived = this[ARRIVAL];
  if (whenArrived === undefined) process.nextTick(tell, this);
  else whenArrived((arrival) => handover.listener.onHandedOver(arrival === 'received', arrival === 'unknown'));
}

function onClose(this: WatchedResponse): void {
  const handover = this[HANDOVER];
  if (handover?.finished === false) process.nextTick(tell, this);
  handover?.listener.onClosed?.();
}

function tell(res: WatchedResponse): void {
  const handover = res[HANDOVER];
  if (handover === undefined || handover.told) return;
  handover.told = true;
  const complete = handover.finished && res.req.socket.errored === null;
  // The forwarding gateway may have received all of it before the connection ended.
  handover.listener.onHandedOver(complete, !complete && res[ARRIVAL] !== undefined && res.writableEnded);
}
