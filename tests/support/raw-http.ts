/** HTTP by hand, for what no SDK client would send. Each request has a connection of its own. */
import { request, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import { createParser } from 'eventsource-parser';
import { expect, vi } from 'vitest';
import { takeApart, type Json, type Reply } from './hub.ts';
import { defer } from './owned.ts';

export interface RawOptions {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as it is. */
  body?: string | Buffer;
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body, or the last message of a stream, as JSON. */
  json: Json;
}

export interface StreamEvent {
  id: string | undefined;
  data: string;
}

export interface RawStream {
  status: number;
  headers: IncomingHttpHeaders;
  events: StreamEvent[];
  /** Resolves when the other side has ended it. */
  ended: Promise<void>;
  /** Breaks the connection. */
  destroy(): void;
}

/** Those of every POST. */
export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export async function send(url: string, options: RawOptions = {}): Promise<RawAnswer> {
  const { method = 'POST', headers = JSON_HEADERS, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: withLength(headers, body), agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const { statusCode: status = 0, headers: answered } = response;
        resolve({ status, headers: answered, text, json: lastMessage(text) });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A JSON-RPC message with the headers a client would send, and others over them. */
export async function post(url: string, message: unknown, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return send(url, { headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(message) });
}

/** Opens a response and gives it back as soon as its headers are there. */
export async function openStream(url: string, options: RawOptions = {}): Promise<RawStream> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: withLength(headers, body), agent: false }, (response) => {
      const events: StreamEvent[] = [];
      const parser = createParser({ onEvent: ({ id, data }) => void events.push({ id, data }) });
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => parser.feed(chunk));
      const ended = new Promise<void>((done) => {
        response.once('close', done);
      });
      response.on('error', () => {
        // It was destroyed by this side, or `ended` tells.
      });
      const { statusCode: status = 0, headers: answered } = response;
      resolve({ status, headers: answered, events, ended, destroy: () => sent.destroy() });
    });
    ownRequest(sent, reject);
    sent.end(body);
  });
}

/** A POST whose answer nobody waits for; `destroy` breaks its connection. */
export function postAndLeave(url: string, message: unknown, headers: Record<string, string>): ClientRequest {
  const body = JSON.stringify(message);
  const sent = request(url, {
    method: 'POST',
    headers: withLength({ ...JSON_HEADERS, ...headers }, body),
    agent: false,
  });
  ownRequest(sent, () => {});
  sent.on('response', (response) => response.pause());
  sent.end(body);
  return sent;
}

function ownRequest(sent: ClientRequest, onError: (error: Error) => void): void {
  sent.on('error', onError);
  defer(async () => {
    sent.destroy();
  });
}

/** A session of an initialize-based client. */
export interface RawSession {
  id: string;
  headers: Record<string, string>;
  call(tool: string, args?: Json, id?: number | string): Json;
  reply(tool: string, args?: Json): Promise<Reply>;
}

export async function rawSession(
  url: string,
  headers: Record<string, string> = {},
  protocolVersion = '2025-11-25',
): Promise<RawSession> {
  const opened = await post(url, { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } }, headers);
  expect(opened.status).toBe(200);
  const id = String(opened.headers['mcp-session-id']);
  const inSession = { ...JSON_HEADERS, ...headers, 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, inSession);
  let next = 1000;
  return {
    id,
    headers: inSession,
    call: toolCall,
    reply: async (tool, args) => {
      next += 1;
      return replyOf(await post(url, toolCall(tool, args, next), inSession));
    },
  };
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1.0.0' } },
};

export function toolCall(tool: string, args: Json = {}, id: number | string = 1): Json {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } };
}

/** The same from a client without sessions, of the program `name`. */
export function modernCall(tool: string, args: Json = {}, id: number | string = 1, name = 'raw'): Json {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name, version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args, _meta } };
}

export function modernHeaders(tool: string): Record<string, string> {
  return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': tool };
}

export function replyOf({ status, text, json }: RawAnswer): Reply {
  const result = json['result'];
  if (typeof result !== 'object' || result === null) throw new Error(`no result: HTTP ${status} ${text.slice(0, 500)}`);
  return takeApart(result as Json);
}

export function errorOf({ json }: RawAnswer): { code?: number; message?: string; data?: Json } {
  return json['error'] ?? {};
}

/** The first `count` events of a stream. */
export async function firstEvents(stream: RawStream, count: number): Promise<StreamEvent[]> {
  await vi.waitFor(() => expect(stream.events.length).toBeGreaterThanOrEqual(count), { timeout: 10_000 });
  return stream.events.slice(0, count);
}

function withLength(headers: Record<string, string>, body: string | Buffer | undefined): Record<string, string> {
  const given = 'content-length' in headers || 'transfer-encoding' in headers;
  return body === undefined || given ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
}

function lastMessage(text: string): Json {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Json;
  let last = '{}';
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') last = data;
    },
  });
  parser.feed(text);
  return JSON.parse(last) as Json;
}
