import type { ServerInfo, ServerTraits } from '../core/ports/connection.ts';
import { isObject } from '../lib/values.ts';
import { metaOf } from '../lib/meta.ts';
import { LATEST_WITH_SESSIONS, SERVER_INFO_KEY } from '../lib/protocol.ts';
import type { Peer } from './peer/peer.ts';
import { GENERATION_DATES, taskOffer, type TaskOffer } from './server-task.ts';

const WITH_SESSIONS: ServerTraits = { sessions: true, asksInRounds: false, declaredPerRequest: false };
const STATELESS: ServerTraits = { sessions: false, asksInRounds: true, declaredPerRequest: true };

/** The assumed capabilities of a server in a resumed session: such sessions are kept for tasks. */
const WORTH_KEEPING = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

export function offerOf(peer: Peer): TaskOffer | undefined {
  return taskOffer(peer.isModern, capabilitiesOf(peer));
}

/** The information about a connected server. */
export function infoOf(peer: Peer): ServerInfo {
  const { introduction } = peer;
  const offer = offerOf(peer);
  const implementation = implementationOf(peer);
  const instructions = introduction?.result['instructions'];
  return {
    traits: peer.isModern ? STATELESS : WITH_SESSIONS,
    protocolVersion: introduction?.protocolVersion ?? LATEST_WITH_SESSIONS,
    capabilities: capabilitiesOf(peer),
    ...(offer && { tasks: { ...offer, generation: GENERATION_DATES[offer.generation] } }),
    ...(implementation && { implementation }),
    ...(typeof instructions === 'string' && { instructions }),
    ...(introduction && { initializeResult: introduction.result }),
  };
}

export function capabilitiesOf({ introduction }: Peer): Record<string, unknown> {
  const capabilities = introduction?.result['capabilities'];
  return isObject(capabilities) ? capabilities : WORTH_KEEPING;
}

function implementationOf({ introduction, isModern }: Peer): ServerInfo['implementation'] {
  const { result = {} } = introduction ?? {};
  const said = isModern ? metaOf(result)[SERVER_INFO_KEY] : result['serverInfo'];
  if (!isObject(said)) return undefined;
  const { name, version } = said;
  return typeof name === 'string' && typeof version === 'string' ? { ...said, name, version } : undefined;
}
