import { Server, SUPPORTED_PROTOCOL_VERSIONS, type ServerContext } from '@modelcontextprotocol/server';
import type { EventReader } from '../core/event/reader.ts';
import type { Session } from '../core/session/session.ts';
import { VERSION } from '../lib/version.ts';
import { openExchange, type Carrier } from './carrier.ts';
import { replyWhenStored } from './commit-gate.ts';
import { clientOf, MODERN_VERSIONS } from './modern-client.ts';
import { readState } from './mrtr/request-state.ts';
import type { Asking } from './hub/tool.ts';
import { HUB_CAPABILITIES, HUB_INSTRUCTIONS, type Hub } from './hub/hub.ts';

interface HubServerParts {
  hub: Hub;
  session: Session;
  carrier: Carrier;
  mayRunCommands: boolean;
  /** The reader of the events, if the session has several. */
  reader?: EventReader | undefined;
  /** Whether the client is asked in rounds: it takes no requests, and declares its capabilities with each of its own. */
  rounds: boolean;
}

/** A protocol object that introduces the hub, and handles no requests. */
export function bareHubServer(versions = SUPPORTED_PROTOCOL_VERSIONS): Server {
  return new Server(
    { name: 'meanwhile', title: 'Meanwhile', version: VERSION },
    { capabilities: HUB_CAPABILITIES, instructions: HUB_INSTRUCTIONS, supportedProtocolVersions: versions },
  );
}

/**
 * One protocol object for one client: of a session, or of a single request where there are no sessions. Everything goes
 * through the fallback handler, because results of registered handlers are stripped of what the SDK does not know.
 */
export function createHubServer({ hub, session, carrier, mayRunCommands, reader, rounds }: HubServerParts): Server {
  const server = bareHubServer(rounds ? MODERN_VERSIONS : undefined);
  server.fallbackRequestHandler = async (request, { mcpReq }) => {
    const exchange = openExchange(mcpReq, carrier, hub.settings.calls.onCancel);
    const asking: Asking = rounds
      ? askingByRound(session, mcpReq)
      : { by: 'request', capabilities: session.client?.capabilities ?? {}, server, on: mcpReq.id };
    const caller = { session, exchange, mayRunCommands, reader, asking };
    return replyWhenStored(session, async () => hub.handle(request.method, request.params ?? {}, caller));
  };
  return server;
}

function askingByRound({ key }: Session, mcpReq: ServerContext['mcpReq']): Asking {
  const { capabilities } = clientOf(mcpReq);
  const answers = mcpReq.inputResponses ?? {};
  const state = mcpReq.requestState();
  if (state === undefined) return { by: 'round', capabilities, answers };
  const waiting = readState(key, state);
  return { by: 'round', capabilities, answers, ...('task' in waiting && { taskId: waiting.task }) };
}
