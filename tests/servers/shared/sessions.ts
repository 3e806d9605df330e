/**
 * The session table of a 2025-era Streamable HTTP endpoint, for the transports of either SDK.
 *
 * `live` holds every transport that must be closed in the end; `byId` those a request can still reach.
 * Forgetting sessions empties only the second, as a server does that lost its memory but not its sockets.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, header } from './http-host.ts';

export interface SessionTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>;
  close(): Promise<void>;
}

export interface SessionEvents {
  readonly opened: (id: string, transport: SessionTransport) => void;
  readonly closed: (id: string | undefined, transport: SessionTransport) => void;
}

export class SessionTable {
  readonly #byId = new Map<string, SessionTransport>();
  readonly #live = new Set<SessionTransport>();
  readonly #open: (events: SessionEvents) => Promise<SessionTransport>;

  /** `open` connects a fresh server to a fresh transport and reports what becomes of it. */
  constructor(open: (events: SessionEvents) => Promise<SessionTransport>) {
    this.#open = open;
  }

  async handle(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void> {
    const id = header(request, 'mcp-session-id');
    if (id !== undefined) {
      const transport = this.#byId.get(id);
      if (transport === undefined) answer(response, 404, 'Session not found');
      else await transport.handleRequest(request, response, body);
      return;
    }
    if (request.method !== 'POST') return answer(response, 400, 'Mcp-Session-Id header is required');
    const transport = await this.#open({
      opened: (opened, transport) => void this.#byId.set(opened, transport),
      closed: (closed, transport) => {
        this.#live.delete(transport);
        if (closed !== undefined && this.#byId.get(closed) === transport) this.#byId.delete(closed);
      },
    });
    this.#live.add(transport);
    await transport.handleRequest(request, response, body);
  }

  forget(): void {
    this.#byId.clear();
  }

  async close(): Promise<void> {
    this.#byId.clear();
    const live = [...this.#live];
    this.#live.clear();
    await Promise.all(live.map((transport) => transport.close()));
  }
}
