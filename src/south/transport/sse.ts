import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from '../../core/ports/server-config.ts';
import type { AddressCheck } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServerFailure } from '../../lib/server-failure.ts';
import type { ConnectionAccount } from '../../core/sign-in/connection-account.ts';
import { bearer, sendAuthorized } from './account.ts';
import { configuredHeaders } from './http-headers.ts';
import { answerOf, type HttpHealth } from './http-health.ts';
import { loadUndici } from '../../lib/http-connections.ts';
import { ownConnections } from './shared-http.ts';
import { headerOf, HttpPool, isEventStream, type HttpAnswer, type HttpBody, type HttpRequest } from './http-pool.ts';
import type { HttpTransportOptions } from './http.ts';
import type { MessageLimit } from './message-size.ts';
import { isRequest, parseMessage, type MessageReader } from './message.ts';
import { handleOversize } from './oversize-message.ts';
import { PendingWork } from './pending-work.ts';
import { HttpRefusal } from './http-refusal.ts';
import { readEvents } from './sse-parser.ts';
import { readText } from './read-text.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { ServerTransport } from './transport.ts';

const MAX_SOCKETS = 256;

/**
 * The HTTP+SSE transport of 2024: the server sends everything on one stream, which starts with the address for our
 * messages. The stream is also the session: when it ends, the connection is lost, and the next one starts with
 * `initialize`.
 */
export class SseTransport implements ServerTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<ServerTransport['onmessage']>;
  /** Answers that are being sent. */
  readonly answers = new PendingWork();
  /** Messages that are being parsed. */
  readonly #parsing = new PendingWork();
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #health: HttpHealth;
  readonly #limit: MessageLimit;
  readonly #isAllowed: AddressCheck | undefined;
  readonly #clock: Clock;
  readonly #account: ConnectionAccount | undefined;
  #pool: HttpPool | undefined;
  #endpoint: URL | undefined;
  #protocolVersion: string | undefined;
  /** Why the stream ended, once it has. */
  ending: ServerFailure | undefined;
  #closed = false;
  #stream: HttpBody | undefined;
  received = 0;
  readonly #reader: MessageReader = {
    onMessage: (message) => {
      if (!this.#closed || !isRequest(message)) this.onmessage?.(message, 'any');
    },
    onMistake: (mistake) => this.onerror?.(new Error(`on the stream: ${mistake}`)),
  };

  constructor(
    { url, headers }: HttpServerConfig,
    health: HttpHealth,
    { limit, isAllowed, clock, account }: Omit<HttpTransportOptions, 'sessionId'>,
  ) {
    this.#url = new URL(url);
    this.#headers = configuredHeaders(this.#url, headers);
    this.#health = health;
    this.#limit = limit;
    this.#isAllowed = isAllowed;
    this.#clock = clock;
    this.#account = account;
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Opens the stream and waits for the address. */
  async start(): Promise<void> {
    const undici = await loadUndici();
    if (this.#closed) throw new ServerFailure('closed', 'the connection was closed');
    this.#pool = new HttpPool(ownConnections(undici, this.#url.origin, this.#isAllowed), MAX_SOCKETS, this.#clock);
    const answer = await this.#exchange({ url: this.#url, method: 'GET', headers: { accept: 'text/event-stream' } });
    if (answer.status !== 200 || !isEventStream(answer)) {
      answer.body.discard();
      throw new ServerFailure('not_mcp', `HTTP ${answer.status} from ${this.#url.origin} instead of a stream`);
    }
    await new Promise<void>((resolve, reject) => this.#read(answer, resolve, reject));
  }

  #read({ body }: HttpAnswer, onEndpoint: () => void, onFailure: (error: Error) => void): void {
    let ending = 'the stream of the server ended';
    this.#stream = body;
    const onError = (error: Error): void => this.onerror?.(error);
    readEvents(
      body,
      { limit: this.#limit, parsing: this.#parsing, onError },
      {
        onEvent: ({ name, data }) => {
          if (name === 'message') return parseMessage(data, this.#limit, this.#reader);
          if (name !== 'endpoint') return undefined;
          try {
            this.#endpoint = endpointAt(data, this.#url);
            onEndpoint();
          } catch (error) {
            ending = (error as Error).message;
            body.abort();
          }
          return undefined;
        },
        onData: (chunk) => {
          this.received += chunk.length;
        },
        onOversize: (message) => handleOversize(message, this),
        onRetry: () => {},
        onClose: (endless) => {
          this.ending = new ServerFailure('closed', endless ?? ending);
          onFailure(this.ending);
          if (!this.#closed) this.#health.onLost(this.ending);
        },
      },
    );
  }

  get isBehind(): boolean {
    return this.#stream?.isPaused === true || !this.#parsing.isEmpty;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const sending = this.#post(message);
    await ('method' in message ? sending : this.answers.track(sending));
  }

  async #post(message: JSONRPCMessage): Promise<void> {
    if (this.#endpoint === undefined) throw new Error('the server has not sent its message endpoint');
    const { origin } = this.#endpoint;
    const headers = { 'content-type': 'application/json' };
    const request = {
      url: this.#endpoint,
      method: 'POST',
      headers,
      body: Buffer.from(stringifyExact(message)),
    } as const;
    const { status, body, ...answer } = await this.#exchange(request);
    if (status >= 200 && status < 300) {
      body.discard();
      return;
    }
    const text = await readText(body, this.#limit);
    const redirected = headerOf(answer.headers, 'location') !== undefined;
    const refused = new HttpRefusal(status, origin, text, redirected, answer.denied);
    this.#health.onDoubt(refused.message);
    throw refused;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#pool?.destroy();
    // A result that has arrived is not lost; a request can no longer be answered.
    if (!this.#parsing.isEmpty) await this.#parsing.done();
    this.onclose?.();
  }

  async #exchange(request: Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>): Promise<HttpAnswer> {
    const send = (token?: string): Promise<HttpAnswer> => {
      const headers = {
        ...this.#headers,
        ...bearer(token),
        ...request.headers,
        ...(this.#protocolVersion !== undefined && { 'mcp-protocol-version': this.#protocolVersion }),
      };
      if (this.#pool === undefined) throw new Error('the transport was not started');
      return answerOf(this.#pool.request({ ...request, headers }), this.#health);
    };
    return this.#account === undefined ? send() : sendAuthorized(this.#account, send);
  }
}

/** Where messages go: at the same origin, since another server must not get our credentials. */
function endpointAt(address: string, stream: URL): URL {
  const endpoint = new URL(address, stream);
  if (endpoint.origin !== stream.origin) throw new Error('the message endpoint of the server has another origin');
  return endpoint;
}
