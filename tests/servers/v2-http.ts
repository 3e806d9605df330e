import { randomUUID } from 'node:crypto';
import {
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
  type NodeIncomingMessageLike,
} from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { listen, readJson } from './shared/http-host.ts';
import { SessionTable } from './shared/sessions.ts';
import { buildV2Server, newV2State, type V2State } from './v2-server.ts';

export interface V2HttpOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** `both` (the default) serves 2025-era clients in real sessions, so that questions reach them too. */
  readonly era?: 'modern' | 'both';
}

export interface V2Http {
  readonly url: string;
  readonly port: number;
  readonly state: V2State;
  close(): Promise<void>;
  /** Forgets all 2025-era sessions. Open streams stay open. */
  dropSessions(): void;
  /** Destroys all open sockets. */
  breakStreams(): void;
}

export async function startV2Http({ port, era = 'both' }: V2HttpOptions = {}): Promise<V2Http> {
  const state = newV2State();
  const onerror = (error: unknown) => void state.errors.push(String(error));

  const modern = createMcpHandler(() => buildV2Server(state), { legacy: 'reject', onerror });
  const handleModern = toNodeHandler(modern, { onerror });

  const legacy = new SessionTable(async ({ opened, closed }) => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => opened(id, transport),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await buildV2Server(state).connect(transport);
    return transport;
  });

  const host = await listen({
    port,
    onerror,
    async handle(request, response) {
      // Its type differs from what Node gives only in how it spells an absent property.
      const incoming = request as NodeIncomingMessageLike;
      if (era === 'modern') return handleModern(incoming, response);
      const body = request.method === 'POST' ? await readJson(request) : undefined;
      const isLegacy = await isLegacyRequest(await toWebRequest(incoming, body), body);
      await (isLegacy ? legacy.handle(request, response, body) : handleModern(incoming, response, body));
    },
  });

  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    port: host.port,
    state,
    dropSessions: () => legacy.forget(),
    breakStreams: () => host.breakStreams(),
    async close() {
      await modern.close();
      await legacy.close();
      await host.close();
    },
  };
}
