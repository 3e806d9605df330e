import { randomUUID } from 'node:crypto';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { buildReceiverDriver, type Driven } from './receiver-driver.ts';
import { listen, type HttpHost } from './shared/http-host.ts';
import { SessionTable } from './shared/sessions.ts';

export interface ReceiverDriverHttp {
  readonly url: string;
  readonly errors: unknown[];
  /** Forgets all sessions, as a server does that was restarted. */
  dropSessions(): Promise<void>;
  /** Destroys all open sockets. Sessions stay known. */
  breakStreams(): void;
  /** Cannot be reached until the returned function is called. Sessions stay known. */
  outOfReach(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export async function startReceiverDriverHttp(onClient: (driven: Driven) => void): Promise<ReceiverDriverHttp> {
  const errors: unknown[] = [];
  const table = new SessionTable(async ({ opened, closed }) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => opened(id, transport),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await buildReceiverDriver(onClient).connect(transport);
    return transport;
  });
  const listenOn = (port: number): Promise<HttpHost> =>
    listen({
      port,
      onerror: (error) => void errors.push(error),
      handle: (request, response) => table.handle(request, response),
    });
  let host = await listenOn(0);
  const { port } = host;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    errors,
    dropSessions: () => table.close(),
    breakStreams: () => host.breakStreams(),
    async outOfReach() {
      await host.close();
      return async () => {
        host = await listenOn(port);
      };
    },
    async close() {
      await table.close();
      await host.close();
    },
  };
}
