import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { answer, listen } from './shared/http-host.ts';
import { v1Sessions } from './shared/v1-sessions.ts';
import { buildV1Server, newV1State, type V1State } from './v1-server.ts';

export interface V1HttpOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** False: a fresh server for each request, and no GET stream. */
  readonly sessions?: boolean;
  readonly noGetStream?: boolean;
}

export interface V1Http {
  readonly url: string;
  readonly port: number;
  readonly state: V1State;
  close(): Promise<void>;
  /** Forgets all sessions, so that the next request of each gets 404. Open streams stay open. */
  dropSessions(): void;
  /** Destroys all open sockets. Sessions stay known. */
  breakStreams(): void;
}

export async function startV1Http(options: V1HttpOptions = {}): Promise<V1Http> {
  const { port, sessions = true, noGetStream = !sessions } = options;
  const state = newV1State();
  // A process that dies takes all its connections with it.
  const build = () => buildV1Server(state, () => host.breakStreams());

  const table = v1Sessions(build);

  const stateless = async (request: IncomingMessage, response: ServerResponse) => {
    const transport = new StreamableHTTPServerTransport({});
    const server = build();
    await server.connect(transport);
    response.once('close', () => {
      server.close().catch((error: unknown) => state.errors.push(String(error)));
    });
    await transport.handleRequest(request, response);
  };

  const host = await listen({
    port,
    onerror: (error) => void state.errors.push(String(error)),
    async handle(request, response) {
      if (noGetStream && request.method === 'GET') return answer(response, 405, 'Method not allowed');
      if (sessions) await table.handle(request, response);
      else await stateless(request, response);
    },
  });

  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    port: host.port,
    state,
    dropSessions: () => table.forget(),
    breakStreams: () => host.breakStreams(),
    async close() {
      await table.close();
      await host.close();
    },
  };
}
