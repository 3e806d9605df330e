import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, readJson } from './shared/http-host.ts';
import { Liar, type Manner } from './liar.ts';
import { peerBy, type Asked, type Json, type Peer } from './liar/peer.ts';

export interface LiarHttp {
  readonly url: string;
  readonly port: number;
  readonly seen: Map<string, number>;
  close(): Promise<void>;
}

const SESSION = { 'mcp-session-id': 'the-only-session' };

export async function startLiarHttp(manner: Manner): Promise<LiarHttp> {
  const liar = new Liar(manner);
  const asked: Asked = new Map();

  const host = await listen({
    port: undefined,
    onerror: () => {
      // The connection is broken then, which the other side will notice.
    },
    handle: async (request, response) => {
      if (manner === 'stranger') return greet(response, 'text/html', '<h1>Welcome!</h1>');
      if (manner === 'parrot') return greet(response, 'application/json', '{"hello":"world"}');
      if (request.method !== 'POST') return void response.writeHead(405).end();
      await answer(request, response);
    },
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const message = (await readJson(request)) as Json;
    const { id, method } = message;
    if (typeof method === 'string' && id !== undefined) {
      const params = (message['params'] ?? {}) as Json;
      await liar.handle({ method, params }, peerOf(response, id, asked));
      return;
    }
    if (method === undefined) asked.get(id)?.(message);
    response.writeHead(202).end();
  };

  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    port: host.port,
    seen: liar.seen,
    close: () => host.close(),
  };
}

function greet(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type }).end(body);
}

/** What is said before the answer makes the response a stream. */
function peerOf(response: ServerResponse, id: unknown, asked: Asked): Peer {
  const say = (message: Json): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream', ...SESSION });
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  };
  const end = (message: Json): void => {
    if (response.headersSent) {
      say(message);
      response.end();
    } else {
      response.writeHead(200, { 'content-type': 'application/json', ...SESSION });
      response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    }
  };
  return peerBy(id, asked, say, end);
}
