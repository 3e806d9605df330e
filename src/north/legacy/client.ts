import { SUPPORTED_PROTOCOL_VERSIONS, type InitializeRequest } from '@modelcontextprotocol/server';
import type { ClientRecord } from '../../core/session/kind.ts';

/** The first version whose clients expect events with an id and no content at the start of a stream. */
const EMPTY_EVENTS_SINCE = '2025-11-25';

/** What `initialize` says about the client, with the protocol version that the answer will agree on. */
export function clientRecord({ params }: InitializeRequest): ClientRecord {
  const { protocolVersion, capabilities, clientInfo } = params;
  return { protocolVersion: negotiated(protocolVersion), capabilities, program: clientInfo.name };
}

export function understandsEmptyEvents(client: ClientRecord | undefined): boolean {
  return client !== undefined && client.protocolVersion >= EMPTY_EVENTS_SINCE;
}

/** The rule of the SDK, which answers the request: the requested version if it is supported, else the newest one. */
function negotiated(requested: string): string {
  const [newest = requested] = SUPPORTED_PROTOCOL_VERSIONS;
  return SUPPORTED_PROTOCOL_VERSIONS.includes(requested) ? requested : newest;
}
