import type { EventReader } from '../core/event/reader.ts';
import type { Gateway } from '../core/gateway.ts';
import type { Session } from '../core/session/session.ts';
import { VERSION } from '../lib/version.ts';
import type { Carrier } from './carrier.ts';
import { replyWhenStored } from './commit-gate.ts';
import type { ModernCall, ModernEndpoint } from './modern/endpoint.ts';
import { readState } from './mrtr/request-state.ts';
import { observed } from './observed.ts';
import { ClientPeer, type LegacyEndpoint } from './peer.ts';
import { HUB_CAPABILITIES, HUB_INSTRUCTIONS } from './hub/about.ts';
import type { Hub } from './hub/hub.ts';
import type { Asking } from './hub/tool.ts';

/** The `serverInfo` of the hub. */
export const HUB_INFO = { name: 'meanwhile', title: 'Meanwhile', version: VERSION };
const INTRODUCTION = { capabilities: HUB_CAPABILITIES, instructions: HUB_INSTRUCTIONS };

interface HubParts {
  hub: Hub;
  session: Session;
  mayRunCommands: boolean;
}

/** Shows the hub to a client with a session. */
export function hubPeer(parts: HubParts & { gateway: Gateway; carrier: Carrier }): ClientPeer {
  const { hub, gateway, session, carrier, mayRunCommands } = parts;
  const endpoint: LegacyEndpoint = {
    introduce: (protocolVersion) => ({ ...INTRODUCTION, protocolVersion, serverInfo: HUB_INFO }),
    handle: (request) => {
      const { id, method, params: given, exchange } = request;
      const capabilities = session.client?.capabilities ?? {};
      const asking: Asking = { by: 'request', capabilities, peer, on: id };
      const caller = { session, exchange, mayRunCommands, asking, facts: session.access?.facts };
      return observed(session, request, given, (params) =>
        replyWhenStored(session, () => hub.handle(method, params, caller)),
      );
    },
    onNotification: () => {},
  };
  const peer = new ClientPeer(carrier, endpoint, {
    onCancel: hub.settings.calls.onCancel,
    clock: session.clock,
    onMistake: (error) => gateway.log.debug('client_protocol_error', { error }),
  });
  return peer;
}

/** The hub for a client without sessions. `reader`: the reader of the events, if the session has several. */
export function modernHub(parts: HubParts & { reader?: EventReader | undefined }): ModernEndpoint {
  const { hub, session, mayRunCommands, reader } = parts;
  return {
    serverInfo: HUB_INFO,
    introduce: () => INTRODUCTION,
    handle: (call) => {
      const { exchange, method } = call.request;
      const asking = askingByRound(session, call);
      const caller = { session, exchange, mayRunCommands, reader, asking, facts: session.access?.facts };
      return observed(session, call.request, call.params, (params) =>
        replyWhenStored(session, () => hub.handle(method, params, caller)),
      );
    },
    onNotification: () => {},
  };
}

/** How the client of a request without a session is asked. */
export function askingByRound({ key }: Session, { client: { capabilities }, state, answers = {} }: ModernCall): Asking {
  if (state === undefined) return { by: 'round', capabilities, answers };
  const waiting = readState(key, state);
  return { by: 'round', capabilities, answers, ...('task' in waiting && { taskId: waiting.task }) };
}
