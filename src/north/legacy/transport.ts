import type { IncomingMessage, ServerResponse } from 'node:http';
import { append } from '../../lib/append.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { Delayed } from '../../lib/timers.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import {
  frame,
  keepAlive,
  listenToResponse,
  respondError,
  respondJson,
  STREAM_HEADERS,
  writeEvent,
  type ResponseListener,
} from '../http/response.ts';
import {
  isRequest,
  type ErrorMessage,
  type Message,
  type OutgoingMessage,
  type RequestId,
  type ResultMessage,
  type WrittenReply,
} from '../message.ts';
import { ReplayBuffer, requestsNamedIn } from './replay.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import { messageText } from '../kept-results.ts';
import { INVALID_REQUEST } from '../../lib/rpc-error.ts';

/** A call answered sooner than this gets plain JSON; a slower one a stream that can carry progress and be resumed. */
const STREAM_AFTER_MS = 250;
const RETRY_MS = 1000;
const MAX_MISSED = 100;

interface LegacyTransportOptions {
  /** Whether another gateway may own the session, so that nothing may be sent. */
  isInDoubt?: () => boolean;
  /** Whether the client supports events without content. */
  primesStreams: boolean;
  /** The error for requests from before a restart, if the session is restored. */
  lost?: string | undefined;
}

/** The answer to one POST, or a standing GET stream (which waits for no reply). */
interface Stream {
  transport: LegacyTransport;
  /** The id of the stream, once it is an SSE stream. */
  id: string | undefined;
  requests: RequestId[];
  /** The current response; absent while the client is disconnected. */
  res: ServerResponse | undefined;
  /** The number of unanswered requests of the POST. */
  unanswered: number;
  /** Replies as JSON, held back until all are complete, while it is not a stream. */
  replies: string[];
  isBatch: boolean;
  /** The replies that were written to `res`; absent until the stream has a response. */
  answered: AnsweredOn | undefined;
}

/** The exchanges whose replies were written to one response of a stream. */
class AnsweredOn implements ResponseListener {
  #exchanges: Exchange[] | undefined;
  readonly #stream: Stream;
  readonly #res: ServerResponse;

  constructor(stream: Stream, res: ServerResponse) {
    this.#stream = stream;
    this.#res = res;
  }

  add(exchange: Exchange): void {
    this.#exchanges = append(this.#exchanges, exchange);
  }

  onHandedOver(complete: boolean, mayHaveArrived: boolean): void {
    for (const exchange of this.#exchanges ?? []) {
      exchange.mayHaveArrived = mayHaveArrived;
      this.#stream.transport.settle(this.#stream, exchange, complete);
    }
  }

  onClosed(): void {
    this.#stream.transport.clientLeft(this.#stream, this.#res);
  }
}

/** An open request of the client. */
interface OpenRequest {
  stream: Stream;
  exchange: Exchange | undefined;
}

/**
 * Streamable HTTP for one session of a legacy client. Everything is written immediately to the response of the
 * request it belongs to, so it is known whether the client was still connected.
 */
export class LegacyTransport implements Carrier {
  /** The answers that become streams if they take long. */
  static readonly #pending = new Delayed<Stream>(STREAM_AFTER_MS, (stream) => stream.transport.#startStreaming(stream));

  onclose: () => void = () => {};
  onmessage: (message: Message) => void = () => {};
  /** Called when the client does not return for the reply to a request. */
  onRequestLeft: (id: RequestId) => void = () => {};
  readonly sessionId: string;
  /** Called when a stream opens, so that the session counts as used; the returned function is called when it ends. */
  onStreamOpen: () => () => void = () => () => {};
  /** Called when the client opens a standing stream, or resumes the streams of these requests. */
  onReachable: (requests: Iterable<RequestId> | 'standing') => void = () => {};
  /** Called when the client resumes a standing stream. */
  onStandingAgain: () => void = () => {};
  /** Called when such a stream breaks, before the exchanges are told that the client has left. */
  onUnreachable: (requests: Iterable<RequestId> | 'standing') => void = () => {};
  /** Whether the gateway shuts down, as opposed to the end of the session. */
  comesBack = false;
  /** Whether another gateway owns the session: nothing more may be sent to the client. */
  isElsewhere = false;
  #closed = false;
  readonly #options: LegacyTransportOptions;
  readonly #replay = new ReplayBuffer();
  readonly #streams = new InFlight<Stream, Stream>();
  readonly #requests = new InFlight<RequestId, OpenRequest>();
  /** Exchanges whose replies the client missed, by stream: it may return for them. */
  readonly #missed = new LazyMap<string, Exchange[]>();
  #standing: Stream | undefined;

  readonly #sessionHeader: readonly string[];

  constructor(sessionId: string, options: LegacyTransportOptions) {
    this.sessionId = sessionId;
    this.#sessionHeader = ['mcp-session-id', sessionId];
    this.#options = options;
  }

  track(id: RequestId, exchange: Exchange): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    request.exchange = exchange;
    const { res, id: streamId } = request.stream;
    if (res === undefined) exchange.clientLeft({ resumable: streamId !== undefined });
  }

  abandon(id: RequestId): void {
    const stream = this.#requests.get(id)?.stream;
    if (stream === undefined) return;
    this.#requests.delete(id);
    stream.unanswered -= 1;
    if (stream.unanswered > 0) return;
    this.#forget(stream);
    this.#end(stream);
  }

  /** One POST: messages in, and the replies to the requests among them out. */
  post(res: ServerResponse, body: Message | Message[]): void {
    const messages = Array.isArray(body) ? body : [body];
    let requests: RequestId[] = [];
    for (const message of messages) if (isRequest(message)) requests = append(requests, message.id);
    if (requests.length === 0) {
      res.writeHead(202).end();
      for (const message of messages) this.onmessage(message);
      return;
    }
    const known = requests.filter((id) => this.#requests.has(id));
    const taken = known.find((id) => this.#isWaitedFor(id)) ?? requests.find((id, at) => requests.indexOf(id) !== at);
    if (taken !== undefined) {
      respondError(res, 400, INVALID_REQUEST, `request id ${stringifyExact(taken)} is already in use`, { id: taken });
      return;
    }
    // A client that reuses the ids of abandoned requests will not return for those.
    for (const id of known) this.#giveUp(id);
    const stream = this.#newStream(requests, res, Array.isArray(body));
    for (const id of requests) this.#requests.add(id, { stream, exchange: undefined });
    LegacyTransport.#pending.add(stream);
    this.#watch(stream, res);
    for (const message of messages) this.onmessage(message);
  }

  /** Whether the client has a request with this id, and has not left its stream. */
  #isWaitedFor(id: RequestId): boolean {
    return this.#requests.get(id)?.stream.res !== undefined;
  }

  #giveUp(id: RequestId): void {
    this.onRequestLeft(id);
    this.abandon(id);
  }

  /** Ends the response of the standing stream; the client reopens it with its current token. */
  endStanding(): void {
    this.#standing?.res?.end();
  }

  /** A GET: opens the standing stream, or resumes a stream. */
  get(req: IncomingMessage, res: ServerResponse): void {
    const lastEventId = req.headers['last-event-id'];
    if (typeof lastEventId !== 'string') {
      this.endStanding();
      this.#stand(res);
      return;
    }
    const rest = this.#replay.after(lastEventId);
    if (rest === undefined) {
      this.#getAfterRestart(lastEventId, res);
      return;
    }
    const stream = this.#streaming(rest.streamId);
    if (stream === undefined) {
      // The stream has ended: the client gets the rest of it.
      const missed = this.#missed.get(rest.streamId) ?? [];
      if (rest.events.length < missed.length) {
        this.#answerLost(lastEventId, res);
        return;
      }
      if (rest.events.length === 0) {
        // SDK 1.23 resumes also streams that it has read to their end. After an empty stream it would open one more
        // standing stream with each call; 405 makes it stop.
        respondError(res, 405, -32000, 'this stream has ended', { headers: { allow: 'POST, DELETE' } });
        return;
      }
      const onHandedOver = (complete: boolean): void => {
        if (!complete) return;
        this.#missed.delete(rest.streamId);
        for (const exchange of missed) exchange.settle(true);
      };
      listenToResponse(res, { onHandedOver });
      res.writeHead(200, this.#headers());
      for (const { id, data } of rest.events) res.write(frame(data, id));
      res.end();
      return;
    }
    stream.res?.end();
    this.#attach(stream, res);
    for (const { id, data } of rest.events) res.write(frame(data, id));
    // SDK 1 loses its position if the stream breaks again before it receives an event.
    if (rest.events.length === 0) this.#prime(stream);
    const waiting = this.#waitingOn(stream);
    for (const id of waiting) this.#requests.get(id)?.exchange?.clientReturned();
    if (stream === this.#standing) this.onStandingAgain();
    else this.onReachable(waiting);
  }

  /** The stream with this id, unless it has ended. */
  #streaming(id: string): Stream | undefined {
    return this.#streams.values().find((stream) => stream.id === id);
  }

  /** The unanswered requests of a stream. */
  #waitingOn(stream: Stream): RequestId[] {
    return stream.requests.filter((id) => this.#requests.get(id)?.stream === stream);
  }

  #stand(res: ServerResponse): void {
    this.#standing ??= this.#newStream([], undefined, false);
    this.#standing.id ??= this.#replay.newStreamId();
    this.#attach(this.#standing, res);
    this.#prime(this.#standing);
    this.onReachable('standing');
  }

  /**
   * A stream from before a restart cannot be resumed. The standing stream starts over; requests that were open
   * are answered with an error.
   */
  #getAfterRestart(lastEventId: string, res: ServerResponse): void {
    const requests = requestsNamedIn(lastEventId);
    const { lost } = this.#options;
    if (lost === undefined || requests === undefined) {
      respondError(res, 400, -32000, 'Last-Event-ID does not name an event of this session');
      return;
    }
    if (requests.length === 0) {
      this.#stand(res);
      return;
    }
    this.#answerAll(requests, lost, res);
  }

  /** A missed reply is no longer kept, but its result may be kept as a task. */
  #answerLost(lastEventId: string, res: ServerResponse): void {
    const message = 'the client did not receive the reply in time; repeat the call to get its result';
    this.#answerAll(requestsNamedIn(lastEventId) ?? [], message, res);
  }

  /** The events belong to a new stream: a client that resumes with their ids gets no second answer. */
  #answerAll(requests: RequestId[], message: string, res: ServerResponse): void {
    const streamId = this.#replay.newStreamId(requests);
    res.writeHead(200, this.#headers());
    for (const id of requests) {
      const data = stringifyExact({ jsonrpc: '2.0', id, error: { code: -32000, message } });
      res.write(frame(data, this.#replay.add(streamId, data)));
    }
    res.end();
  }

  send(message: OutgoingMessage, on?: RequestId): void {
    if (this.#closed) return;
    if (this.#options.isInDoubt?.() === true) this.#hangUp();
    if (!('method' in message)) {
      this.#reply(message);
      return;
    }
    const stream = on === undefined ? this.#standing : this.#requests.get(on)?.stream;
    if (stream === undefined) return;
    if (stream.id === undefined) this.#startStreaming(stream);
    this.#write(stream, messageText(message));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.isElsewhere) this.#hangUp();
    for (const stream of this.#streams.values()) {
      LegacyTransport.#pending.delete(stream);
      if (stream.res !== undefined && !stream.res.headersSent) {
        if (this.comesBack) respondError(stream.res, 503, -32000, 'the gateway is shutting down; try again later');
        else respondError(stream.res, 404, -32001, 'the session has ended');
      } else stream.res?.end();
    }
    this.#streams.clear();
    this.#standing = undefined;
    const requests = this.#requests.values();
    this.#requests.clear();
    for (const { exchange } of requests) exchange?.clientLeft();
    this.onclose();
  }

  get counts(): { streams: number; requests: number; kept: number } {
    return { streams: this.#streams.size, requests: this.#requests.size, kept: this.#replay.size };
  }

  #headers(): Record<string, string> {
    return { ...STREAM_HEADERS, 'mcp-session-id': this.sessionId };
  }

  /** Whether a message without a request would reach the client now. */
  reaches(): boolean {
    return this.#standing?.res !== undefined;
  }

  #reply(message: ResultMessage | WrittenReply | ErrorMessage): void {
    const { id } = message;
    // First, because it may fail.
    const text = messageText(message);
    const request = id === undefined ? undefined : this.#requests.take(id);
    if (request === undefined) return;
    const { stream, exchange } = request;
    stream.unanswered -= 1;
    const done = stream.unanswered === 0;
    const { res } = stream;
    if (done) this.#forget(stream);
    if (exchange !== undefined) {
      if (res === undefined) this.settle(stream, exchange, false);
      else stream.answered?.add(exchange);
    }
    if (stream.id === undefined) stream.replies = append(stream.replies, text);
    else this.#write(stream, text);
    if (done) this.#end(stream);
  }

  /** Every request of the stream is answered or abandoned. */
  #end({ id, res, replies, isBatch }: Stream): void {
    if (res === undefined) return;
    if (id !== undefined) res.end();
    else if (replies.length === 0) res.writeHead(200, this.#headers()).end();
    else respondJson(res, 200, isBatch ? `[${replies.join()}]` : replies.join(), this.#sessionHeader);
  }

  /** Reports to the exchanges whether their replies arrived, or that the client left if the response closes first. */
  #watch(stream: Stream, res: ServerResponse): void {
    stream.answered = new AnsweredOn(stream, res);
    listenToResponse(res, stream.answered);
    if (res.destroyed) this.clientLeft(stream, res);
  }

  /** The reply to a request was written to a response that has ended, or the client has left its stream. */
  settle(stream: Stream, exchange: Exchange, complete: boolean): void {
    if (!complete) this.#miss(stream, exchange);
    exchange.settle(complete);
  }

  #miss({ id }: Stream, exchange: Exchange): void {
    // Only SSE responses can be resumed.
    if (id === undefined) return;
    this.#missed.set(id, [...(this.#missed.get(id) ?? []), exchange]);
    const [oldest] = this.#missed.keys();
    if (this.#missed.size > MAX_MISSED && oldest !== undefined) this.#missed.delete(oldest);
  }

  #startStreaming(stream: Stream): void {
    LegacyTransport.#pending.delete(stream);
    stream.id = this.#replay.newStreamId(stream.requests);
    if (stream.res !== undefined) this.#attach(stream, stream.res);
    this.#prime(stream);
    for (const reply of stream.replies) this.#write(stream, reply);
    stream.replies = [];
  }

  /**
   * Sends an event without content, so that the client can resume the stream before it has received a message. Clients of
   * older protocol versions would parse the empty data as JSON and fail; they can resume from the first message on.
   */
  #prime(stream: Stream): void {
    if (!this.#options.primesStreams || stream.id === undefined) return;
    stream.res?.write(`id: ${this.#replay.add(stream.id, '')}\nretry: ${RETRY_MS}\ndata: \n\n`);
  }

  #attach(stream: Stream, res: ServerResponse): void {
    const resumed = stream.res !== res;
    stream.res = res;
    // Flushed immediately, because the client waits for the headers.
    res.writeHead(200, this.#headers()).flushHeaders();
    keepAlive(res);
    const release = this.onStreamOpen();
    res.once('close', release);
    if (resumed) this.#watch(stream, res);
  }

  #newStream(requests: RequestId[], res: ServerResponse | undefined, isBatch: boolean): Stream {
    const stream: Stream = {
      transport: this,
      id: undefined,
      requests,
      res,
      unanswered: requests.length,
      replies: [],
      isBatch,
      answered: undefined,
    };
    this.#streams.add(stream, stream);
    return stream;
  }

  #write(stream: Stream, data: string): void {
    if (stream.id === undefined) return;
    const id = this.#replay.add(stream.id, data);
    if (stream.res) writeEvent(stream.res, frame(data, id));
  }

  /** The end of a stream is not the end of the session: its requests continue, and the client may return. */
  clientLeft(stream: Stream, res: ServerResponse): void {
    if (stream.res !== res) return;
    stream.res = undefined;
    if (stream === this.#standing) {
      this.onUnreachable('standing');
      return;
    }
    if (stream.unanswered === 0) return;
    LegacyTransport.#pending.delete(stream);
    const waiting = this.#waitingOn(stream);
    this.onUnreachable(waiting);
    const resumable = stream.id !== undefined;
    for (const id of waiting) this.#requests.get(id)?.exchange?.clientLeft({ resumable });
  }

  /** Breaks all streams: the client resumes them, here or at another gateway. */
  #hangUp(): void {
    for (const stream of this.#streams.values()) {
      const { res } = stream;
      if (res === undefined) continue;
      res.destroy();
      this.clientLeft(stream, res);
    }
  }

  #forget(stream: Stream): void {
    LegacyTransport.#pending.delete(stream);
    this.#streams.delete(stream);
  }
}
