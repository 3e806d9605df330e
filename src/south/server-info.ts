import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/client';
import type { ServerInfo, ServerTraits } from '../core/ports.ts';
import { isObject } from '../lib/values.ts';
import { LATEST_WITH_SESSIONS } from '../lib/protocol.ts';
import type { ExactClient } from '../lib/sdk/exact-client.ts';
import { GENERATION_DATES, taskOffer, type TaskOffer } from './server-task.ts';

const WITH_SESSIONS: ServerTraits = { sessions: true, asksInRounds: false, declaredPerRequest: false };
const STATELESS: ServerTraits = { sessions: false, asksInRounds: true, declaredPerRequest: true };

/** The assumed capabilities of a server in a resumed session: such sessions are kept for tasks. */
const WORTH_KEEPING = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

export function offerOf(client: ExactClient): TaskOffer | undefined {
  return taskOffer(client.isModern, capabilitiesOf(client));
}

/** How a connected server introduced itself. */
export function infoOf(client: ExactClient): ServerInfo {
  // Every result has a type; it does not describe the server.
  const { resultType: _resultType, ...initializeResult } = client.initializeResult ?? {};
  const offer = offerOf(client);
  const implementation = implementationOf(client);
  // The client of a resumed session was not introduced itself.
  const instructions = client.getInstructions() ?? text(initializeResult['instructions']);
  return {
    traits: client.isModern ? STATELESS : WITH_SESSIONS,
    protocolVersion:
      client.getNegotiatedProtocolVersion() ?? text(initializeResult['protocolVersion']) ?? LATEST_WITH_SESSIONS,
    capabilities: capabilitiesOf(client),
    ...(offer && { tasks: { ...offer, generation: GENERATION_DATES[offer.generation] } }),
    ...(implementation && { implementation }),
    ...(instructions !== undefined && { instructions }),
    ...(client.initializeResult && { initializeResult }),
  };
}

// The SDK has validated these, and has dropped the fields that it does not know.

function capabilitiesOf(client: ExactClient): Record<string, unknown> {
  const capabilities = client.initializeResult?.['capabilities'];
  return { ...(isObject(capabilities) ? capabilities : (client.getServerCapabilities() ?? WORTH_KEEPING)) };
}

function implementationOf(client: ExactClient): ServerInfo['implementation'] {
  const { serverInfo, _meta } = client.initializeResult ?? {};
  const known = client.getServerVersion() ?? named(serverInfo);
  if (known === undefined) return undefined;
  const said = client.isModern && isObject(_meta) ? _meta[SERVER_INFO_META_KEY] : serverInfo;
  return { ...(isObject(said) ? said : known), name: known.name, version: known.version };
}

function named(serverInfo: unknown): { name: string; version: string } | undefined {
  if (!isObject(serverInfo)) return undefined;
  const { name, version } = serverInfo;
  return typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
