/**
 * The load: one client with N calls of `echo` in flight, each on a connection of its own that is kept open. An older
 * client has one session for all of them, as a real one would.
 */
import { Agent, request, type OutgoingHttpHeaders } from 'node:http';

export type Era = 'legacy' | 'modern';

export interface Target {
  url: string;
  era: Era;
  /** Called through the hub's execute_tool, on the server of this name. */
  server?: string;
  /** Each call is one that becomes a task. */
  promoted?: boolean;
}

export interface Sample {
  calls: number;
  seconds: number;
  latenciesMs: number[];
}

const TEXT = 'x'.repeat(100);
const VERSION = { legacy: '2025-11-25', modern: '2026-07-28' };
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION.modern,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Answer {
  status: number;
  text: string;
  sessionId: string | undefined;
}

export class LoadClient {
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
        'mcp-name': target.server === undefined ? 'echo' : 'execute_tool',
      }),
    };
  }

  async open(): Promise<void> {
    if (this.#target.era === 'modern') return;
    const params = {
      protocolVersion: VERSION.legacy,
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    };
    const { sessionId } = await this.#post({ id: 'first', method: 'initialize', params });
    this.#headers['mcp-session-id'] = sessionId;
    await this.#post({ method: 'notifications/initialized' });
  }

  /** Calls without a pause for this long, with this many calls in flight. */
  async run(parallel: number, ms: number): Promise<Sample> {
    const latenciesMs: number[] = [];
    const started = performance.now();
    const loop = async (): Promise<void> => {
      while (performance.now() - started < ms) {
        const before = performance.now();
        await this.call();
        latenciesMs.push(performance.now() - before);
      }
    };
    await Promise.all(Array.from({ length: parallel }, loop));
    return { calls: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs };
  }

  async call(): Promise<void> {
    const { era, server, promoted = false } = this.#target;
    this.#id += 1;
    const echo = { name: promoted ? 'slow' : 'echo', arguments: { text: TEXT } };
    const call =
      server === undefined
        ? echo
        : {
            name: 'execute_tool',
            arguments: { server, tool: echo.name, args: echo.arguments, ...(promoted && { timeout_ms: 1 }) },
          };
    const params = era === 'modern' ? { ...call, _meta: ENVELOPE } : call;
    const { status, text } = await this.#post({ id: this.#id, method: 'tools/call', params });
    const expected = promoted ? 'proxy_task' : TEXT;
    if (status !== 200 || !text.includes(expected)) throw new Error(`HTTP ${status} from ${this.#url.href}: ${text}`);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #post(message: object): Promise<Answer> {
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
