/** A client of the 2025-11-25 protocol by hand. */
import type { Json } from '../../support/hub.ts';
import {
  firstEvents,
  INITIALIZE,
  JSON_HEADERS,
  openStream,
  post,
  send,
  type RawAnswer,
  type RawStream,
} from '../../support/raw-http.ts';
import { answeredIn, resultIn, type Answered } from './answered.ts';
import { MessageStream } from './stream.ts';
import { Wire, type WireOptions } from './wire.ts';

export const CAN_BE_ASKED = { elicitation: { form: {} }, sampling: {} };

export class LegacyWire extends Wire {
  readonly sessionId: string;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #requests = 0;

  constructor(url: string, sessionId: string, headers: Record<string, string> = {}) {
    super();
    this.#url = url;
    this.sessionId = sessionId;
    this.#headers = { ...headers, 'mcp-session-id': sessionId, 'mcp-protocol-version': '2025-11-25' };
  }

  static async open(url: string, { capabilities = CAN_BE_ASKED, headers = {} }: WireOptions = {}): Promise<LegacyWire> {
    const { params } = INITIALIZE;
    const opened = await post(url, { ...INITIALIZE, params: { ...params, capabilities } }, headers);
    resultIn(answeredIn(opened));
    const wire = new LegacyWire(url, String(opened.headers['mcp-session-id']), headers);
    await wire.notify('notifications/initialized');
    return wire;
  }

  async send(method: string, params: Json = {}): Promise<Answered> {
    return answeredIn(await this.#post(this.#message(method, params)));
  }

  /** A call with `params.task`; the task. */
  async begin(tool: string, args: Json = {}, task: Json = {}): Promise<Json & { taskId: string }> {
    const created = await this.call(tool, args, { task });
    return created['task'] as Json & { taskId: string };
  }

  async notify(method: string, params?: Json): Promise<RawAnswer> {
    return this.#post({ jsonrpc: '2.0', method, ...(params && { params }) });
  }

  /** A request whose answer comes on a stream, with whatever comes before it. */
  async stream(method: string, params: Json = {}): Promise<LegacyStream> {
    const message = this.#message(method, params);
    const options = { method: 'POST', headers: { ...JSON_HEADERS, ...this.#headers }, body: JSON.stringify(message) };
    return this.#begun(await openStream(this.#url, options), message['id']);
  }

  async callStream(tool: string, args: Json = {}, more: Json = {}): Promise<LegacyStream> {
    return this.stream('tools/call', { name: tool, arguments: args, ...more });
  }

  /** The standing stream, or the rest of one that broke. */
  async listen(lastEventId?: string): Promise<LegacyStream> {
    const headers = {
      accept: 'text/event-stream',
      ...this.#headers,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    };
    const raw = await openStream(this.#url, { headers });
    if (lastEventId === undefined) return this.#begun(raw);
    return new LegacyStream(raw, undefined, (answer) => this.#post(answer));
  }

  /** The message and headers of a request, for those who send it themselves. */
  raw(method: string, params: Json = {}): { message: Json; headers: Record<string, string> } {
    return { message: this.#message(method, params), headers: { ...JSON_HEADERS, ...this.#headers } };
  }

  /** Ends the session. */
  async end(): Promise<number> {
    return (await send(this.#url, { method: 'DELETE', headers: this.#headers })).status;
  }

  /** A new stream begins with an event that says nothing, from which on it can be gone on with. */
  async #begun(raw: RawStream, id?: unknown): Promise<LegacyStream> {
    if (raw.headers['content-type'] === 'text/event-stream') await firstEvents(raw, 1);
    return new LegacyStream(raw, id, (answer) => this.#post(answer));
  }

  async #post(message: Json): Promise<RawAnswer> {
    return post(this.#url, message, this.#headers);
  }

  #message(method: string, params: Json): Json {
    this.#requests += 1;
    return { jsonrpc: '2.0', id: this.#requests, method, params };
  }
}

export class LegacyStream extends MessageStream {
  /** The id of the request that it answers. */
  readonly id: unknown;
  readonly #post: (message: Json) => Promise<RawAnswer>;

  constructor(raw: MessageStream['raw'], id: unknown, sendBack: (message: Json) => Promise<RawAnswer>) {
    super(raw);
    this.id = id;
    this.#post = sendBack;
  }

  get lastEventId(): string {
    return String(this.raw.events.at(-1)?.id);
  }

  /** Answers a request of the server; the status of that POST. */
  async answer({ id }: Json, result: unknown): Promise<number> {
    return (await this.#post({ jsonrpc: '2.0', id, result })).status;
  }

  async refuse({ id }: Json, error: Json): Promise<number> {
    return (await this.#post({ jsonrpc: '2.0', id, error })).status;
  }
}
