import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connectTo } from '../../tests/support/connection.ts';
import { defer } from '../../tests/support/owned.ts';
import { Dialler, GATEWAY_IDENTITY, type Dialled } from './dial.ts';

interface Message {
  id?: number;
  method?: string;
}

type Listener = (response: ServerResponse, message: Message, request: IncomingMessage) => void;

async function serve(listener: Listener): Promise<string> {
  const server = createServer((request, response) => {
    void messageIn(request).then((message) => listener(response, message, request));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function messageIn(request: IncomingMessage): Promise<Message> {
  const chunks = await request.toArray();
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as object);
}

function json(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
}

async function resume(url: string): Promise<Dialled | undefined> {
  const hooks = { onLost: () => {}, onDoubt: () => {}, onOutput: () => {}, prepare: () => {} };
  const { signal: unwanted } = new AbortController();
  return new Dialler(3000, GATEWAY_IDENTITY).resume({ url }, { ...hooks, unwanted }, undefined, 'session');
}

test.each([401, 403, 429, 500, 502, 503])(
  'B-3: HTTP %i does not mean that the server has lost the session',
  async (status) => {
    const url = await serve((response) => void response.writeHead(status).end());
    await expect(resume(url)).rejects.toThrow(`HTTP ${status}`);
  },
);

test('B-3: a stream that ends without the response does not mean that the server has lost the session', async () => {
  const url = await serve((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  });
  await expect(resume(url)).rejects.toThrow('closed the connection before it answered');
});

test.each([404, 400])('B-3: HTTP %i means that the server has lost the session', async (status) => {
  const url = await serve((response) => void response.writeHead(status).end());
  expect(await resume(url)).toBeUndefined();
});

test('B-3: an error response to a ping means that the server has lost the session', async () => {
  const url = await serve((response, { id }) => {
    json(response, 200, { jsonrpc: '2.0', id, error: { code: -32000, message: 'no such session' } });
  });
  expect(await resume(url)).toBeUndefined();
});

/** A connection to a server with sessions that refuses some requests. */
async function connected(refuses: (session: string | undefined) => boolean) {
  let sessions = 0;
  const url = await serve((response, { id, method }, request) => {
    if (refuses(request.headers['mcp-session-id'] as string | undefined)) response.writeHead(403).end();
    else if (method === 'initialize') {
      sessions += 1;
      const about = { capabilities: {}, serverInfo: { name: 'x', version: '1' } };
      response.setHeader('mcp-session-id', `session ${sessions}`);
      json(response, 200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', ...about } });
    } else if (method === 'ping') json(response, 200, { jsonrpc: '2.0', id, result: {} });
    else if (id === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
    else json(response, 200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  });
  const { connection, clock, told } = connectTo(url);
  await connection.ready();
  return { connection, clock, told };
}

test('B-3: a session survives while the server temporarily denies access', async () => {
  let denied = false;
  const { connection, clock, told } = await connected(() => denied);
  denied = true;
  clock.advance(30_000);
  await expect.poll(() => told).toEqual(['first', 'lost']);
  await expect(connection.ready()).rejects.toThrow('HTTP 403');
  denied = false;
  await connection.ready();
  expect(told).toEqual(['first', 'lost', 'blip']);
});

test('B-3: a session that alone is denied is replaced by a new one', async () => {
  let denied: string | undefined;
  const { connection, clock, told } = await connected((session) => session !== undefined && session === denied);
  denied = 'session 1';
  clock.advance(30_000);
  await expect.poll(() => told).toEqual(['first', 'lost']);
  await connection.ready();
  expect(told).toEqual(['first', 'lost', 'restart']);
});
