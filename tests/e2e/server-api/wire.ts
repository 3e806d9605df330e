/** Clients by hand, message for message. */
import { expect } from 'vitest';
import type { Json } from '../../support/hub.ts';
import { INITIALIZE, openStream, post, type RawAnswer, type RawStream } from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';

const MODERN = '2026-07-28';

/** A client of the 2025-11-25 protocol that can be asked. */
export class LegacyWire {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #requests = 0;

  private constructor(url: string, sessionId: string) {
    this.#url = url;
    this.#headers = { 'mcp-session-id': sessionId, 'mcp-protocol-version': '2025-11-25' };
  }

  static async open(url: string, capabilities: Json = { elicitation: {}, sampling: {} }): Promise<LegacyWire> {
    const { params } = INITIALIZE;
    const opened = await post(url, { ...INITIALIZE, params: { ...params, capabilities } });
    const wire = new LegacyWire(url, String(opened.headers['mcp-session-id']));
    await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, wire.#headers);
    return wire;
  }

  async request(method: string, params: Json): Promise<Json> {
    return resultOf(await post(this.#url, this.#message(method, params), this.#headers));
  }

  /** A request whose answer comes on a stream, with whatever else comes before it. */
  async stream(method: string, params: Json): Promise<LegacyStream> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...this.#headers,
    };
    const body = JSON.stringify(this.#message(method, params));
    const stream = await openStream(this.#url, { method: 'POST', headers, body });
    expect(stream.headers['content-type']).toBe('text/event-stream');
    return new LegacyStream(stream, async (message) => post(this.#url, message, this.#headers));
  }

  #message(method: string, params: Json): Json {
    this.#requests += 1;
    return { jsonrpc: '2.0', id: this.#requests, method, params };
  }
}

export class LegacyStream {
  readonly #stream: RawStream;
  readonly #post: (message: Json) => Promise<RawAnswer>;

  constructor(stream: RawStream, send: (message: Json) => Promise<RawAnswer>) {
    this.#stream = stream;
    this.#post = send;
  }

  get messages(): Json[] {
    return this.#stream.events.flatMap(({ data }) => (data === '' ? [] : [JSON.parse(data) as Json]));
  }

  /** The first request of the server by that name, once it is there. */
  async asked(method: string, timeout = 10_000): Promise<Json> {
    const find = (): Json | undefined => this.messages.find((message) => message['method'] === method);
    await expect.poll(find, { timeout }).toBeDefined();
    return find() ?? {};
  }

  /** Answers a request of the server; the status of that POST. */
  async answer({ id }: Json, result: Json): Promise<number> {
    return (await this.#post({ jsonrpc: '2.0', id, result })).status;
  }

  /** What the request ends with. */
  async result(): Promise<Json> {
    await this.#stream.ended;
    const last = this.messages.at(-1);
    if (last?.['result'] === undefined) throw new Error(JSON.stringify(last));
    return last['result'] as Json;
  }
}

const EVERYTHING = {
  elicitation: { form: {} },
  sampling: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

/** One request of a client of the 2026-07-28 protocol. */
export async function modern(
  url: string,
  method: string,
  params: Json,
  capabilities: Json = EVERYTHING,
  headers: Record<string, string> = {},
): Promise<Json> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'wire', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = params['name'] ?? params['taskId'] ?? params['uri'];
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return resultOf(
    await post(url, message, {
      ...headers,
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    }),
  );
}

/** The task of such a client, once it is as wanted. */
export async function modernTask(url: string, taskId: string, status: string): Promise<Json> {
  let task: Json = {};
  await soon(async () => {
    task = await modern(url, 'tasks/get', { taskId });
    return task['status'];
  }).toBe(status);
  return task;
}

function resultOf({ json, status, text }: RawAnswer): Json {
  const { result, error } = json as { result?: Json; error?: { code: number; message: string } };
  if (result !== undefined) return result;
  throw new Error(error === undefined ? `HTTP ${status} ${text}` : `${error.code} ${error.message}`);
}
