import type { ConnectionStatus, ServerTraits } from '../../core/ports/connection.ts';
import { secretId } from '../../lib/ids.ts';
import { LOG_LEVEL_KEY } from '../../lib/protocol.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import type { LegacyResponder } from './legacy-responder.ts';
import type { Params } from '../message.ts';
import type { LegacyViewParts, LegacyRequest } from './legacy-request.ts';
import { isLevel } from '../../lib/levels.ts';
import { passedOnMeta } from './meta.ts';
import { wireError, withoutResultType } from './outcome.ts';
import { sendTo, type RoutedRequest } from './shown.ts';

/** Sent only to legacy servers. */
const SESSION_NOTIFICATIONS = new Set(['notifications/roots/list_changed', 'notifications/progress']);

function traitsOf(status: ConnectionStatus): Partial<ServerTraits> {
  return status.state === 'connected' ? status.info.traits : {};
}

/** How long a client may take to resume a broken stream before its request is cancelled at the server. */
const COMEBACK_MS = 5000;

/** Aborted when the client cancels the request, or leaves without returning. */
function unwanted({ exchange, clock }: LegacyRequest): AbortSignal {
  const left = new AbortController();
  exchange.onLeaving(() => {
    const stop = (): void => {
      if (!exchange.reaches) left.abort();
    };
    clock.after(COMEBACK_MS, stop, { unref: true });
  });
  return AbortSignal.any([exchange.withdrawnSignal(), left.signal]);
}

/** Relays messages of a legacy client to servers of either era. */
export class LegacyRelay {
  readonly #parts: LegacyViewParts;
  readonly #responder: LegacyResponder;

  constructor(parts: LegacyViewParts, responder: LegacyResponder) {
    this.#parts = parts;
    this.#responder = responder;
  }

  /** Relays a notification of the client. */
  tell(method: string, params: Params | undefined): void {
    const { session, shown } = this.#parts;
    for (const server of shown.notificationTargets(method)) {
      const connection = session.connections.find(server);
      if (connection === undefined) continue;
      if (SESSION_NOTIFICATIONS.has(method) && !traitsOf(connection.status).sessions) continue;
      connection.notify(method, params);
    }
  }

  /** Relays a request, and asks its client the questions of the server. */
  async pass(request: LegacyRequest, method: string, params: Params): Promise<Params> {
    return sendTo(await this.#parts.shown.route(method, params), async (target) => this.#send(request, method, target));
  }

  async #send(
    request: LegacyRequest,
    method: string,
    { server, params, translate = unchanged }: RoutedRequest,
  ): Promise<Params> {
    const { session } = this.#parts;
    const { interactions, connections } = session;
    const { exchange } = request;
    const id = secretId();
    const meta = { ...this.meta(server, params), ...(exchange.progress && { progressToken: id }) };
    const { _meta: _ownMeta, ...own } = params;
    const signal = unwanted(request);
    const unregister = interactions.register({ callId: id }, this.#responder.on(request.id));
    const close = this.#responder.opened(id, request.id, server);
    const outgoing = { ...own, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    const onProgress = exchange.progress ?? ((): void => {});
    try {
      const result = await session.relay(server, {
        id,
        method,
        params: outgoing,
        signal,
        onProgress,
        rounds: 'answer',
      });
      connections.readLists.record(method, params, result);
      return translate(withoutResultType(result));
    } catch (error) {
      throw wireError(`server '${server}'`, error, session);
    } finally {
      close();
      unregister();
      interactions.requestEnded(id);
    }
  }

  async subscribe(
    request: LegacyRequest,
    method: 'resources/subscribe' | 'resources/unsubscribe',
    params: Params,
  ): Promise<Params> {
    const { uri } = params;
    // The server reports the mistake.
    if (typeof uri !== 'string') return this.pass(request, method, params);
    const { session, shown } = this.#parts;
    const change = async ({ server, params: own }: RoutedRequest): Promise<Params> => {
      const address = String(own['uri']);
      try {
        if (method === 'resources/subscribe') {
          const result = await session.subscribe(server, address);
          shown.subscribed(server, address, uri);
          return result;
        }
        return shown.unsubscribed(server, address, uri) ? await session.unsubscribe(server, address) : {};
      } catch (error) {
        throw wireError(`server '${server}'`, error, session);
      }
    };
    return withoutResultType(await sendTo(await shown.route(method, params), change));
  }

  async setLevel(request: LegacyRequest, params: Params): Promise<Params> {
    const { level } = params;
    const { session, shown } = this.#parts;
    const [{ server }] = await shown.route('logging/setLevel', params);
    const { declaredPerRequest } = (await session.connection(server).ready()).traits;
    // A legacy server validates the level itself.
    const result = declaredPerRequest ? {} : await this.pass(request, 'logging/setLevel', params);
    if (isLevel(level)) session.preferences.setLogLevel(server, level);
    else if (declaredPerRequest) throw new RpcError(INVALID_PARAMS, `unknown log level ${JSON.stringify(level)}`);
    return result;
  }

  /** The metadata of a request, with the log level for modern servers. */
  meta(server: string, params: Params): Params {
    const { session } = this.#parts;
    const meta = passedOnMeta(params);
    const logLevel = session.preferences.logLevel(server);
    if (logLevel === undefined || traitsOf(session.connection(server).status).sessions) return meta;
    return { ...meta, [LOG_LEVEL_KEY]: logLevel };
  }
}

const unchanged = (result: Params): Params => result;
