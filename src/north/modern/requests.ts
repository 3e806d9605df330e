import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  classifyInboundRequest,
  createMcpHandler,
  type McpHttpHandler,
  type RequestId,
  type Server,
} from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import { drained } from '../../lib/drained.ts';
import { isObject } from '../../lib/values.ts';
import type { Addressed } from '../addressed.ts';
import type { Carrier } from '../carrier.ts';
import { listen } from '../direct/listening.ts';
import { ModernBenches } from '../direct/modern-bench.ts';
import { clientIn } from '../modern-client.ts';
import { createModernServer } from '../direct/modern-face.ts';
import { wireError } from '../direct/outcome.ts';
import { reached } from '../direct/reached.ts';
import type { Exchange } from '../exchange.ts';
import { onceHandedOver } from '../http/handed-over.ts';
import { idOf, respondError, respondGatewayError } from '../http/respond.ts';
import { createHubServer } from '../hub-server.ts';
import type { Hub } from '../hub/hub.ts';

export interface ModernOptions {
  gateway: Gateway;
  hub: Hub;
  mayRunCommands: boolean;
  /** After how long a direct call is offered as a task to a client that takes tasks. */
  taskAfterMs: number;
}

const KEEP_ALIVE_MS = 15_000;

/** The status that the specification wants with an error, where it wants one. */
const STATUS: Record<number, number> = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

/** Clients without sessions over HTTP: each request stands alone, its state is that of the one who sends it. */
export class ModernRequests {
  readonly #options: ModernOptions;
  readonly #gateway: Gateway;
  readonly #handler: McpHttpHandler;
  readonly #benches = new ModernBenches();
  readonly #listening = new Map<ServerResponse, Session>();
  readonly #onSessionEnded: (session: Session) => void;

  constructor(options: ModernOptions) {
    this.#options = options;
    this.#gateway = options.gateway;
    this.#onSessionEnded = (ended) => {
      for (const [res, session] of this.#listening) if (session === ended) res.end();
    };
    options.gateway.onSessionEnded.add(this.#onSessionEnded);
    this.#handler = createMcpHandler(async ({ requestInfo }) => this.#serve(requestInfo as unknown as WireRequest), {
      legacy: 'reject',
      onerror: (error) => options.gateway.log.debug('client_protocol_error', { error: error.message }),
    });
  }

  /** `whom`: who sends it, and to which server if it is not for the hub. */
  async handle(req: IncomingMessage, res: ServerResponse, body: unknown, whom: Addressed): Promise<void> {
    const { principal, server } = whom;
    try {
      if (this.#gateway.sleeps(principal, server)) await this.#gateway.wakePrincipal(principal, server);
      if (server !== undefined && isListen(req, body)) {
        await this.#listen(res, body, principal, server);
        return;
      }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      respondGatewayError(res, error, { id: idOf(body) });
      return;
    }
    const request = new WireRequest(req, res, whom);
    const response = await this.#handler.fetch(request as unknown as Request, { parsedBody: body });
    if (request.refused === undefined) await writeResponse(response, res);
    else respondGatewayError(res, request.refused, { id: idOf(body) });
  }

  async close(): Promise<void> {
    this.#gateway.onSessionEnded.delete(this.#onSessionEnded);
    for (const res of this.#listening.keys()) res.end();
    await this.#handler.close();
  }

  async #serve(request: WireRequest): Promise<Server> {
    const { gateway, hub, mayRunCommands, taskAfterMs } = this.#options;
    const { principal, server: name } = request.whom;
    const { carrier } = request;
    try {
      const session = gateway.forPrincipal(principal, name);
      if (name === undefined) return createHubServer({ hub, session, carrier, mayRunCommands, rounds: true });
      const info = await reached(name, session.connection(name));
      const bench = this.#benches.of(session, name);
      return createModernServer({ gateway, session, name, info, carrier, bench, taskAfterMs });
    } catch (error) {
      if (error instanceof GatewayError) request.refused = error;
      throw error;
    }
  }

  /** Tells of changes on a stream that stays open. */
  async #listen(res: ServerResponse, body: ListenRequest, principal: string, name: string): Promise<void> {
    const gateway = this.#gateway;
    const session = gateway.forPrincipal(principal, name);
    const info = await reached(name, session.connection(name));
    const { id, params } = body;
    let said = false;
    const send = (message: unknown): void => {
      // One that was ended stays open until a slow client has read all of it.
      if (res.writableEnded) return;
      if (!said) {
        said = true;
        res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
      }
      res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    };
    const client = clientIn(isObject(params['_meta']) ? params['_meta'] : {});
    let stop: () => void;
    try {
      stop = await listen({ gateway, session, info, bench: this.#benches.of(session, name), client, id, send }, params);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const { code = -32603, message, data } = wireError(name, error) as Error & { code?: number; data?: unknown };
      respondError(res, STATUS[code] ?? 400, code, message, { id, data });
      return;
    }
    this.#hold(res, session, stop);
  }

  #hold(res: ServerResponse, session: Session, stop: () => void): void {
    const beat = setInterval(() => {
      if (!res.writableEnded) res.write(': keep-alive\n\n');
    }, KEEP_ALIVE_MS);
    beat.unref();
    this.#listening.set(res, session);
    const over = (): void => {
      clearInterval(beat);
      this.#listening.delete(res);
      stop();
    };
    if (res.destroyed) over();
    else res.once('close', over);
  }
}

interface ListenRequest {
  id: RequestId;
  method: string;
  params: Record<string, unknown>;
}

/** A request to listen that is in order; what is wrong with any other the SDK tells best. */
function isListen(req: IncomingMessage, body: unknown): body is ListenRequest {
  if (!isObject(body) || body['method'] !== 'subscriptions/listen' || !isObject(body['params'])) return false;
  const header = (name: string): string | undefined => {
    const value = req.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const protocolVersionHeader = header('mcp-protocol-version');
  const mcpMethodHeader = header('mcp-method');
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(protocolVersionHeader !== undefined && { protocolVersionHeader }),
    ...(mcpMethodHeader !== undefined && { mcpMethodHeader }),
  });
  return route.kind === 'modern' && route.messageKind === 'request' && protocolVersionHeader !== undefined;
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
  readonly whom: Addressed;
  readonly carrier: Carrier;
  /** Why there is no session for it; the handler would answer with an error of its own. */
  refused: GatewayError | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, whom: Addressed) {
    this.method = req.method ?? 'GET';
    this.url = `http://${req.headers.host ?? 'localhost'}${req.url ?? '/'}`;
    this.headers = {
      get: (name) => {
        const value = req.headers[name.toLowerCase()];
        return value === undefined ? null : String(value);
      },
      has: (name) => req.headers[name.toLowerCase()] !== undefined,
    };
    this.whom = whom;
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

async function writeResponse(response: Response, res: ServerResponse): Promise<void> {
  const headers = Object.fromEntries(response.headers);
  if (response.body === null || !headers['content-type']?.startsWith('text/event-stream')) {
    const text = await response.text();
    res.writeHead(response.status === 200 ? statusOf(text) : response.status, headers).end(text);
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

/** The SDK gives a status only to the errors that it raises itself. */
function statusOf(text: string): number {
  const code = /^\{"jsonrpc":"2\.0",(?:"id":(?:"(?:[^"\\]|\\.)*"|[\d.e+-]+|null),)?"error":\{"code":(-\d+)/i.exec(
    text,
  )?.[1];
  return (code === undefined ? undefined : STATUS[Number(code)]) ?? 200;
}
