import type { Client } from '@modelcontextprotocol/client';
import type { ServerInfo } from '../core/ports.ts';
import { LATEST_WITH_SESSIONS } from './dial.ts';
import { GENERATION_DATES, taskOffer, type TaskOffer } from './server-task.ts';

/** What a server can do whose session somebody left to be gone on with: it keeps tasks. */
const WORTH_KEEPING = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

export function offerOf(client: Client): TaskOffer | undefined {
  return taskOffer(client.getProtocolEra() === 'modern', capabilitiesOf(client));
}

/** What a connected server told about itself. */
export function infoOf(client: Client): ServerInfo {
  const offer = offerOf(client);
  const implementation = client.getServerVersion();
  const instructions = client.getInstructions();
  return {
    era: client.getProtocolEra() ?? 'legacy',
    protocolVersion: client.getNegotiatedProtocolVersion() ?? LATEST_WITH_SESSIONS,
    capabilities: capabilitiesOf(client),
    ...(offer && { tasks: { ...offer, generation: GENERATION_DATES[offer.generation] } }),
    ...(implementation && { implementation: { ...implementation } }),
    ...(instructions !== undefined && { instructions }),
  };
}

function capabilitiesOf(client: Client): Record<string, unknown> {
  return { ...(client.getServerCapabilities() ?? WORTH_KEEPING) };
}
