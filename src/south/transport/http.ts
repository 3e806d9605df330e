import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  RequestId,
} from '@modelcontextprotocol/client';
import type { HttpServerConfig } from '../../core/ports/server-config.ts';
import type { AddressCheck } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { CANCELLED } from '../../lib/protocol.ts';
import { every, within } from '../../lib/timers.ts';
import { SignInRequired } from '../../core/sign-in/required.ts';
import { ServerFailure } from '../../lib/server-failure.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { parseText } from '../../lib/json-in-turns.ts';
import { isObject } from '../../lib/values.ts';
import type { ConnectionAccount } from '../../core/sign-in/connection-account.ts';
import { bearer, sendAgain, sendAuthorized, type Send } from './account.ts';
import { isBrokenWire, isUnsent, streamLost, Unreachable } from './broken-wire.ts';
import { configuredHeaders } from './http-headers.ts';
import { answerOf, type HttpHealth } from './http-health.ts';
import { loadUndici, type Undici } from '../../lib/http-connections.ts';
import { ownConnections, sharedConnections } from './shared-http.ts';
import {
  headerOf,
  HttpPool,
  isEventStream,
  type HttpAnswer,
  type HttpBody,
  type HttpExchange,
  type HttpRequest,
} from './http-pool.ts';
import type { MessageLimit } from './message-size.ts';
import { isRequest, readMessage } from './message.ts';
import { modernHeaders } from './modern-headers.ts';
import { handleOversize } from './oversize-message.ts';
import { HttpRefusal } from './http-refusal.ts';
import { PendingWork } from './pending-work.ts';
import { OpenHttpRequests, type OpenRequest } from './open-http-requests.ts';
import { readText } from './read-text.ts';
import { ResponseStreams } from './response-streams.ts';
import type { SendOptions, ServerTransport, StreamTag } from './transport.ts';

/**
 * Three separate limits: long requests must delay neither short ones nor the streams, on which questions for them may
 * arrive.
 */
type Use = 'requests' | 'control' | 'streams';
/** The number of sockets; further requests wait for a free one. */
const MAX_SOCKETS: Record<Use, number> = { requests: 256, control: 16, streams: 256 };
/** Short requests, which must not wait behind long ones: pings, and requests about tasks. */
const CONTROL = new Set(['ping', 'server/discover', 'tasks/get', 'tasks/update', 'tasks/cancel']);
/** These stay open; `initialize` passes its socket on to the subscription stream, so that it is open before the first call. */
const STREAMS = new Set(['initialize', 'subscriptions/listen']);
/** How long a server may take to end a session. */
const TERMINATE_MS = 1000;
/** How long the body of a refusal may take. */
const REFUSAL_MS = 10_000;
/** How much is queued for a server that accepts neither notifications nor responses; beyond that, the connection is lost. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;
/** The approximate memory of a waiting request besides its body. */
const MESSAGE_OVERHEAD = 4096;

export interface HttpTransportOptions {
  clock: Clock;
  limit: MessageLimit;
  /** An existing session. */
  sessionId?: string;
  /** The addresses that connections may go to; any if absent. */
  isAllowed?: AddressCheck | undefined;
  /** The account whose tokens requests carry; absent if the server has no accounts. */
  account?: ConnectionAccount | undefined;
}

/** Streamable HTTP as a client, for both generations of the protocol. */
export class HttpTransport implements ServerTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<ServerTransport['onmessage']>;
  /** The server has accepted the answer to one of its requests. */
  onanswered?: (id: RequestId) => void;
  /** Answers that are being sent. */
  readonly answers = new PendingWork();
  /** Messages that are being parsed. */
  readonly #parsing = new PendingWork();
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  readonly #account: ConnectionAccount | undefined;
  #token: string | undefined;
  /** The server refused the stream for messages that belong to no request: it may accept another token. */
  #standingRefused = false;
  /** The common headers of all POSTs, until the session, the protocol version or the token changes. */
  #headersOfPosts: Record<string, string> | undefined;
  #closed = false;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #health: HttpHealth;
  readonly #limit: MessageLimit;
  readonly #clock: Clock;
  readonly #isAllowed: AddressCheck | undefined;
  #undici: Undici | undefined;
  readonly #pools = new Map<Use, HttpPool>();
  /** Notifications and answers are sent in order: an answer must not overtake an earlier cancellation. */
  #earlierSent: Promise<void> = Promise.resolve();
  /** The bytes of notifications and answers that the server has not accepted yet. */
  #unsent = 0;
  readonly #streams: ResponseStreams;
  readonly #requests: OpenHttpRequests;

  constructor(
    config: HttpServerConfig,
    health: HttpHealth,
    { limit, sessionId, isAllowed, clock, account }: HttpTransportOptions,
  ) {
    this.#clock = clock;
    this.#requests = new OpenHttpRequests(clock);
    this.#url = new URL(config.url);
    this.#limit = limit;
    this.#isAllowed = isAllowed;
    this.#account = account;
    this.#headers = configuredHeaders(this.#url, config.headers);
    this.#health = health;
    this.#streams = new ResponseStreams({
      get: async (lastEventId, request) => this.#getStream(lastEventId, request),
      limit,
      parsing: this.#parsing,
      clock,
      deliver: (message, stream) => this.#deliver(message, stream),
      onOversize: (message) =>
        handleOversize(message, {
          onmessage: (error) => this.#deliver(error, 'any'),
          onerror: (error) => this.onerror?.(error),
          send: async (refusal) => this.send(refusal),
        }),
      onUnanswered: (requestId, reason) => this.#unanswered(requestId, reason),
      onDoubt: (reason) => health.onDoubt(reason),
      // If kept alive, the connections of thousands of new sessions would cost memory, and time when they close.
      onNoStanding: () => this.#pools.get('streams')?.closeIdle(),
      onError: (error) => this.onerror?.(error),
    });
    this.#sessionId = sessionId;
  }

  /** Loads undici on demand: without HTTP servers it is not needed. */
  async start(): Promise<void> {
    this.#undici = await loadUndici();
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  #useSession(id: string | undefined): void {
    this.#sessionId = id;
    this.#headersOfPosts = undefined;
  }

  #useToken(token: string | undefined): void {
    if (token === this.#token) return;
    this.#token = token;
    this.#headersOfPosts = undefined;
    if (this.#standingRefused) this.openStandingStream();
  }

  /** Sends with the account's token, if any. `send` creates a new request each time. */
  #authorized(send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    if (this.#account === undefined) return send();
    return sendAuthorized(this.#account, (token) => {
      this.#useToken(token);
      return send();
    });
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
    this.#headersOfPosts = undefined;
  }

  send(message: JSONRPCMessage, options: SendOptions = {}): Promise<void> {
    return isRequest(message) ? this.#sendRequest(message, options) : this.#sendOther(message, options);
  }

  async #sendRequest(message: JSONRPCRequest, options: SendOptions): Promise<void> {
    const open = this.#requests.begin(message.id);
    try {
      if (message.method === 'initialize') this.#useSession(undefined);
      const account = this.#account;
      const send: Send = (token) => {
        this.#useToken(token);
        // While there was no token, or after a refusal.
        if (open.dropped || open.cancel) throw new Error('aborted');
        const exchange = this.#post(message, this.#useOf(message), options);
        open.exchange = exchange;
        return answerOf(exchange, this.#health);
      };
      // As `sendAuthorized` does, which would be two more async functions for each call.
      const current = account?.tokens.current();
      const token = current instanceof Promise ? await current : current;
      let answer = await send(token);
      const again = account && sendAgain(account, send, { token, answer });
      if (again !== undefined) answer = await again;
      open.taken = true;
      const receiving = this.#answered(message, answer, open, options);
      if (receiving !== undefined) await receiving;
    } catch (cause) {
      throw this.#failed(message, cause);
    }
  }

  #failed({ id }: JSONRPCRequest, cause: unknown): unknown {
    const unsent = this.#requests.isWaiting(id);
    const error = this.#closed ? new Unreachable('closed', 'the connection was closed', unsent, cause) : cause;
    if (isBrokenWire(error) && !isUnsent(error)) this.#requests.abandon(id);
    else this.#requests.end(id);
    return error;
  }

  /** Handles the response synchronously if it has arrived; otherwise returns a promise. */
  #answered(
    message: JSONRPCRequest,
    answer: HttpAnswer,
    open: OpenRequest,
    options: SendOptions,
  ): Promise<void> | undefined {
    // A server ignores the cancellation of a request that it does not have yet, so it gets another one.
    // Without waiting for that: meanwhile the response would pile up unread.
    if (open.cancel) this.send(open.cancel).catch((error: unknown) => this.onerror?.(error as Error));
    if (!isSuccess(answer)) return this.#refused(answer, { id: message.id, open });
    const sessionId = message.method === 'initialize' ? headerOf(answer.headers, 'mcp-session-id') : undefined;
    if (sessionId !== undefined) this.#useSession(sessionId);
    const type = headerOf(answer.headers, 'content-type') ?? 'none';
    if (answer.status === 202) {
      answer.body.abort();
      throw notMcp('the server accepted the request with HTTP 202, so it will not answer it');
    }
    if (isEventStream(answer)) {
      const tag: StreamTag = options.callId === undefined ? 'no call' : { callId: options.callId };
      this.#streams.read(answer, { requestId: message.id, request: open, tag });
      return undefined;
    }
    if (type.startsWith('application/json')) return this.#receiveJson(open, answer);
    answer.body.abort();
    throw notMcp(`the answer has the content type ${type}`);
  }

  #useOf({ method }: JSONRPCRequest): Use {
    const isIntroduction = method === 'server/discover' && this.#protocolVersion === undefined;
    if (isIntroduction || STREAMS.has(method)) return 'streams';
    return CONTROL.has(method) ? 'control' : 'requests';
  }

  #receiveJson(open: OpenRequest, { body }: HttpAnswer): Promise<void> | undefined {
    const { whole } = body;
    if (whole === undefined || whole.length > this.#limit.uncounted) return this.#receiveParts(open, body);
    const text = whole.toString('utf8');
    this.#receive(open, parseJson(text), text.length);
    return undefined;
  }

  async #receiveParts(open: OpenRequest, body: HttpBody): Promise<void> {
    const text = await readText(body, this.#limit);
    await this.#handle(text, async () => {
      const parsed = await parseText(text, this.#limit).catch(notJson);
      // The request may have been cancelled meanwhile.
      if (!open.dropped) this.#receive(open, parsed, text.length);
    });
  }

  /** Handles a text that has arrived. The transport waits for that before it closes. */
  async #handle<T>(text: string, work: () => Promise<T>): Promise<T> {
    const onHandled = this.#limit.handling(text.length);
    try {
      return await this.#parsing.track(work());
    } finally {
      onHandled?.();
    }
  }

  #receive(open: OpenRequest, parsed: unknown, length: number): void {
    for (const each of Array.isArray(parsed) ? parsed : [parsed]) {
      const message = readMessage(each, length);
      if (message === undefined) throw notMcp('the answer is JSON, but not a JSON-RPC message');
      this.#deliver(message, 'any');
    }
    if (open.isOpen) throw notMcp('the response contains no reply to the request');
  }

  /** Sends a notification, or a response to a request of the server. */
  async #sendOther(message: JSONRPCNotification | JSONRPCResponse, options: SendOptions): Promise<void> {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined && this.#requests.dropUnsent(cancelled)) return;
    const post = async (): Promise<HttpAnswer> => this.#postCounted(message, options);
    // A response may arrive twice without harm, but it must arrive.
    const answer = await ('method' in message ? post() : this.answers.track(post().catch(post)));
    if (cancelled !== undefined) this.#requests.cancelled(cancelled, message);
    if (!isSuccess(answer)) {
      await this.#refused(answer);
      return;
    }
    answer.body.discard();
    if (!('method' in message)) {
      if (message.id !== undefined) this.onanswered?.(message.id);
    } else if (message.method === 'notifications/initialized') this.openStandingStream();
  }

  #post(message: JSONRPCMessage, use: Use, options: SendOptions): HttpExchange {
    return this.#request(use, 'POST', this.#postHeaders(message, options), {
      body: Buffer.from(stringifyExact(message)),
    });
  }

  /** Limits the memory for a server that accepts no notifications and answers. */
  async #postCounted(message: JSONRPCMessage, options: SendOptions): Promise<HttpAnswer> {
    if (this.#unsent > MAX_UNSENT_BYTES) {
      const reason = `the server does not read its input: more than ${MAX_UNSENT_BYTES} bytes are waiting`;
      const failure = new ServerFailure('closed', reason);
      setImmediate(() => this.#health.onLost(failure));
      throw failure;
    }
    const body = Buffer.from(stringifyExact(message));
    const bytes = body.length + MESSAGE_OVERHEAD;
    this.#unsent += bytes;
    const earlierSent = this.#earlierSent;
    let onSent = (): void => {};
    this.#earlierSent = new Promise((resolve) => {
      onSent = resolve;
    });
    try {
      await earlierSent;
      return await this.#authorized(() => {
        const exchange = this.#request('control', 'POST', this.#postHeaders(message, options), { body, onSent });
        return answerOf(exchange, this.#health);
      });
    } finally {
      onSent();
      this.#unsent -= bytes;
    }
  }

  #request(
    use: Use,
    method: HttpRequest['method'],
    headers: Record<string, string>,
    rest: Pick<HttpRequest, 'body' | 'onSent'> = {},
  ): HttpExchange {
    if (this.#closed) throw new Error('the connection was closed');
    return this.#poolFor(use).request({ url: this.#url, method, headers, ...rest });
  }

  #poolFor(use: Use): HttpPool {
    const known = this.#pools.get(use);
    if (known !== undefined) return known;
    const pool = this.#newPool(use);
    this.#pools.set(use, pool);
    return pool;
  }

  #newPool(use: Use): HttpPool {
    if (this.#undici === undefined) throw new Error('the transport was not started');
    // The standing stream takes the connection of `initialize`, so another session must not take it first.
    const connections =
      use === 'streams'
        ? ownConnections(this.#undici, this.#url.origin, this.#isAllowed)
        : sharedConnections(this.#undici, this.#url.origin, this.#isAllowed);
    return new HttpPool(connections, MAX_SOCKETS[use], this.#clock);
  }

  drop(id: RequestId): void {
    this.#requests.drop(id);
  }

  /** Abandoned requests that a server with sessions may still work on. */
  takeAbandoned(): RequestId[] {
    const abandoned = this.#requests.takeAbandoned();
    return this.sessionId === undefined ? [] : abandoned;
  }

  /** The same, plus the requests that this transport leaves unanswered when it closes. */
  takeUnanswered(): RequestId[] {
    const unanswered = this.#requests.takeAll();
    return this.sessionId === undefined ? [] : unanswered;
  }

  /** Ends the session on the server. */
  async terminate(): Promise<void> {
    if (this.sessionId === undefined || this.#closed) return;
    // Sent once: a session that cannot be ended now expires.
    if (!(await this.#hasTokenInTime())) return;
    const exchange = this.#request('control', 'DELETE', this.#headersWith({ accept: '*/*' }));
    const stopTimer = this.#clock.after(TERMINATE_MS, () => exchange.abort(), { unref: true });
    try {
      (await exchange.answer).body.discard();
    } finally {
      stopTimer();
    }
  }

  /** Whether the token for the last request is there before that takes too long, or the transport was closed. */
  async #hasTokenInTime(): Promise<boolean> {
    // The stream would end at once.
    this.#standingRefused = false;
    const current = this.#account?.tokens.current();
    if (!(current instanceof Promise)) {
      if (this.#account) this.#useToken(current);
      return true;
    }
    const found = await within(
      TERMINATE_MS,
      current.then((token) => ({ token })),
      this.#clock,
    );
    if (found === undefined || this.#closed) return false;
    this.#useToken(found.token);
    return true;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#streams.close();
    const { anyWaits } = this.#requests;
    for (const pool of this.#pools.values()) pool.destroy();
    // Unsent requests report that first, before all open requests end.
    if (anyWaits) await nextTurn();
    // A result that has arrived is not lost.
    if (!this.#parsing.isEmpty) await this.#parsing.done();
    this.onclose?.();
  }

  #postHeaders(message: JSONRPCMessage, options: SendOptions): Record<string, string> {
    this.#headersOfPosts ??= this.#headersWith({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    });
    const own = modernHeaders(message);
    if (own === undefined && options.headers === undefined) return this.#headersOfPosts;
    return Object.assign({}, this.#headersOfPosts, own, options.headers);
  }

  /** The headers of every request, and its own. Not made with spreads: V8 would make a hidden class for each object (docs/PERFORMANCE.md). */
  #headersWith(own: Record<string, string>): Record<string, string> {
    const headers: Record<string, string> = Object.assign({}, this.#headers, bearer(this.#token), own);
    if (this.sessionId !== undefined) headers['mcp-session-id'] = this.sessionId;
    if (this.#protocolVersion !== undefined) headers['mcp-protocol-version'] = this.#protocolVersion;
    return headers;
  }

  async #refused(answer: HttpAnswer, request?: { id: RequestId; open: OpenRequest }): Promise<void> {
    const text = await this.#refusalText(answer.body);
    if (answer.status === 404 && this.sessionId !== undefined) {
      this.#health.onLost(new ServerFailure('closed', 'the server no longer knows the session'));
    } else if (request !== undefined && (await this.#receiveError(request, text))) return;
    const redirected = headerOf(answer.headers, 'location') !== undefined;
    throw new HttpRefusal(answer.status, this.#url.origin, text, redirected, answer.denied);
  }

  /** A protocol error inside an HTTP error is still the answer to the request. Returns whether there is one. */
  async #receiveError({ id, open }: { id: RequestId; open: OpenRequest }, text: string): Promise<boolean> {
    return this.#handle(text, async () => {
      const error = await errorFor(id, text, this.#limit);
      // The request may have been cancelled meanwhile.
      if (error !== undefined && !open.dropped) this.#deliver(error, 'any');
      return error !== undefined;
    });
  }

  /** The status says enough: a body that does not end must not keep its connection. */
  async #refusalText(body: HttpBody): Promise<string> {
    let isLate = false;
    const abort = (): void => {
      // Then the server is not late.
      if (body.isPaused) return;
      isLate = true;
      body.abort();
    };
    const stopTimer = every(REFUSAL_MS, abort, this.#clock);
    try {
      return await readText(body, this.#limit);
    } catch (error) {
      if (isLate) return '';
      throw error;
    } finally {
      stopTimer();
    }
  }

  /** Opens the GET stream for messages that belong to no request. */
  openStandingStream(): void {
    this.#standingRefused = false;
    this.#streams.openStanding();
  }

  async #getStream(lastEventId: string | undefined, request: OpenRequest | undefined): Promise<HttpAnswer> {
    const get = (): Promise<HttpAnswer> => {
      const headers = this.#headersWith({
        accept: 'text/event-stream',
        // Headers are written with one byte per character; the id is UTF-8.
        ...(lastEventId !== undefined && { 'last-event-id': Buffer.from(lastEventId).toString('latin1') }),
      });
      if (request?.dropped) throw new Error('aborted');
      const exchange = this.#request('streams', 'GET', headers);
      if (request) request.exchange = exchange;
      return answerOf(exchange, this.#health);
    };
    try {
      return await this.#authorized(get);
    } catch (error) {
      // It is opened again with another token.
      if (request === undefined && error instanceof SignInRequired) this.#standingRefused = true;
      throw error;
    }
  }

  #deliver(message: JSONRPCMessage, stream: StreamTag): void {
    if (!('method' in message) && message.id !== undefined) this.#requests.end(message.id);
    // It could no longer be answered.
    else if (this.#closed && isRequest(message)) return;
    this.onmessage?.(message, stream);
  }

  #unanswered(requestId: RequestId, reason: string): void {
    this.#requests.abandon(requestId);
    this.onmessage?.(streamLost(requestId, reason), 'any');
  }
}

/** The response is not MCP: there may be no MCP server at this address. */
function notMcp(what: string): ServerFailure {
  return new ServerFailure('not_mcp', `${what}; check that this is the URL of an MCP server`);
}

const isSuccess = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;

/** The request that a notification cancels. */
function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== CANCELLED) return undefined;
  return message.params?.['requestId'] as RequestId | undefined;
}

function parseJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return notJson();
  }
}

/** Without V8's message, which quotes the text: it may come from an internal page. */
function notJson(): never {
  throw notMcp('the answer is not valid JSON');
}

/** The JSON-RPC error in an HTTP error's body, if it answers this request. */
async function errorFor(id: RequestId, text: string, limit: MessageLimit): Promise<JSONRPCMessage | undefined> {
  try {
    const parsed = await parseText(text, limit);
    if (!isObject(parsed) || !isObject(parsed['error']) || parsed['id'] !== id) return undefined;
    return readMessage(parsed, text.length);
  } catch {
    return undefined;
  }
}
