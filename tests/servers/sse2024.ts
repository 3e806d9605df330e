/** HTTP+SSE as of 2024-11-05: answers come on the stream of `GET /sse`, questions go to `POST /messages`. */
import type { ServerResponse } from 'node:http';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { answer, listen } from './shared/http-host.ts';
import { buildV1Server, newV1State, type V1State } from './v1-server.ts';

export interface Sse2024 {
  readonly url: string;
  readonly port: number;
  readonly state: V1State;
  close(): Promise<void>;
  breakStreams(): void;
}

export async function startSse2024(options: { readonly port?: number } = {}): Promise<Sse2024> {
  const state = newV1State();
  const transports = new Map<string, SSEServerTransport>();

  const open = async (response: ServerResponse) => {
    const transport = new SSEServerTransport('/messages', response);
    transports.set(transport.sessionId, transport);
    transport.onclose = () => void transports.delete(transport.sessionId);
    await buildV1Server(state, () => host.breakStreams()).connect(transport);
  };

  const host = await listen({
    port: options.port,
    onerror: (error) => void state.errors.push(String(error)),
    async handle(request, response) {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (request.method === 'GET' && pathname === '/sse') return open(response);
      if (pathname === '/sse') return answer(response, 405, 'Method not allowed');
      const transport = transports.get(searchParams.get('sessionId') ?? '');
      if (request.method !== 'POST' || pathname !== '/messages' || transport === undefined) {
        return answer(response, 404, 'Not found');
      }
      await transport.handlePostMessage(request, response);
    },
  });

  return {
    url: `http://127.0.0.1:${host.port}/sse`,
    port: host.port,
    state,
    breakStreams: () => host.breakStreams(),
    async close() {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      await host.close();
    },
  };
}
