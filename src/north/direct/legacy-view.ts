import type { NotificationListener } from '../../core/session/server-connections.ts';
import { METHOD_NOT_FOUND, RpcError } from '../../lib/rpc-error.ts';
import { withinLimits } from '../carrier.ts';
import type { ClientRequest } from '../client-request.ts';
import { passOn, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { handleLegacyCall, type LegacyCallParts } from './legacy-calls.ts';
import { LegacyResponder } from './legacy-responder.ts';
import { LegacyRelay } from './legacy-relay.ts';
import type { Params } from '../message.ts';
import { observed } from '../observed.ts';
import { ClientPeer } from '../peer.ts';
import { LegacyRequest, pingsTo, tellClient, type LegacyViewParts, type Pings } from './legacy-request.ts';
import { LegacyTasks } from './legacy-tasks.ts';
import { LegacyTools } from './legacy-tools.ts';
import { wireError } from './outcome.ts';

/** Requests of the modern protocol, which the server may support. */
const MODERN_METHODS = new Set(['server/discover', 'subscriptions/listen']);

/**
 * One server, or several as one, as a legacy client sees it: requests are relayed unchanged, calls
 * may be tasks of the 2025-11-25 protocol, and questions of a server reach the client as requests on the stream of the call
 * that they belong to.
 */
export class LegacyView {
  readonly peer: ClientPeer;
  /** Must be told where the client can be reached. */
  readonly responder: LegacyResponder;
  readonly #parts: LegacyCallParts;
  readonly #pings: Pings;
  readonly #undo: (() => void)[] = [];

  constructor(parts: LegacyViewParts) {
    const { gateway, session, shown, carrier } = parts;
    const endpoint = {
      introduce: (version: string) => shown.initializeResult(version),
      handle: (request: ClientRequest) =>
        observed(session, request, request.params, (params) => this.#answer(request, params)),
      onNotification: (method: string, params: Params | undefined) => this.#parts.relay.tell(method, params),
    };
    this.peer = new ClientPeer(carrier, endpoint, {
      onCancel: gateway.settings.calls.onCancel,
      clock: session.clock,
      onMistake: (error) => gateway.log.debug('client_protocol_error', { error }),
    });
    this.#pings = pingsTo(this.peer, session.clock);
    this.responder = new LegacyResponder(this.peer, parts);
    const tools = new LegacyTools(parts);
    this.#parts = {
      ...parts,
      responder: this.responder,
      relay: new LegacyRelay(parts, this.responder),
      tasks: new LegacyTasks(parts, this.responder, tools),
      tools,
      asking: ({ id, exchange }) => ({
        exchange,
        asking: { by: 'request', capabilities: session.client?.capabilities ?? {}, peer: this.peer, on: id },
      }),
    };
    this.#watch();
  }

  /** The client has left for good, or the gateway shuts down. */
  close(): void {
    for (const undo of this.#undo) undo();
    this.#undo.length = 0;
  }

  /** Forwards server notifications and changes of this client's tasks. */
  #watch(): void {
    const { session, shown, responder, tasks } = this.#parts;
    const onNotification: NotificationListener = (server, method, params, relatedRequest) => {
      const sent = shown.fromServer(server, method, params);
      const on = typeof relatedRequest === 'string' ? undefined : responder.behind(relatedRequest.requestId);
      for (const each of sent) tellClient(this.#parts, each.method, each.params, on);
    };
    session.connections.onNotification.add(onNotification);
    const listsChanged = (kind: string): void => {
      if (shown.tellsChanges(kind)) tellClient(this.#parts, `notifications/${kind}/list_changed`, undefined);
    };
    session.connections.onListsChanged.add(listsChanged);
    this.#undo.push(
      () => session.connections.onListsChanged.delete(listsChanged),
      () => session.connections.onNotification.delete(onNotification),
      session.tasks.watch((task) => tasks.changed(task)),
      responder.registerForAll(),
    );
  }

  #answer(request: ClientRequest, params: Params): Promise<Params> {
    const { session, shown } = this.#parts;
    const { method } = request;
    if (MODERN_METHODS.has(method)) return Promise.reject(new RpcError(METHOD_NOT_FOUND, 'Method not found'));
    const own = new LegacyRequest(request, session.clock, this.#pings);
    const handle = (): Promise<Reply> | Reply =>
      method === 'tools/call' ? this.#call(own, params) : this.#handle(own, method, params);
    return replyWhenStored(session, () => withinLimits(session, params, handle)).catch((error: unknown) => {
      throw wireError(shown.label, error, session);
    });
  }

  #call(request: LegacyRequest, params: Params): Promise<Reply> | Reply {
    const { helpers, asking } = this.#parts;
    return helpers?.has(params['name'])
      ? helpers.call(params, asking(request))
      : handleLegacyCall(this.#parts, request, params);
  }

  async #handle(request: LegacyRequest, method: string, params: Params): Promise<Reply> {
    const { session, shown, relay, tasks, tools } = this.#parts;
    switch (method) {
      case 'tasks/get':
        return tasks.get(params);
      case 'tasks/result':
        return tasks.result(request, params);
      case 'tasks/list':
        return tasks.list(params);
      case 'tasks/cancel':
        return tasks.cancel(params);
    }
    const answering = shown.answer(method, params);
    const answered = answering && (await answering);
    if (answered !== undefined) {
      const result = await tools.listed(method, answered);
      // The level is gateway state; lists come from the servers.
      return method === 'logging/setLevel' ? report(session, result) : passOn(result);
    }
    switch (method) {
      case 'logging/setLevel':
        return report(session, await relay.setLevel(request, params));
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return report(session, await relay.subscribe(request, method, params));
      case 'tools/list':
        return passOn(await tools.listed(method, await relay.pass(request, method, params)));
      default:
        return passOn(await relay.pass(request, method, params));
    }
  }
}
