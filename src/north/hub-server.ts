import { Server } from '@modelcontextprotocol/server';
import type { Session } from '../core/session/session.ts';
import { VERSION } from '../lib/version.ts';
import { openExchange, type Carrier } from './carrier.ts';
import { HUB_CAPABILITIES, HUB_INSTRUCTIONS, type Hub } from './hub/hub.ts';

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
    const exchange = openExchange(mcpReq, carrier);
    return hub.handle(request.method, request.params ?? {}, { session, exchange, mayRunCommands });
  };
  return server;
}
