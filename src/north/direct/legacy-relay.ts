import type { Connection, ConnectionStatus, ServerTraits } from '../../core/ports.ts';
import { secretId } from '../../lib/ids.ts';
import { LOG_LEVEL_KEY } from '../../lib/protocol.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import type { LegacyResponder } from './legacy-responder.ts';
import type { Params } from '../message.ts';
import type { LegacyViewParts, LegacyRequest } from './legacy-request.ts';
import { isLevel } from '../../lib/levels.ts';
import { passedOnMeta } from './meta.ts';
import { withoutResultType } from './outcome.ts';

/** These are sent only to servers with sessions. */
const SESSION_NOTIFICATIONS = new Set(['notifications/roots/list_changed', 'notifications/progress']);

function traitsOf(status: ConnectionStatus): Partial<ServerTraits> {
  return status.state === 'connected' ? status.info.traits : {};
}

/** How long a client whose stream broke may take to come back to it, before its request is stopped at the server. */
const COMEBACK_MS = 5000;

/** Aborted when the client cancels the request, or leaves it and does not come back. */
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

/** Passes on what a client with a session says, to a server of either era. */
export class LegacyRelay {
  readonly #parts: LegacyViewParts;
  readonly #responder: LegacyResponder;

  constructor(parts: LegacyViewParts, responder: LegacyResponder) {
    this.#parts = parts;
    this.#responder = responder;
  }

  /** What the client tells the server. */
  tell(method: string, params: Params | undefined): void {
    const { status } = this.#connection;
    if (SESSION_NOTIFICATIONS.has(method) && !traitsOf(status).sessions) return;
    this.#connection.notify(method, params);
  }

  /** Passes a request on, and asks its client whatever the server wants to know before it answers. */
  async pass(request: LegacyRequest, method: string, params: Params): Promise<Params> {
    const { interactions, readLists } = this.#parts.session;
    const { exchange } = request;
    const id = secretId();
    const meta = { ...this.meta(params), ...(exchange.progress && { progressToken: id }) };
    const { _meta: _ownMeta, ...own } = params;
    const signal = unwanted(request);
    const unregister = interactions.register({ callId: id }, this.#responder.on(request.id));
    const close = this.#responder.opened(id, request.id);
    const outgoing = { ...own, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    const onProgress = exchange.progress ?? ((): void => {});
    try {
      const result = await this.#connection.relay({
        id,
        method,
        params: outgoing,
        signal,
        onProgress,
        rounds: 'answer',
      });
      readLists.record(method, params, result);
      return withoutResultType(result);
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
    // The server says what is wrong with it.
    if (typeof uri !== 'string') return this.pass(request, method, params);
    const { session, name } = this.#parts;
    const changed = method === 'resources/subscribe' ? session.subscribe(name, uri) : session.unsubscribe(name, uri);
    return withoutResultType(await changed);
  }

  async setLevel(request: LegacyRequest, params: Params): Promise<Params> {
    const { level } = params;
    const { session, name } = this.#parts;
    const { declaredPerRequest } = (await this.#connection.ready()).traits;
    // A server that is told once for the whole session says itself which levels it takes.
    const result = declaredPerRequest ? {} : await this.pass(request, 'logging/setLevel', params);
    if (isLevel(level)) session.setLogLevel(name, level);
    else if (declaredPerRequest) throw new RpcError(INVALID_PARAMS, `unknown log level ${JSON.stringify(level)}`);
    return result;
  }

  /** The metadata of a request, with the log level for servers that are told of it with each request. */
  meta(params: Params): Params {
    const meta = passedOnMeta(params);
    const logLevel = this.#parts.session.logLevel(this.#parts.name);
    if (logLevel === undefined || traitsOf(this.#connection.status).sessions) return meta;
    return { ...meta, [LOG_LEVEL_KEY]: logLevel };
  }

  get #connection(): Connection {
    return this.#parts.session.connection(this.#parts.name);
  }
}
