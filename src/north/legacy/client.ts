import type { ClientRecord } from '../../core/session/kind.ts';
import { LATEST_WITH_SESSIONS } from '../../lib/protocol.ts';
import type { Initialization } from '../client-info.ts';
import { negotiated } from '../peer.ts';

/** The first version whose clients expect events with an id and no content at the start of a stream. */
const EMPTY_EVENTS_SINCE = LATEST_WITH_SESSIONS;

/** The client described by `initialize`, with the negotiated protocol version. */
export function clientRecord({ params }: { params: Initialization }): ClientRecord {
  const { protocolVersion, capabilities, clientInfo } = params;
  return { protocolVersion: negotiated(protocolVersion), capabilities, program: clientInfo.name };
}

export function understandsEmptyEvents(client: ClientRecord | undefined): boolean {
  return client !== undefined && client.protocolVersion >= EMPTY_EVENTS_SINCE;
}
