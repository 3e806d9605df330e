import { buildReceiverDriver, type Driven } from './receiver-driver.ts';
import { listen, type HttpHost } from './shared/http-host.ts';
import { v1Sessions } from './shared/v1-sessions.ts';

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
  const table = v1Sessions(() => buildReceiverDriver(onClient));
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
