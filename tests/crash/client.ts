/** A client that writes down all it is told. It keeps its session over restarts and sends nothing twice by itself. */
import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { Exchange, History, LoadCall } from './history.ts';
import { object, readReply, type Json, type Told, type ToldQuestion } from './told.ts';

const VERSION = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
const CLIENT_INFO = { name: 'crash', version: '1.0.0' };

/** Longer than anything takes; a request without an answer would hold up its lane for ever. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 50;

/** A gateway says that it cannot serve a request now, or that another one, which had it, is lost. */
const UNSERVED = /^HTTP 50[234] |was lost while this request was open/;

/** Where a client sends its requests: it looks for each of them. */
export interface Target {
  readonly url: string;
}

type Answer =
  | { kind: 'message'; message: Json; headers: IncomingMessage['headers'] }
  | { kind: 'refused'; what: string }
  /** Nobody was there to take it. */
  | { kind: 'unsent' };

export class CrashClient {
  readonly name: string;
  readonly era: 'legacy' | 'modern';
  sessionId: string | undefined;
  /** Tasks it has heard of, and the last it has heard of each. */
  readonly tasks = new Map<string, string>();
  /** Questions that were open when it last heard of any. */
  open: ToldQuestion[] = [];
  #lastId = 0;
  readonly #token: string;
  readonly #target: Target;
  readonly #history: History;
  readonly #agent = new Agent({ keepAlive: true });
  /** Called as soon as a reply is there. */
  onTold: () => void = () => {};

  constructor(name: string, era: 'legacy' | 'modern', token: string, target: Target, history: History) {
    this.name = name;
    this.era = era;
    this.#token = token;
    this.#target = target;
    this.#history = history;
  }

  /** Begins its session, where it has one. Not to be told of it means to begin another. */
  async begin(): Promise<boolean> {
    if (this.era === 'modern') return true;
    const params = { protocolVersion: VERSION.legacy, capabilities: {}, clientInfo: CLIENT_INFO };
    const answer = await this.#post({ method: 'initialize', params }, {});
    if (answer?.kind === 'refused' && !UNSERVED.test(answer.what)) {
      this.#history.refused(this.name, `initialize: ${answer.what}`);
    }
    if (answer?.kind !== 'message') return false;
    this.sessionId = String(answer.headers['mcp-session-id']);
    return true;
  }

  /** What the gateway replies; nothing if the reply did not arrive. */
  async call(tool: string, args: Json = {}, call?: LoadCall): Promise<Told | undefined> {
    const exchange = this.#history.begin({ client: this.name, tool, args, ...(call && { call }) });
    const answer = await this.#post(
      { method: 'tools/call', params: this.#params(tool, args) },
      this.#toolHeaders(tool),
    );
    if (answer === undefined || answer.kind === 'unsent') return undefined;
    const result = answer.kind === 'message' ? answer.message['result'] : undefined;
    if (result === undefined) {
      const what = answer.kind === 'refused' ? answer.what : JSON.stringify(answer.message['error']);
      if (UNSERVED.test(what)) exchange.failed = { at: this.#history.moment(), why: what };
      else this.#history.refused(this.name, `${tool}: ${what}`);
      return undefined;
    }
    const told = readReply(object(result));
    this.#learn(exchange, told);
    if (!isClosing(told)) return told;
    // It was not done, but what else the reply tells was told.
    exchange.failed = { at: this.#history.moment(), why: told.text };
    return undefined;
  }

  /** Ends its session; `true` when the gateway has said that it did. */
  async end(): Promise<boolean> {
    return (await this.#exchange('DELETE', undefined, this.#sessionHeaders()))?.kind === 'message';
  }

  /** Whether the gateway knows its session; nothing if it did not answer. */
  async isKnown(): Promise<boolean | undefined> {
    const answer = await this.#post({ method: 'ping' }, this.#sessionHeaders());
    // An error says that the request was lost on its way to another gateway.
    if (answer?.kind === 'message') return 'result' in answer.message ? true : undefined;
    return answer?.kind === 'refused' && !UNSERVED.test(answer.what) ? false : undefined;
  }

  /** Lets go of the connections to a gateway that is not there any more. */
  hangUp(): void {
    this.#agent.destroy();
  }

  #learn(exchange: Exchange, told: Told): void {
    exchange.received = this.#history.moment();
    exchange.told = told;
    for (const { id, status } of told.tasks) this.tasks.set(id, status);
    for (const { type, data } of told.events) {
      const status = /^task_(completed|failed|cancelled|expired)$/.exec(type)?.[1];
      if (status !== undefined) this.tasks.set(String(data['taskId']), status);
    }
    this.open = told.questions;
    this.onTold();
  }

  #params(name: string, args: Json): Json {
    if (this.era === 'legacy') return { name, arguments: args };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION.modern,
      'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return { name, arguments: args, _meta };
  }

  #toolHeaders(tool: string): Record<string, string> {
    if (this.era === 'legacy') return this.#sessionHeaders();
    return { 'mcp-protocol-version': VERSION.modern, 'mcp-method': 'tools/call', 'mcp-name': tool };
  }

  #sessionHeaders(): Record<string, string> {
    return { 'mcp-session-id': this.sessionId ?? '', 'mcp-protocol-version': VERSION.legacy };
  }

  async #post(message: Json, headers: Record<string, string>): Promise<Answer | undefined> {
    this.#lastId += 1;
    return this.#exchange('POST', { jsonrpc: '2.0', id: this.#lastId, ...message }, headers);
  }

  /** What is not taken is sent once more, as by a balancer that finds a gateway gone. */
  async #exchange(
    method: 'POST' | 'DELETE',
    message: Json | undefined,
    headers: Record<string, string>,
  ): Promise<Answer | undefined> {
    const first = await this.#send(method, message, headers);
    if (first?.kind !== 'unsent') return first;
    await delay(RETRY_MS);
    return this.#send(method, message, headers);
  }

  /** Nothing when the connection broke before the whole answer was there. */
  async #send(
    method: 'POST' | 'DELETE',
    message: Json | undefined,
    headers: Record<string, string>,
  ): Promise<Answer | undefined> {
    let late: NodeJS.Timeout | undefined;
    const answer = new Promise<Answer | undefined>((resolve) => {
      const nothing = (): void => resolve(undefined);
      late = setTimeout(() => {
        resolve({ kind: 'refused', what: `no answer in ${PATIENCE_MS} ms to ${JSON.stringify(message)}` });
        sent.destroy();
      }, PATIENCE_MS);
      const sent = request(this.#target.url, {
        method,
        agent: this.#agent,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${this.#token}`,
          ...headers,
        },
      });
      sent.once('error', ({ code }: NodeJS.ErrnoException) =>
        resolve(code === 'ECONNREFUSED' ? { kind: 'unsent' } : undefined),
      );
      sent.once('response', (response) => {
        response.once('error', nothing);
        response.once('close', nothing);
        readAnswer(response, message?.['id'], resolve);
      });
      sent.end(message && JSON.stringify(message));
    });
    return answer.finally(() => clearTimeout(late));
  }
}

/** The gateway is asked to stop, and takes no more work. Of a call that it has begun it names the tool. */
function isClosing({ isError, body }: Told): boolean {
  const { code, details } = object(body['error']);
  return isError && code === 'TOOL_ERR_SHUTTING_DOWN' && details === undefined;
}

function readAnswer(response: IncomingMessage, id: unknown, done: (answer: Answer) => void): void {
  const { statusCode = 0, headers } = response;
  const deliver = (message: Json): void => done({ kind: 'message', message, headers });
  response.setEncoding('utf8');
  if (headers['content-type']?.startsWith('text/event-stream')) {
    // A message of a stream has arrived with the end of its event, whatever becomes of the stream.
    const parser = createParser({
      onEvent: ({ data }) => {
        const message = data === '' ? {} : (JSON.parse(data) as Json);
        if (message['id'] === id && !('method' in message)) deliver(message);
      },
    });
    response.on('data', (chunk: string) => parser.feed(chunk));
    return;
  }
  let text = '';
  response.on('data', (chunk: string) => {
    text += chunk;
  });
  response.once('end', () => {
    if (statusCode !== 200) done({ kind: 'refused', what: `HTTP ${statusCode} ${text.slice(0, 300)}` });
    else deliver(text === '' ? {} : (JSON.parse(text) as Json));
  });
}
