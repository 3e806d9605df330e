/** A legacy client of the hub that does only what it is told: no standing stream, no pings, no goodbye. */
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { owned } from '../../support/owned.ts';
import { takeApart, type Json, type Reply } from '../../support/hub.ts';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Stream {
  status: number;
  close(): void;
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1.0.0' },
};

export class LightClient {
  sessionId = '';
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true });
  #nextId = 1;

  private constructor(url: string, headers: Record<string, string>) {
    this.#url = new URL(url);
    this.#headers = headers;
  }

  /** Opens a session. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<LightClient> {
    const client = owned(new LightClient(url, headers));
    const answer = await client.send('POST', { jsonrpc: '2.0', id: 0, method: 'initialize', params: INITIALIZE });
    const sessionId = answer.headers['mcp-session-id'];
    if (typeof sessionId !== 'string') throw new Error(`no session: ${answer.status} ${answer.body}`);
    client.sessionId = sessionId;
    await client.send('POST', { jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  /** Goes on with a session id that it may or may not own. */
  static withSession(url: string, sessionId: string, headers: Record<string, string> = {}): LightClient {
    const client = owned(new LightClient(url, headers));
    client.sessionId = sessionId;
    return client;
  }

  async call(name: string, args: Json = {}): Promise<Reply> {
    const id = this.#nextId++;
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
    const { status, headers, body } = await this.send('POST', message);
    if (status !== 200) throw new Error(`HTTP ${status}: ${body}`);
    const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
    const reply = (isStream ? framesOf(body) : [JSON.parse(body) as Json]).find((each) => each['id'] === id);
    if (reply?.['result'] === undefined) throw new Error(`no result: ${body}`);
    return takeApart(reply['result'] as Json);
  }

  async send(method: 'POST' | 'DELETE', message?: Json): Promise<Answer> {
    const response = await this.#open(method, message);
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += String(chunk);
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  }

  /** The standing stream. */
  async stream(): Promise<Stream> {
    const response = await this.#open('GET');
    response.resume();
    return { status: response.statusCode ?? 0, close: () => void response.destroy() };
  }

  /** Leaves without ending the session. */
  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #open(method: 'GET' | 'POST' | 'DELETE', message?: Json): Promise<IncomingMessage> {
    const headers = {
      ...this.#headers,
      accept: 'application/json, text/event-stream',
      ...(message && { 'content-type': 'application/json' }),
      ...(this.sessionId !== '' && { 'mcp-session-id': this.sessionId }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#url, { method, headers, agent: this.#agent });
      outgoing.once('response', resolve).once('error', reject);
      outgoing.end(message && JSON.stringify(message));
    });
  }
}

function framesOf(body: string): Json[] {
  return body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Json);
}
