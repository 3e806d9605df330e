/** 2025-era Streamable HTTP on the v1 SDK: each session has a server object of its own. */
import { randomUUID } from 'node:crypto';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { listen } from './http-host.ts';
import { SessionTable } from './sessions.ts';

export function v1Sessions(build: () => Pick<Server, 'connect'>): SessionTable {
  return new SessionTable(async ({ opened, closed }) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => opened(id, transport),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await build().connect(transport);
    return transport;
  });
}

/** The whole of a server that has nothing else to it. */
export async function serveV1(build: () => Pick<Server, 'connect'>): Promise<{ url: string; close(): Promise<void> }> {
  const table = v1Sessions(build);
  const host = await listen({
    port: undefined,
    onerror: () => {},
    handle: (request, response) => table.handle(request, response),
  });
  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    async close() {
      await table.close();
      await host.close();
    },
  };
}
