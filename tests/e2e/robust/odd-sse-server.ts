/** A 2024 HTTP+SSE server by hand, for what no SDK server would do. The test owns it. */
import type { ServerResponse } from 'node:http';
import { listen, readJson } from '../../servers/shared/http-host.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

export interface OddSseServer {
  url: string;
  /** Methods in the order in which they arrived, over all streams. */
  received: string[];
}

/** `onCall` answers `tools/call` on the stream; everything else is answered as it should be. */
export async function oddSseServer(
  onCall: (stream: ServerResponse, call: { id: unknown; name: unknown }) => void,
): Promise<OddSseServer> {
  const received: string[] = [];
  const streams: ServerResponse[] = [];
  const host = await listen({
    port: undefined,
    onerror: () => {
      // The connection is broken then, which the test will notice.
    },
    handle: async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (request.method === 'GET' && pathname === '/sse') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        streams.push(response);
        response.write(`event: endpoint\ndata: /messages?stream=${streams.length - 1}\n\n`);
        return;
      }
      const stream = streams[Number(searchParams.get('stream') ?? Number.NaN)];
      if (stream === undefined) {
        response.writeHead(405).end();
        return;
      }
      const message = (await readJson(request)) as { id?: unknown; method: string; params?: Json };
      received.push(message.method);
      response.writeHead(202).end('Accepted');
      if (message.method === 'tools/call') onCall(stream, { id: message.id, name: message.params?.['name'] });
      else if (message.id !== undefined) sendMessage(stream, { id: message.id, result: RESULTS[message.method] ?? {} });
    },
  });
  owned(host);
  return { url: `http://127.0.0.1:${host.port}/sse`, received };
}

export function sendMessage(stream: ServerResponse, fields: Json): void {
  stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n\n`);
}

const RESULTS: Record<string, Json> = {
  initialize: {
    protocolVersion: '2024-11-05',
    capabilities: { tools: {} },
    serverInfo: { name: 'odd', version: '1.0.0' },
  },
  'tools/list': { tools: [] },
};
