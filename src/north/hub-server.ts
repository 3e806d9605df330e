import { SdkError, SdkErrorCode, Server, type RequestId } from '@modelcontextprotocol/server';
import type { Session } from '../core/session/session.ts';
import { VERSION } from '../lib/version.ts';
import { Exchange } from './exchange.ts';
import { HUB_CAPABILITIES, HUB_INSTRUCTIONS, type Hub } from './hub/hub.ts';

/** What carries replies to a client, and therefore knows whether they arrive. */
export interface Carrier {
  /** From now on `exchange` hears what becomes of the reply to this request. */
  track(id: RequestId, exchange: Exchange): void;
  /** There will be no reply: the request was cancelled. */
  abandon(id: RequestId): void;
}

export interface HubServerParts {
  hub: Hub;
  session: Session;
  carrier: Carrier;
  mayRunCommands: boolean;
}

/**
 * One protocol object for one client: of a session, or of a single request where there are no sessions. Everything goes
 * through the fallback handler, because results of registered handlers are stripped of what the SDK does not know.
 */
export function createHubServer({ hub, session, carrier, mayRunCommands }: HubServerParts): Server {
  const server = new Server(
    { name: 'meanwhile', title: 'Meanwhile', version: VERSION },
    { capabilities: HUB_CAPABILITIES, instructions: HUB_INSTRUCTIONS },
  );
  server.fallbackRequestHandler = async (request, { mcpReq }) => {
    const token = mcpReq._meta?.progressToken;
    const exchange = new Exchange(
      token === undefined
        ? undefined
        : (progress) => {
            // A client that is gone hears nothing; that its request failed is found out by whoever sends the reply.
            mcpReq
              .notify({ method: 'notifications/progress', params: { ...progress, progressToken: token } })
              .catch(() => {});
          },
    );
    carrier.track(mcpReq.id, exchange);
    const onAbort = (): void => {
      // The end of the connection is the carrier's to judge: it may come right after the reply has left.
      if (isConnectionClosed(mcpReq.signal.reason)) return;
      exchange.cancel(String(mcpReq.signal.reason));
      carrier.abandon(mcpReq.id);
    };
    mcpReq.signal.addEventListener('abort', onAbort, { once: true });
    return hub.handle(request.method, request.params ?? {}, { session, exchange, mayRunCommands });
  };
  return server;
}

function isConnectionClosed(reason: unknown): boolean {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
}
