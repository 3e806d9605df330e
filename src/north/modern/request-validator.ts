import type { IncomingMessage } from 'node:http';
import { createMcpHandler, type McpHttpHandler, type Server } from '@modelcontextprotocol/server';
import type { Log } from '../../lib/log.ts';

/** What the SDK reads of a web `Request`, without the cost of making one; it is passed on to the factory untouched. */
interface Asked {
  method: string;
  headers: { get: (name: string) => string | null };
  inOrder: () => Promise<Server>;
}

/**
 * Says whether a request is in order. All the rules are the SDK's, and so are the answers to what breaks them; but its way
 * of serving the others, over a web `Response`, would be a third of the cost of a fast call.
 */
export class Judge {
  readonly #handler: McpHttpHandler;

  constructor(log: Log) {
    this.#handler = createMcpHandler(async ({ requestInfo }) => (requestInfo as unknown as Asked).inOrder(), {
      legacy: 'reject',
      onerror: (error) => log.debug('client_protocol_error', { error: error.message }),
    });
  }

  /** The SDK's answer, or `undefined` to a request that is in order, unless there is a `server` for it to go on with. */
  async answerTo(req: IncomingMessage, body: unknown, server?: Server): Promise<Response | undefined> {
    return new Promise((resolve, reject) => {
      const asked: Asked = {
        method: 'POST',
        headers: { get: (name) => req.headers[name.toLowerCase()]?.toString() ?? null },
        // One that never comes: here the SDK's part ends.
        inOrder: async () => server ?? new Promise<Server>(() => resolve(undefined)),
      };
      this.#handler.fetch(asked as unknown as Request, { parsedBody: body }).then(resolve, reject);
    });
  }

  async close(): Promise<void> {
    await this.#handler.close();
  }
}
