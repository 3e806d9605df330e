/** A client of the 2026-07-28 protocol by hand. */
import type { Json } from '../../support/hub.ts';
import { JSON_HEADERS, openStream, post } from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';
import { answeredIn, type Answered } from './answered.ts';
import { MessageStream } from './stream.ts';
import { Wire, type WireOptions } from './wire.ts';

const MODERN = '2026-07-28';

export const ROUNDS = { elicitation: { form: {} }, sampling: {} };
export const TASKS = { ...ROUNDS, extensions: { 'io.modelcontextprotocol/tasks': {} } };

export type InputRequests = Record<string, { method: string; params: Json }>;

/** What a call is answered with when it asks something. */
export interface Round extends Json {
  resultType: 'input_required';
  inputRequests: InputRequests;
  requestState: string;
}

export class ModernWire extends Wire {
  readonly #url: string;
  readonly #capabilities: Json;
  readonly #program: string | null;
  readonly #headers: Record<string, string>;
  #requests = 0;

  constructor(url: string, { capabilities = TASKS, program = 'wire', headers = {} }: WireOptions = {}) {
    super();
    this.#program = program;
    this.#url = url;
    this.#capabilities = capabilities;
    this.#headers = headers;
  }

  /** The same client, had it declared something else. */
  as(capabilities: Json): ModernWire {
    return new ModernWire(this.#url, { capabilities, program: this.#program, headers: this.#headers });
  }

  async send(method: string, params: Json = {}): Promise<Answered> {
    return answeredIn(await post(this.#url, this.#message(method, params), this.#headersOf(method, params)));
  }

  /** The first round of a call that asks. */
  async ask(tool: string, args: Json = {}): Promise<Round> {
    const round = await this.call(tool, args);
    if (round['resultType'] !== 'input_required') throw new Error(JSON.stringify(round));
    return round as Round;
  }

  async stream(method: string, params: Json = {}): Promise<MessageStream> {
    const body = JSON.stringify(this.#message(method, params));
    const headers = { ...JSON_HEADERS, ...this.#headersOf(method, params) };
    return new MessageStream(await openStream(this.#url, { method: 'POST', headers, body }));
  }

  async listen(notifications: Json): Promise<MessageStream> {
    return this.stream('subscriptions/listen', { notifications });
  }

  /** A task once it is as wanted. */
  async task(taskId: unknown, status: string): Promise<Json> {
    let task: Json = {};
    await soon(async () => {
      task = await this.request('tasks/get', { taskId });
      return task['status'];
    }).toBe(status);
    return task;
  }

  /** The message and headers of a request, for those who send it themselves. */
  raw(method: string, params: Json = {}): { message: Json; headers: Record<string, string> } {
    return { message: this.#message(method, params), headers: { ...JSON_HEADERS, ...this.#headersOf(method, params) } };
  }

  #message(method: string, { _meta, ...params }: Json): Json {
    this.#requests += 1;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      ...(this.#program !== null && {
        'io.modelcontextprotocol/clientInfo': { name: this.#program, version: '1.0.0' },
      }),
      'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
      ...(_meta as Json | undefined),
    };
    return { jsonrpc: '2.0', id: this.#requests, method, params: { ...params, _meta: meta } };
  }

  #headersOf(method: string, params: Json): Record<string, string> {
    const name = params['name'] ?? params['taskId'] ?? params['uri'];
    return {
      ...this.#headers,
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(typeof name === 'string' && /^[\x21-\x7e]+$/.test(name) && { 'mcp-name': name }),
    };
  }
}

/** The only question of a round and its key. */
export function onlyQuestion({ inputRequests }: Pick<Round, 'inputRequests'>): { key: string; params: Json } {
  const [first, ...more] = Object.entries(inputRequests);
  if (first === undefined || more.length > 0) throw new Error(JSON.stringify(inputRequests));
  return { key: first[0], params: first[1].params };
}

export const accept = (content: Json): Json => ({ action: 'accept', content });
