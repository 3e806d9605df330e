/**
 * The load: one client with N calls of `echo` in flight, each on a connection of its own that is kept open. An older
 * client has one session for all of them, as a real one would.
 */
import { Agent, request, type OutgoingHttpHeaders } from 'node:http';

export type Era = 'legacy' | 'modern';

/** A client that makes the same call over and over. */
export interface Load {
  open(): Promise<void>;
  call(): Promise<void>;
  close(): void;
}

export interface Target {
  url: string;
  era: Era;
  /** Called through the hub's execute_tool, on the server of this name. */
  server?: string;
  /** Each call is one that becomes a task. */
  promoted?: boolean;
  /** The tool that is called, if not through the hub. */
  tool?: string;
}

export interface Sample {
  calls: number;
  seconds: number;
  latenciesMs: number[];
}

export const TEXT = 'x'.repeat(100);
export const VERSION = { legacy: '2025-11-25', modern: '2026-07-28' };
const CLIENT = { name: 'bench', version: '1.0.0' };
const INITIALIZE = { protocolVersion: VERSION.legacy, capabilities: {}, clientInfo: CLIENT };
const ENVELOPE = {
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
    while (performance.now() - started < ms) {
      const before = performance.now();
      await load.call();
      latenciesMs.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: parallel }, loop));
  return { calls: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs };
}

export interface Answer {
  status: number;
  text: string;
  sessionId: string | undefined;
}

export class LoadClient implements Load {
  readonly #target: Target;
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #headers: OutgoingHttpHeaders;
  #id = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#url = new URL(target.url);
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION[target.era],
      ...(target.era === 'modern' && {
        'mcp-method': 'tools/call',
        'mcp-name': target.server === undefined ? (target.tool ?? 'echo') : 'execute_tool',
      }),
    };
  }

  async open(): Promise<void> {
    if (this.#target.era === 'modern') return;
    for (const message of GREETING) {
      const { sessionId } = await this.post(message);
      if (sessionId !== undefined) this.#headers['mcp-session-id'] = sessionId;
    }
  }

  async run(parallel: number, ms: number): Promise<Sample> {
    return runLoad(this, parallel, ms);
  }

  async call(): Promise<void> {
    const { era, server, promoted = false, tool = 'echo' } = this.#target;
    this.#id += 1;
    const echo = { name: promoted ? 'slow' : tool, arguments: { text: TEXT } };
    const call =
      server === undefined
        ? echo
        : {
            name: 'execute_tool',
            arguments: { server, tool: echo.name, args: echo.arguments, ...(promoted && { timeout_ms: 1 }) },
          };
    const { status, text } = await this.post(asCall(this.#id, call, era));
    const expected = promoted ? 'proxy_task' : TEXT;
    if (status !== 200 || !text.includes(expected)) throw new Error(`HTTP ${status} from ${this.#url.href}: ${text}`);
  }

  close(): void {
    this.#agent.destroy();
  }

  async post(message: object): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, 'content-length': Buffer.byteLength(body) };
      const outgoing = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => {
          text += chunk;
        });
        res.on('end', () => {
          const sessionId = res.headers['mcp-session-id'];
          resolve({ status: res.statusCode ?? 0, text, sessionId: sessionId?.toString() });
        });
        res.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}
