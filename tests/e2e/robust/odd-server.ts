/** Servers by hand, for what no SDK server would do. The test owns them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { listen, readJson } from '../../servers/shared/http-host.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import type { StdioServerConfig } from '../../support/servers.ts';

/** The program in `odd-child.mjs`: tools `echo`, `block`, `warn` and `ask`. */
export function oddChild(): StdioServerConfig {
  const path = fileURLToPath(new URL('odd-child.mjs', import.meta.url));
  return { command: process.execPath, args: [path], env: {} };
}

export interface Asked {
  message: Json;
  params: Json;
  request: IncomingMessage;
  response: ServerResponse;
  /** Answers with JSON. */
  reply: (result: Json) => void;
  fail: (code: number, message: string, data?: unknown) => void;
}

export type Handler = (asked: Asked) => void | Promise<void>;

export interface OddServer {
  url: string;
  /** How often each was asked for: a method of the protocol, `answer` for an answer, or an HTTP method. */
  seen: Map<string, number>;
}

const SESSION = { 'mcp-session-id': 'the-only-session' };

const LEGACY: Record<string, Handler> = {
  GET: ({ response }) => void response.writeHead(405).end(),
  DELETE: ({ response }) => void response.writeHead(200).end(),
  answer: ({ response }) => void response.writeHead(202).end(),
  initialize: ({ reply }) =>
    reply({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'odd', version: '1.0.0' },
    }),
  ping: ({ reply }) => reply({}),
  'tools/list': ({ reply }) => reply({ tools: [] }),
};

/** A server of the old era with one session, which does as it should but for what `handlers` do. */
export async function oddServer(handlers: Record<string, Handler>): Promise<OddServer> {
  const seen = new Map<string, number>();
  const host = await listen({
    port: undefined,
    onerror: () => {
      // The connection is broken then, which the test will notice.
    },
    handle: async (request, response) => {
      const message = ((await readJson(request)) ?? {}) as Json;
      const name = nameOf(request, message);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      await (handlers[name] ?? LEGACY[name] ?? otherwise)(askedBy(message, request, response));
    },
  });
  owned(host);
  return { url: `http://127.0.0.1:${host.port}/mcp`, seen };
}

/** The same for the new era, which has no sessions. */
export async function oddModernServer(handlers: Record<string, Handler>): Promise<OddServer> {
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const capabilities = { tools: {} };
  return oddServer({
    'server/discover': ({ reply }) => reply({ ...complete, supportedVersions: ['2026-07-28'], capabilities }),
    'tools/list': ({ reply }) => reply({ ...complete, tools: [] }),
    ...handlers,
  });
}

export function textResult(text: string): Json {
  return { content: [{ type: 'text', text }] };
}

/** The beginning of a stream. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...SESSION }).flushHeaders();
}

export function sendEvent(response: ServerResponse, message: Json): void {
  response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}

function nameOf({ method = '' }: IncomingMessage, message: Json): string {
  if (method !== 'POST') return method;
  return typeof message['method'] === 'string' ? message['method'] : 'answer';
}

function askedBy(message: Json, request: IncomingMessage, response: ServerResponse): Asked {
  const answer = (fields: Json): void => {
    response.writeHead(200, { 'content-type': 'application/json', ...SESSION });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], ...fields }));
  };
  return {
    message,
    params: (message['params'] ?? {}) as Json,
    request,
    response,
    reply: (result) => answer({ result }),
    fail: (code, text, data) => answer({ error: { code, message: text, data } }),
  };
}

const otherwise: Handler = ({ message, response, fail }) => {
  if (message['id'] === undefined) response.writeHead(202).end();
  else fail(-32601, 'Method not found');
};
