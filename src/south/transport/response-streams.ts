import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { SignInRequired } from '../../core/sign-in/required.ts';
import type { Clock } from '../../lib/clock.ts';
import { LazySet } from '../../lib/lazy-collections.ts';
import { isEventStream, type HttpAnswer } from './http-pool.ts';
import type { StreamReader } from './in-order.ts';
import { parseMessage, type MessageReader } from './message.ts';
import type { OpenRequest } from './open-http-requests.ts';
import type { OversizeMessage } from './oversize-message.ts';
import { readEvents } from './sse-parser.ts';
import type { StreamTag } from './transport.ts';

const RESUME_ATTEMPTS = 5;
const RESUME_FIRST_MS = 300;
const RESUME_MAX_MS = 30_000;
/** A stream that lasted this long did not fail; its end resets the retries. */
const STEADY_MS = 3000;

/** A response stream: that of a POST, or the GET stream of a session. */
export interface StreamOwner {
  /** The request it answers; none for the GET stream of the session. */
  requestId?: RequestId;
  request?: OpenRequest;
  /** The call that the messages on this stream belong to. */
  tag: StreamTag;
}

interface Stream extends StreamOwner {
  answered: boolean;
  lastEventId?: string;
  retryMs?: number;
}

/** The transport that owns the streams. */
export interface StreamHost extends StreamReader {
  clock: Clock;
  /** Opens a GET stream: the session's stream, or the rest of a stream after an event. */
  get: (lastEventId: string | undefined, request: OpenRequest | undefined) => Promise<HttpAnswer>;
  deliver: (message: JSONRPCMessage, stream: StreamTag) => void;
  /** A message was too large to be read. */
  onOversize: (message: OversizeMessage) => void;
  /** The stream has ended for good, without the response. */
  onUnanswered: (requestId: RequestId, reason: string) => void;
  /** A stream broke: worth checking whether the server is alive. */
  onDoubt: (reason: string) => void;
  /** The server has no stream for messages that belong to no request. */
  onNoStanding: () => void;
}

/** The streams of a server; a broken one is resumed where possible. */
export class ResponseStreams {
  readonly #host: StreamHost;
  readonly #timers = new LazySet<() => void>();
  #closed = false;

  constructor(host: StreamHost) {
    this.#host = host;
  }

  /** Opens the stream for messages that belong to no request. */
  openStanding(): void {
    this.#attach({ answered: false, tag: 'any' }, 0);
  }

  /** Reads the stream that a POST was answered with. */
  read(answer: HttpAnswer, owner: StreamOwner): void {
    this.#read(answer, { ...owner, answered: false }, 0);
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  /** Opens a GET stream: the session's stream, or the rest of a broken POST stream. */
  #attach(stream: Stream, attempt: number): void {
    this.#host.get(stream.lastEventId, stream.request).then(
      (answer) => {
        if (answer.status === 200 && isEventStream(answer)) {
          this.#read(answer, stream, attempt);
          return;
        }
        if (stream.requestId === undefined) {
          answer.body.abort();
          this.#host.onNoStanding();
        } else answer.body.discard();
        // A server need not have a GET stream: it then answers 405, or 404, which may also mean that it forgot our session.
        if (answer.status !== 405) this.#host.onDoubt(`HTTP ${answer.status} to a GET`);
        this.#over(stream, `HTTP ${answer.status}`);
      },
      (error: unknown) => {
        // A person must sign in first; then the transport reopens the stream.
        if (error instanceof SignInRequired) this.#over(stream, error.message);
        else this.#again(stream, attempt, (error as Error).message);
      },
    );
  }

  #read(answer: HttpAnswer, stream: Stream, attempt: number): void {
    const opened = this.#host.clock.now();
    const reader: MessageReader = {
      onMessage: (message) => this.#message(stream, message),
      onMistake: (mistake) => this.#host.onError(new Error(`on a response stream: ${mistake}`)),
    };
    readEvents(answer.body, this.#host, {
      onRetry: (ms) => {
        stream.retryMs = ms;
      },
      onEvent: ({ id, data }) => {
        if (id) stream.lastEventId = id;
        return data === '' ? undefined : parseMessage(data, this.#host.limit, reader);
      },
      onOversize: (message) => {
        const { id, isRequest } = message.about();
        if (id !== undefined && !isRequest && id === stream.requestId) stream.answered = true;
        this.#host.onOversize(message);
      },
      onClose: (endless) => {
        if (this.#isUnwanted(stream)) return;
        if (stream.answered) return;
        if (endless !== undefined && stream.requestId !== undefined) {
          // A resumed stream would send the same event again.
          this.#over(stream, endless);
          return;
        }
        this.#host.onDoubt('a response stream ended early');
        this.#again(
          stream,
          this.#host.clock.now() - opened > STEADY_MS ? 0 : attempt,
          'the stream ended without an answer',
        );
      },
    });
  }

  #message(stream: Stream, message: JSONRPCMessage): void {
    // The request may have been cancelled while a message of its stream was parsed.
    if (stream.request?.dropped) return;
    if (!('method' in message) && stream.requestId !== undefined && message.id === stream.requestId) {
      stream.answered = true;
    }
    // Notifications on the session's GET stream belong to no request; questions there may belong to any of them.
    const isUnasked = stream.requestId === undefined && !('id' in message);
    this.#host.deliver(message, isUnasked ? 'no call' : stream.tag);
  }

  /** Resumes a broken stream if possible. */
  #again(stream: Stream, attempt: number, reason: string): void {
    if (this.#isUnwanted(stream)) return;
    const isStanding = stream.requestId === undefined;
    // The session's GET stream is reopened forever: otherwise unsolicited messages would be lost unnoticed.
    if (!isStanding && (stream.lastEventId === undefined || attempt >= RESUME_ATTEMPTS)) {
      this.#over(stream, reason);
      return;
    }
    const delayMs = Math.min(RESUME_MAX_MS, Math.max(stream.retryMs ?? 0, RESUME_FIRST_MS * 2 ** attempt));
    const cancel = this.#host.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      this.#attach(stream, attempt + 1);
    });
    this.#timers.add(cancel);
  }

  #isUnwanted({ request }: StreamOwner): boolean {
    return this.#closed || request?.dropped === true;
  }

  #over(stream: Stream, reason: string): void {
    if (this.#closed || stream.answered || stream.requestId === undefined) return;
    stream.answered = true;
    this.#host.onUnanswered(stream.requestId, reason);
  }
}
