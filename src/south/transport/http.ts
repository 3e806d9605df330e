import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { createParser } from 'eventsource-parser';
import type { HttpServerConfig } from '../../core/ports.ts';
import { httpRequest, keepAliveAgent, readText, type HttpAnswer } from './http-request.ts';
import { Hello } from './hello.ts';
import { readMessage } from './message.ts';
import { modernHeaders } from './modern-headers.ts';
import { CALL_HEADER, stampOrigin } from './origin.ts';

const MAX_ANSWER = 64 * 1024 * 1024;
const RESUME_ATTEMPTS = 5;
const RESUME_FIRST_MS = 300;
const RESUME_MAX_MS = 30_000;
/** A stream that held this long did not fail; its end is a fresh start. */
const STEADY_MS = 3000;

/** In the data of an error that no server sent: the stream of the answer is over, and the answer did not come. */
const STREAM_LOST = 'meanwhile/stream-lost';

class Unreachable extends Error {
  /** Nobody was there to take it. */
  readonly unsent: boolean;

  constructor(message: string, unsent: boolean, cause: unknown) {
    super(message, { cause });
    this.unsent = unsent;
  }
}

/** Whether a request that failed cannot have arrived. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Unreachable && error.unsent;
}

/** What answers there is no MCP server, or not at this address. */
class UnexpectedContent extends SdkError {
  constructor(what: string) {
    super(SdkErrorCode.ClientHttpUnexpectedContent, `${what}: is this the address of an MCP server?`);
  }
}

/** The request may or may not have arrived; its answer did not. */
export function isBrokenWire(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof ProtocolError && error.data === STREAM_LOST);
}

/** How the transport tells that something is wrong with the server, before anybody asks. */
export interface HttpHealth {
  /** Certain: nobody listens there any more, or our session is not known any more. */
  onLost: (reason: string) => void;
  /** A stream broke: worth asking whether the server is still there. */
  onDoubt: (reason: string) => void;
}

/** One response stream: a POST's own, or the standing GET stream of a session. */
interface Stream {
  /** The request it answers; none for the standing stream. */
  requestId?: RequestId;
  /** The call that request belongs to: what the server asks on this stream, it asks for that call. */
  callId?: string;
  signals: readonly AbortSignal[];
  answered: boolean;
  lastEventId?: string;
  retryMs?: number;
  onEnd?: (() => void) | undefined;
}

/** Streamable HTTP as a client, for both generations of the protocol. */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** The server has taken the answer to a request of its own. */
  onanswered?: (id: RequestId) => void;
  readonly hasPerRequestStream = true;
  readonly hello = new Hello();
  sessionId?: string;
  #protocolVersion: string | undefined;
  #closed = false;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #health: HttpHealth;
  readonly #abort = new AbortController();
  readonly #agent: Agent;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Requests that have no answer yet. */
  readonly #requests = new Map<RequestId, AbortController>();

  constructor(config: HttpServerConfig, health: HttpHealth, sessionId?: string) {
    this.#url = new URL(config.url);
    this.#agent = keepAliveAgent(this.#url);
    this.#headers = Object.fromEntries(
      Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.#health = health;
    if (sessionId !== undefined) this.sessionId = sessionId;
    // Every request in flight listens to it; that is many, not a leak.
    setMaxListeners(0, this.#abort.signal);
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    try {
      await this.#send(message, options);
    } catch (error) {
      if ('method' in message && 'id' in message) this.#requests.delete(message.id);
      throw error;
    }
  }

  async #send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    this.hello.sent(message);
    const { requestSignal } = options ?? {};
    const dropped = this.#droppable(message);
    const signals = [
      this.#abort.signal,
      ...(requestSignal ? [requestSignal] : []),
      ...(dropped ? [dropped.signal] : []),
    ];
    const { [CALL_HEADER]: callId, ...extra } = options?.headers ?? {};
    const isRequest = 'method' in message && 'id' in message;
    const isHandshake = isRequest && message.method === 'initialize';
    if (isHandshake) delete this.sessionId;
    const headers = {
      ...this.#commonHeaders('application/json, text/event-stream'),
      ...modernHeaders(message),
      ...extra,
      'content-type': 'application/json',
    };
    const body = JSON.stringify(message);
    const exchange = (): Promise<HttpAnswer> => this.#exchange('POST', headers, body, signals);
    // An answer to the server's question may arrive twice without harm, but not never.
    const answer = await ('method' in message ? exchange() : exchange().catch(exchange));
    this.#dropCancelled(message);
    if (answer.status < 200 || answer.status > 299) {
      await this.#refused(message, answer);
      return;
    }
    if (isHandshake) {
      const sessionId = answer.headers['mcp-session-id'];
      if (typeof sessionId === 'string') this.sessionId = sessionId;
    }
    if (!isRequest || answer.status === 202) {
      answer.body.resume();
      if ('method' in message && message.method === 'notifications/initialized') this.openStandingStream();
      if (!('method' in message) && message.id !== undefined) this.onanswered?.(message.id);
      return;
    }
    const type = answer.headers['content-type'] ?? '';
    if (type.startsWith('text/event-stream')) {
      this.#readStream(answer, {
        requestId: message.id,
        ...(callId !== undefined && { callId }),
        signals,
        answered: false,
        onEnd: options?.onRequestStreamEnd,
      });
    } else if (type.startsWith('application/json')) {
      const parsed: unknown = JSON.parse(await readText(answer.body, MAX_ANSWER));
      for (const each of Array.isArray(parsed) ? parsed : [parsed]) {
        const message = readMessage(each);
        if (message === undefined) throw new UnexpectedContent('the answer is JSON, but not a JSON-RPC message');
        this.#deliver(message);
      }
    } else {
      answer.body.resume();
      const contentType = answer.headers['content-type'] ?? 'none';
      throw new UnexpectedContent(`the answer has the content type ${contentType}`);
    }
  }

  /** What ends a request that is not wanted any more; its stream may otherwise stay open as long as the connection. */
  #droppable(message: JSONRPCMessage): AbortController | undefined {
    if (!('method' in message && 'id' in message)) return undefined;
    const dropped = new AbortController();
    this.#requests.set(message.id, dropped);
    return dropped;
  }

  /** A server with sessions need not answer what was cancelled, and would keep its stream open. */
  #dropCancelled(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const id = message.params?.['requestId'] as RequestId;
    this.#requests.get(id)?.abort();
    this.#requests.delete(id);
  }

  /** Ends the session on the server, as a client that leaves should. */
  async terminate(): Promise<void> {
    if (this.sessionId === undefined || this.#closed) return;
    const answer = await httpRequest(this.#agent, this.#url, 'DELETE', this.#commonHeaders('*/*'), undefined, [
      this.#abort.signal,
      AbortSignal.timeout(1000),
    ]);
    answer.body.resume();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#abort.abort();
    this.#agent.destroy();
    this.onclose?.();
  }

  #commonHeaders(accept: string): Record<string, string> {
    return {
      ...this.#headers,
      accept,
      ...(this.sessionId !== undefined && { 'mcp-session-id': this.sessionId }),
      ...(this.#protocolVersion !== undefined && { 'mcp-protocol-version': this.#protocolVersion }),
    };
  }

  async #exchange(
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body: string | undefined,
    signals: readonly AbortSignal[],
  ): Promise<HttpAnswer> {
    try {
      return await httpRequest(this.#agent, this.#url, method, headers, body, signals);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (anyAborted(signals)) throw error;
      const unsent = code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH';
      // Whoever sent it hears first that it did not arrive, and can wait for the server to be back.
      if (unsent) setImmediate(() => this.#health.onLost(message));
      else this.#health.onDoubt(message);
      throw new Unreachable(`cannot reach ${this.#url.origin}: ${code ?? message}`, unsent, error);
    }
  }

  async #refused(message: JSONRPCMessage, answer: HttpAnswer): Promise<void> {
    const text = await readText(answer.body, MAX_ANSWER);
    if (answer.status === 404 && this.sessionId !== undefined) {
      this.#health.onLost('the server forgot our session');
    } else {
      // A protocol error inside an HTTP error is still the answer to the request.
      const error = errorFor(message, text);
      if (error !== undefined) {
        this.#deliver(error);
        return;
      }
    }
    throw new SdkHttpError(
      SdkErrorCode.ClientHttpNotImplemented,
      `HTTP ${answer.status} from ${this.#url.origin}: ${answer.headers.location === undefined ? text.slice(0, 300) : 'it redirects elsewhere, which is not followed'}`,
      { status: answer.status, statusText: '', text },
    );
  }

  /** The stream for what belongs to no request; opened with the session, or when going on with one. */
  openStandingStream(): void {
    this.#attach({ signals: [this.#abort.signal], answered: false }, 0);
  }

  /** Opens a GET stream: the standing one, or the rest of a POST stream that broke. */
  #attach(stream: Stream, attempt: number): void {
    const headers = {
      ...this.#commonHeaders('text/event-stream'),
      ...(stream.lastEventId !== undefined && { 'last-event-id': stream.lastEventId }),
    };
    this.#exchange('GET', headers, undefined, stream.signals).then(
      (answer) => {
        const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
        if (answer.status === 200 && isStream) {
          this.#readStream(answer, stream, attempt);
          return;
        }
        answer.body.resume();
        // A server need not have a standing stream. 405 says so; a 404 may say so too, or that it forgot our session.
        if (answer.status !== 405) this.#health.onDoubt(`HTTP ${answer.status} to a GET`);
        this.#streamOver(stream, `HTTP ${answer.status}`);
      },
      (error: unknown) => this.#again(stream, attempt, (error as Error).message),
    );
  }

  #readStream(answer: HttpAnswer, stream: Stream, attempt = 0): void {
    const opened = Date.now();
    const parser = createParser({
      maxBufferSize: MAX_ANSWER,
      onRetry: (ms) => {
        stream.retryMs = ms;
      },
      onEvent: ({ id, data }) => {
        if (id) stream.lastEventId = id;
        if (data !== '') this.#streamMessage(stream, data);
      },
      onError: ({ type }) => {
        if (type !== 'max-buffer-size-exceeded') return;
        answer.body.destroy();
        this.#streamOver(stream, `an event is larger than ${MAX_ANSWER} characters`);
      },
    });
    answer.body.setEncoding('utf8');
    answer.body.on('data', (chunk: string) => {
      if (!answer.body.destroyed) parser.feed(chunk);
    });
    answer.body.on('error', () => {
      // 'close' follows and decides.
    });
    answer.body.once('close', () => {
      if (anyAborted(stream.signals)) return;
      if (stream.answered) {
        stream.onEnd?.();
        return;
      }
      this.#health.onDoubt('a response stream ended early');
      this.#again(stream, Date.now() - opened > STEADY_MS ? 0 : attempt, 'the stream ended without an answer');
    });
  }

  #streamMessage(stream: Stream, data: string): void {
    let message: JSONRPCMessage | undefined;
    try {
      message = readMessage(JSON.parse(data));
    } catch (error) {
      this.onerror?.(new Error(`not JSON on the stream: ${(error as Error).message}`));
      return;
    }
    if (message === undefined) {
      this.onerror?.(new Error('not a JSON-RPC message on the stream'));
      return;
    }
    if (!('method' in message) && stream.requestId !== undefined && message.id === stream.requestId) {
      stream.answered = true;
    }
    // What is told on the standing stream belongs to no request; what is asked there may still be asked for any of them.
    const unclear = stream.requestId === undefined && 'id' in message;
    this.#deliver(unclear ? message : stampOrigin(message, stream.callId));
  }

  #deliver(message: JSONRPCMessage): void {
    if (!('method' in message) && message.id !== undefined) this.#requests.delete(message.id);
    this.hello.received(message);
    this.onmessage?.(message);
  }

  /** Goes on with a broken stream where that is possible. */
  #again(stream: Stream, attempt: number, reason: string): void {
    if (this.#closed || anyAborted(stream.signals)) return;
    const isStanding = stream.requestId === undefined;
    // The standing stream is never given up: what the server says unasked would be lost from then on, and unnoticed.
    if (!isStanding && (stream.lastEventId === undefined || attempt >= RESUME_ATTEMPTS)) {
      this.#streamOver(stream, reason);
      return;
    }
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#attach(stream, attempt + 1);
      },
      Math.min(RESUME_MAX_MS, Math.max(stream.retryMs ?? 0, RESUME_FIRST_MS * 2 ** attempt)),
    );
    this.#timers.add(timer);
  }

  /** Nothing more will come on this stream: whoever waits for its answer must know. */
  #streamOver(stream: Stream, reason: string): void {
    if (this.#closed || stream.answered || stream.requestId === undefined) return;
    stream.answered = true;
    this.#requests.delete(stream.requestId);
    if (stream.onEnd) {
      stream.onEnd();
      return;
    }
    const message = `the server closed the connection before it answered (${reason})`;
    this.onmessage?.({ jsonrpc: '2.0', id: stream.requestId, error: { code: -32000, message, data: STREAM_LOST } });
  }
}

function anyAborted(signals: readonly AbortSignal[]): boolean {
  return signals.some(({ aborted }) => aborted);
}

/** The JSON-RPC error in an HTTP error's body, if it answers this request. */
function errorFor(message: JSONRPCMessage, text: string): JSONRPCMessage | undefined {
  if (!('id' in message)) return undefined;
  try {
    const parsed = JSON.parse(text) as { id?: unknown; error?: { code?: unknown } } | null;
    return typeof parsed?.error?.code === 'number' && parsed.id === message.id ? (parsed as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
