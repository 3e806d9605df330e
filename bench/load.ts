/**
 * The load: one client with N calls of `echo` in flight, each on a connection of its own that is kept open. An older
 * client has one session for all of them, as a real one would.
 *
 * A relay that waits for its load uses more CPU time for each call, so the load must be much cheaper than what it measures:
 * it writes prepared requests to raw sockets, and looks for the id and the text in each answer.
 */
import { connect, type Socket } from 'node:net';
import { header, readMessages, type HttpMessage } from './http-messages.ts';

export type Era = 'legacy' | 'modern';

/** A client that makes the same call over and over. */
export interface Load {
  open(): Promise<void>;
  call(): Promise<void>;
  close(): void;
}

/** What is called. */
export interface Target {
  era: Era;
  /** Called through the hub's execute_tool, on the server of this name. */
  server?: string;
  /** Each call is one that becomes a task. */
  promoted?: boolean;
  /** The tool that is called. */
  tool?: string;
  /** What an answer must contain. */
  expected?: string;
}

export interface HttpTarget extends Target {
  url: string;
  /** A session that another client has opened. */
  sessionId?: string | undefined;
}

export interface Sample {
  calls: number;
  seconds: number;
  latenciesMs: number[];
}

export const TEXT = 'x'.repeat(100);
export const VERSION = { legacy: '2025-11-25', modern: '2026-07-28' };
const CLIENT = { name: 'bench', version: '1.0.0' };
export const INITIALIZE = { protocolVersion: VERSION.legacy, capabilities: {}, clientInfo: CLIENT };
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION.modern,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** How a client begins that begins at all. */
export const GREETING = [
  { id: 'first', method: 'initialize', params: INITIALIZE },
  { method: 'notifications/initialized' },
];

export function asCall(id: number, call: { name: string; arguments: object }, era: Era, meta: object = {}): object {
  const _meta = { ...(era === 'modern' && ENVELOPE), ...meta };
  return { id, method: 'tools/call', params: { ...call, _meta } };
}

/** Calls without a pause for this long, with this many calls in flight. */
export async function runLoad(load: Load, parallel: number, ms: number): Promise<Sample> {
  const latenciesMs: number[] = [];
  const started = performance.now();
  const loop = async (): Promise<void> => {
    for (let before = started; before - started < ms;) {
      await load.call();
      const after = performance.now();
      latenciesMs.push(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: parallel }, loop));
  return { calls: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs };
}

/** The calls to a target, written but for their ids. */
export class PreparedCalls {
  readonly #before: string;
  readonly #after: string;
  readonly #expected: string;
  /** Always of the same length, so that a call is. */
  #id = 1_000_000;

  constructor({ era, server, promoted = false, tool = promoted ? 'slow' : 'echo', expected }: Target) {
    const args = { text: TEXT };
    const through = { server, tool, args, ...(promoted && { timeout_ms: 1 }) };
    const call = server === undefined ? { name: tool, arguments: args } : { name: 'execute_tool', arguments: through };
    const text = JSON.stringify({ jsonrpc: '2.0', ...asCall(0, call, era) });
    [this.#before = '', this.#after = ''] = text.split('"id":0');
    this.#expected = expected ?? (promoted ? 'proxy_task' : TEXT);
  }

  next(): { id: number; text: string } {
    this.#id += 1;
    const id = this.#id;
    return { id, text: `${this.#before}"id":${id}${this.#after}` };
  }

  /** Whether this is the answer to the call with that id. */
  isAnswer(text: string, id: number): boolean {
    return text.includes(`"id":${id}`) && text.includes(this.#expected);
  }
}

export interface Answer {
  status: number;
  text: string;
  sessionId: string | undefined;
}

interface Connection {
  socket: Socket;
  settle: { resolve: (message: HttpMessage) => void; reject: (error: Error) => void } | undefined;
}

export class LoadClient implements Load {
  readonly #era: Era;
  readonly #url: URL;
  readonly #calls: PreparedCalls;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  sessionId: string | undefined;
  /** The first line and the headers of each request, up to the value of `content-length`. */
  #head: string;

  constructor(target: HttpTarget) {
    const { url, era, server, tool = 'echo', sessionId } = target;
    this.#era = era;
    this.#url = new URL(url);
    this.#calls = new PreparedCalls(target);
    const lines = [
      `POST ${this.#url.pathname} HTTP/1.1`,
      `host: ${this.#url.host}`,
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `mcp-protocol-version: ${VERSION[era]}`,
      ...(era === 'modern'
        ? ['mcp-method: tools/call', `mcp-name: ${server === undefined ? tool : 'execute_tool'}`]
        : []),
      'content-length: ',
    ];
    this.#head = lines.join('\r\n');
    if (sessionId !== undefined) this.#joinSession(sessionId);
  }

  async open(): Promise<void> {
    if (this.#era === 'modern' || this.sessionId !== undefined) return;
    for (const message of GREETING) {
      const { sessionId } = await this.post(message);
      if (sessionId !== undefined) this.#joinSession(sessionId);
    }
  }

  #joinSession(id: string): void {
    this.sessionId = id;
    this.#head = this.#head.replace('\r\n', `\r\nmcp-session-id: ${id}\r\n`);
  }

  async run(parallel: number, ms: number): Promise<Sample> {
    return runLoad(this, parallel, ms);
  }

  async call(): Promise<void> {
    const { id, text } = this.#calls.next();
    const { head, body } = await this.#send(text);
    if (!head.startsWith('HTTP/1.1 200 ') || !this.#calls.isAnswer(body, id)) {
      throw new Error(`${head.slice(0, 12)} from ${this.#url.href}: ${body.slice(0, 1000)}`);
    }
  }

  close(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  async post(message: object): Promise<Answer> {
    const { head, body } = await this.#send(
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })).toString('latin1'),
    );
    const text = Buffer.from(body, 'latin1').toString();
    return {
      status: Number(head.slice('HTTP/1.1 '.length).slice(0, 3)),
      text,
      sessionId: header(head, 'mcp-session-id'),
    };
  }

  async #send(body: string): Promise<HttpMessage> {
    const connection = this.#idle.pop() ?? this.#connect();
    return new Promise((resolve, reject) => {
      connection.settle = { resolve, reject };
      connection.socket.write(`${this.#head}${body.length}\r\n\r\n${body}`, 'latin1');
    });
  }

  #connect(): Connection {
    const socket = connect(Number(this.#url.port), this.#url.hostname).setNoDelay();
    const connection: Connection = { socket, settle: undefined };
    let failure = new Error(`${this.#url.href} closed the connection`);
    this.#open.add(connection);
    readMessages(socket, (message) => {
      const { settle } = connection;
      connection.settle = undefined;
      this.#idle.push(connection);
      settle?.resolve(message);
    });
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      this.#open.delete(connection);
      if (this.#idle.includes(connection)) this.#idle.splice(this.#idle.indexOf(connection), 1);
      connection.settle?.reject(failure);
    });
    return connection;
  }
}
