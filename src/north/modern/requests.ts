import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONRPCNotification, JSONRPCRequest, Server } from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import { isObject } from '../../lib/values.ts';
import type { Addressed } from '../http/addressed.ts';
import type { Carrier } from '../carrier.ts';
import { listen } from '../direct/listening.ts';
import { clientStateOf } from '../direct/modern-client-state.ts';
import { clientIn, stateOf } from '../modern-client.ts';
import { createModernServer } from '../direct/modern-view.ts';
import { wireError } from '../direct/outcome.ts';
import { serverInfo } from '../direct/shown-server.ts';
import { beginStream, frame, respondError, writeEvent } from '../http/response.ts';
import { bareHubServer, createHubServer } from '../hub-server.ts';
import type { Hub } from '../hub/hub.ts';
import { RequestValidator } from '../../lib/sdk/request-validator.ts';
import { RequestTransport, statusOf } from './transport.ts';
import { Windows } from './windows.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

interface ModernOptions {
  gateway: Gateway;
  hub: Hub | undefined;
  mayRunCommands: boolean;
  /** After how long a direct call is offered as a task to a client that takes tasks. */
  taskAfterMs: number;
}

/** Clients without sessions over HTTP: each request stands alone, and belongs to a state of its sender. */
export class ModernRequests {
  readonly #options: ModernOptions;
  readonly #gateway: Gateway;
  readonly #validator: RequestValidator;
  readonly #windows: Windows;
  readonly #open = new Set<RequestTransport>();
  readonly #listening = new Map<ServerResponse, Session>();
  readonly #onSessionEnded: (session: Session) => void;

  constructor(options: ModernOptions) {
    this.#options = options;
    this.#gateway = options.gateway;
    this.#windows = new Windows(options.gateway.clock);
    this.#validator = new RequestValidator((error) =>
      options.gateway.log.debug('client_protocol_error', { error: error.message }),
    );
    this.#onSessionEnded = (ended) => {
      for (const [res, session] of this.#listening) if (session === ended) res.end();
    };
    options.gateway.onSessionEnded.add(this.#onSessionEnded);
  }

  async handle(req: IncomingMessage, res: ServerResponse, body: unknown, whom: Addressed): Promise<void> {
    const { principal, view, as } = whom;
    // Without an id it is a notification, which has no reply.
    const listens = isObject(body) && body['method'] === 'subscriptions/listen' && 'id' in body;
    // The hub sends no notifications; the SDK says so by itself.
    const answer = await this.#validator.answerTo(
      req,
      body,
      listens && view.kind === 'hub' ? bareHubServer() : undefined,
    );
    if (answer !== undefined) {
      res.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      return;
    }
    const message = body as JSONRPCRequest | JSONRPCNotification;
    const meta = message.params?._meta ?? {};
    // Clients do not name themselves in notifications: those belong to the state that was used last.
    const isNameless = !('id' in message) && as === undefined && clientIn(meta).program === undefined;
    const latest = isNameless ? this.#gateway.latestState(principal, view) : undefined;
    const found = latest ?? this.#gateway.stateOf({ principal, view, name: stateOf(as, meta) });
    const session = found instanceof Promise ? await found : found;
    if (view.kind === 'hub') await this.#serveHub(req, res, message, session);
    else if (listens) await this.#listen(res, message as JSONRPCRequest, session, view.server);
    else await this.#serveDirect(res, message, session, view.server);
  }

  async close(): Promise<void> {
    this.#gateway.onSessionEnded.delete(this.#onSessionEnded);
    for (const res of this.#listening.keys()) res.end();
    for (const transport of this.#open) transport.stop();
    await this.#validator.close();
  }

  async #serveHub(
    { socket }: IncomingMessage,
    res: ServerResponse,
    message: JSONRPCRequest | JSONRPCNotification,
    session: Session,
  ): Promise<void> {
    const { hub, mayRunCommands } = this.#options;
    if (hub === undefined) throw new Error('a hub request at a listener without a hub');
    const reader = 'id' in message ? this.#windows.readerOf(session, message.id, socket) : undefined;
    await this.#deliver(res, message, async (carrier) =>
      createHubServer({ hub, session, carrier, mayRunCommands, reader, rounds: true }),
    );
  }

  async #serveDirect(
    res: ServerResponse,
    message: JSONRPCRequest | JSONRPCNotification,
    own: Session,
    name: string,
  ): Promise<void> {
    const { gateway, taskAfterMs } = this.#options;
    await this.#deliver(res, message, async (carrier) => {
      const session = await this.#ownerOf(own, message);
      const info = await serverInfo(name, session.connection(name));
      const clientState = clientStateOf(session, name);
      return createModernServer({ gateway, session, name, info, carrier, clientState, taskAfterMs });
    });
  }

  async #deliver(
    res: ServerResponse,
    message: JSONRPCRequest | JSONRPCNotification,
    serverFor: (carrier: Carrier) => Promise<Server>,
  ): Promise<void> {
    const transport = new RequestTransport(res, (over) => this.#open.delete(over));
    this.#open.add(transport);
    const server = await serverFor(transport);
    await server.connect(transport);
    transport.deliver(message);
  }

  /** The session that has the task a request is about: another program of the same principal may have started it. */
  async #ownerOf(own: Session, { method, params }: JSONRPCRequest | JSONRPCNotification): Promise<Session> {
    const taskId = method.startsWith('tasks/') ? params?.['taskId'] : undefined;
    if (typeof taskId !== 'string' || own.tasks.find(taskId) !== undefined) return own;
    return (await this.#gateway.otherStates(own)).find(({ tasks }) => tasks.find(taskId) !== undefined) ?? own;
  }

  /** Tells of changes on a stream that stays open. */
  async #listen(
    res: ServerResponse,
    { id, params = {} }: JSONRPCRequest,
    session: Session,
    name: string,
  ): Promise<void> {
    const info = await serverInfo(name, session.connection(name));
    const send = (message: unknown): void => {
      // An ended response stays open until a slow client has read all of it.
      if (res.writableEnded || res.destroyed) return;
      if (!res.headersSent) beginStream(res);
      writeEvent(res, frame(stringifyExact(message)));
    };
    const client = clientIn(params._meta ?? {});
    let stop: () => void;
    try {
      stop = await listen({ session, info, clientState: clientStateOf(session, name), client, id, send }, params);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const { code, message, data } = wireError(name, error);
      respondError(res, statusOf(code, 400), code, message, { id, data });
      return;
    }
    this.#hold(res, session, stop);
  }

  #hold(res: ServerResponse, session: Session, stop: () => void): void {
    this.#listening.set(res, session);
    const over = (): void => {
      this.#listening.delete(res);
      stop();
    };
    if (res.destroyed) over();
    else res.once('close', over);
  }
}
