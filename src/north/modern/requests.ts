import type { IncomingMessage, ServerResponse } from 'node:http';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import { drained } from '../../lib/drained.ts';
import type { Exchange } from '../exchange.ts';
import { onceHandedOver } from '../http/handed-over.ts';
import { idOf, respondGatewayError } from '../http/respond.ts';
import { createHubServer, type Carrier } from '../hub-server.ts';
import type { Hub } from '../hub/hub.ts';

export interface ModernOptions {
  gateway: Gateway;
  hub: Hub;
  mayRunCommands: boolean;
}

/** Clients without sessions over HTTP: each request stands alone, its state is that of the one who sends it. */
export class ModernRequests {
  readonly #gateway: Gateway;
  readonly #handler: McpHttpHandler;

  constructor({ gateway, hub, mayRunCommands }: ModernOptions) {
    this.#gateway = gateway;
    this.#handler = createMcpHandler(
      ({ requestInfo }) => {
        const request = requestInfo as unknown as WireRequest;
        const session = openSession(gateway, request);
        return createHubServer({ hub, session, carrier: request.carrier, mayRunCommands });
      },
      {
        legacy: 'reject',
        onerror: (error) => gateway.log.debug('client_protocol_error', { error: error.message }),
      },
    );
  }

  async handle(req: IncomingMessage, res: ServerResponse, body: unknown, principal: string): Promise<void> {
    try {
      if (this.#gateway.sleeps(principal)) await this.#gateway.wakePrincipal(principal);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      respondGatewayError(res, error, { id: idOf(body) });
      return;
    }
    const request = new WireRequest(req, res, principal);
    const response = await this.#handler.fetch(request as unknown as Request, { parsedBody: body });
    if (request.refused === undefined) await writeResponse(response, res);
    else respondGatewayError(res, request.refused, { id: idOf(body) });
  }

  async close(): Promise<void> {
    await this.#handler.close();
  }
}

/**
 * What the SDK's handler reads of a web `Request`, without the cost of making one, together with what only we know of
 * it. The handler passes it on to the server factory untouched.
 */
class WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { get: (name: string) => string | null; has: (name: string) => boolean };
  readonly signal: AbortSignal;
  readonly principal: string;
  readonly carrier: Carrier;
  /** Why there is no session for it; the handler would answer with an error of its own. */
  refused: GatewayError | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, principal: string) {
    this.method = req.method ?? 'GET';
    this.url = `http://${req.headers.host ?? 'localhost'}${req.url ?? '/'}`;
    this.headers = {
      get: (name) => {
        const value = req.headers[name.toLowerCase()];
        return value === undefined ? null : String(value);
      },
      has: (name) => req.headers[name.toLowerCase()] !== undefined,
    };
    this.principal = principal;
    const left = new AbortController();
    this.signal = left.signal;
    const exchanges: Exchange[] = [];
    this.carrier = { track: (_id, exchange) => void exchanges.push(exchange), abandon: () => {} };
    onceHandedOver(res, (complete) => {
      for (const exchange of exchanges) {
        if (complete) exchange.settle(true);
        else exchange.giveUp();
      }
      if (!complete) left.abort();
    });
  }
}

function openSession(gateway: Gateway, request: WireRequest): Session {
  try {
    return gateway.forPrincipal(request.principal);
  } catch (error) {
    if (error instanceof GatewayError) request.refused = error;
    throw error;
  }
}

async function writeResponse(response: Response, res: ServerResponse): Promise<void> {
  const headers = Object.fromEntries(response.headers);
  if (response.body === null || !headers['content-type']?.startsWith('text/event-stream')) {
    res.writeHead(response.status, headers).end(await response.text());
    return;
  }
  res.writeHead(response.status, headers);
  res.flushHeaders();
  const reader = response.body.getReader();
  res.once('close', () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    if (!res.write(value)) await drained(res);
  }
  res.end();
}
