import { Server } from '@modelcontextprotocol/server';
import type { RelatedRequest } from '../../core/ports.ts';
import { rpcFailure } from '../../lib/rpc-error.ts';
import { openExchange, withinLimits } from '../carrier.ts';
import { passOn, replyWhenStored, report, type Reply } from '../commit-gate.ts';
import { call, type LegacyCallParts } from './legacy-calls.ts';
import { LegacyResponder } from './legacy-responder.ts';
import { LegacyRelay } from './legacy-relay.ts';
import { LegacyRequest, tellClient, type LegacyViewParts, type Params } from './legacy-request.ts';
import { LegacyTasks } from './legacy-tasks.ts';
import { LegacyTools } from './legacy-tools.ts';
import { wireError } from './outcome.ts';
import { legacyIntroduction, ShownServer, tellsChanges } from './shown-server.ts';

/** Its client was introduced in an earlier run of the program. */
function resumedServer(): Server {
  return new Server({ name: 'meanwhile', version: '0' }, { capabilities: {} });
}

/**
 * One server as a client sees it that begins with `initialize`: requests go through as they are, calls may be tasks of the
 * 2025-11-25 protocol, and what the server asks reaches the client as requests on the stream of the call that it asks for.
 */
export class LegacyView {
  readonly server: Server;
  /** To be told where the client can be reached. */
  readonly responder: LegacyResponder;
  readonly #parts: LegacyCallParts;
  readonly #undo: (() => void)[] = [];

  constructor(parts: LegacyViewParts) {
    const { gateway, session, name, info, carrier } = parts;
    this.server = info === undefined ? resumedServer() : new ShownServer(legacyIntroduction(name, info));
    this.responder = new LegacyResponder(this.server, parts);
    const tools = new LegacyTools(session);
    this.#parts = {
      ...parts,
      responder: this.responder,
      relay: new LegacyRelay(parts, this.responder),
      tasks: new LegacyTasks(parts, this.responder, tools),
      tools,
    };
    // The level belongs to the server behind us.
    this.server.removeRequestHandler('logging/setLevel');
    // Of what the server asked, under its own token.
    this.server.removeNotificationHandler('notifications/progress');
    this.server.fallbackRequestHandler = async ({ method, params = {} }, { mcpReq }) => {
      const exchange = openExchange(mcpReq, carrier, gateway.settings.calls.onCancel);
      const request = new LegacyRequest(this.server, mcpReq, exchange, session.clock);
      const handle = async (): Promise<Reply> => this.#handle(request, method, params);
      try {
        return await replyWhenStored(session, async () => withinLimits(session, params, handle));
      } catch (error) {
        const failure = wireError(name, error, session);
        // The SDK would rewrite some codes, which are the server's own.
        exchange.failure = rpcFailure(failure);
        throw failure;
      }
    };
    this.server.fallbackNotificationHandler = async ({ method, params }) => this.#parts.relay.tell(method, params);
    this.#watch();
  }

  /** The client is gone for good, or the program ends. */
  close(): void {
    for (const undo of this.#undo) undo();
    this.#undo.length = 0;
  }

  /** Hands on what the server says unasked, and how the tasks of this client are doing. */
  #watch(): void {
    const { session, responder, tasks } = this.#parts;
    const onNotification = (method: string, params: Params | undefined, relatedRequest: RelatedRequest): void =>
      tellClient(
        this.#parts,
        method,
        params,
        typeof relatedRequest === 'string' ? undefined : responder.behind(relatedRequest.requestId),
      );
    session.onNotification.add(onNotification);
    const listsChanged = (kind: string): void => {
      if (this.#expectsChanges(kind)) tellClient(this.#parts, `notifications/${kind}/list_changed`, undefined);
    };
    session.onListsChanged.add(listsChanged);
    this.#undo.push(
      () => session.onListsChanged.delete(listsChanged),
      () => session.onNotification.delete(onNotification),
      session.tasks.watch((task) => tasks.changed(task)),
      responder.registerForAll(),
    );
  }

  /** Whether the client was told, when it was introduced, that it hears of changes of this kind of list. */
  #expectsChanges(kind: string): boolean {
    const { session, name, info } = this.#parts;
    if (info !== undefined) return tellsChanges(info, kind);
    // It was introduced in an earlier run of the program, most likely to the same server.
    const status = session.connectionIfAny(name)?.status;
    return status?.state === 'connected' && tellsChanges(status.info, kind);
  }

  async #handle(request: LegacyRequest, method: string, params: Params): Promise<Reply> {
    const { session, relay, tasks, tools } = this.#parts;
    switch (method) {
      case 'tools/call':
        return call(this.#parts, request, params);
      case 'tasks/get':
        return tasks.get(params);
      case 'tasks/result':
        return tasks.result(request, params);
      case 'tasks/list':
        return tasks.list(params);
      case 'tasks/cancel':
        return tasks.cancel(params);
      case 'logging/setLevel':
        return report(session, await relay.setLevel(request, params));
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return report(session, await relay.subscribe(request, method, params));
      case 'tools/list':
        return passOn(tools.listed(await relay.pass(request, method, params)));
      default:
        return passOn(await relay.pass(request, method, params));
    }
  }
}
