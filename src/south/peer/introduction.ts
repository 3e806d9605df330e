import type { ClientCapabilities } from '@modelcontextprotocol/client';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LATEST_WITH_SESSIONS,
  MODERN_VERSION,
  VERSION_KEY,
  SESSION_VERSIONS,
} from '../../lib/protocol.ts';
import { SignInRequired } from '../../core/sign-in/required.ts';
import { UNSUPPORTED_VERSION } from '../../lib/rpc-error.ts';
import { ServerFailure } from '../../lib/server-failure.ts';
import { isObject } from '../../lib/values.ts';
import { errorObjectIn, HttpRefusal } from '../transport/http-refusal.ts';
import { ConnectionClosed, ErrorResponse, RequestTimeout } from './errors.ts';
import type { Introduction, Peer } from './peer.ts';

export interface IntroductionOptions {
  client: { name: string; version: string };
  capabilities: ClientCapabilities;
  timeoutMs: number;
  /** How long a server may take to answer the version probe. */
  probeMs: number;
  /** The server is known to have sessions. */
  knownOld: boolean;
  /** The server is a child process: if it does not answer the probe, it counts as legacy. */
  isChild: boolean;
}

/** The version probe got no answer. */
export class ProbeFailed extends Error {}

/** Negotiates with the server: without a session if the server supports that, otherwise with `initialize`. */
export async function introduce(peer: Peer, options: IntroductionOptions): Promise<Introduction> {
  const discovered = options.knownOld ? undefined : await discover(peer, options);
  if (discovered === undefined) return initialize(peer, options);
  peer.useProtocol(MODERN_VERSION, (meta) => enveloped(options, meta));
  return { protocolVersion: MODERN_VERSION, result: discovered };
}

async function initialize(peer: Peer, { client, capabilities, timeoutMs }: IntroductionOptions): Promise<Introduction> {
  const params = { protocolVersion: LATEST_WITH_SESSIONS, capabilities, clientInfo: client };
  const result = await peer.request('initialize', params, { timeoutMs });
  const { protocolVersion, capabilities: offered, serverInfo } = result;
  if (typeof protocolVersion !== 'string' || !isObject(offered) || !isNamed(serverInfo)) {
    throw new ServerFailure('other', "the server's answer to initialize lacks its version, capabilities or name");
  }
  if (!SESSION_VERSIONS.includes(protocolVersion)) {
    throw new ServerFailure('other', `Server's protocol version is not supported: ${protocolVersion}`);
  }
  peer.useProtocol(protocolVersion);
  await peer.notify('notifications/initialized');
  return { protocolVersion, result };
}

/** The `server/discover` result of a modern server; `undefined` for a legacy server. */
async function discover(peer: Peer, options: IntroductionOptions): Promise<Record<string, unknown> | undefined> {
  const params = { _meta: enveloped(options, {}) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await peer.request('server/discover', params, { timeoutMs: options.probeMs, mayAsk: true });
      return isDiscovery(result) && result.supportedVersions.includes(MODERN_VERSION) ? result : undefined;
    } catch (error) {
      const refused = toErrorResponse(error);
      if (refused === undefined) {
        if (error instanceof RequestTimeout && options.isChild) return undefined;
        throw probeFailure(error);
      }
      const supported = refused.code === UNSUPPORTED_VERSION ? versionsIn(refused.data) : [];
      const isModern = supported.some((version) => version >= MODERN_VERSION);
      if (!isModern) return undefined;
      // It claims to support this version after all: try once more.
      if (!supported.includes(MODERN_VERSION) || attempt > 1) throw refused;
    }
  }
}

/** The error that answers the probe; `undefined` if there was no answer, or none that reveals the protocol version. */
function toErrorResponse(error: unknown): ErrorResponse | undefined {
  if (error instanceof ErrorResponse) return error;
  if (!(error instanceof HttpRefusal) || error.isDenial || error.status >= 500) return undefined;
  const said = errorObjectIn(error.text);
  return new ErrorResponse(Number(said?.['code'] ?? 0), error.message, said?.['data']);
}

function probeFailure(error: unknown): Error {
  if (error instanceof RequestTimeout || error instanceof SignInRequired) return error;
  if (error instanceof HttpRefusal) return error.toAnyRequest();
  return new ProbeFailed('the protocol version is unknown', {
    cause: error instanceof ConnectionClosed ? undefined : error,
  });
}

/** The `_meta` of a request that introduces the client; what the request says itself counts. */
function enveloped(
  { client, capabilities }: IntroductionOptions,
  meta: Record<string, unknown>,
): Record<string, unknown> {
  return {
    [VERSION_KEY]: MODERN_VERSION,
    [CLIENT_INFO_KEY]: client,
    [CLIENT_CAPABILITIES_KEY]: capabilities,
    ...meta,
  };
}

function isDiscovery(result: Record<string, unknown>): result is { supportedVersions: unknown[] } {
  return Array.isArray(result['supportedVersions']) && isObject(result['capabilities']);
}

function versionsIn(data: unknown): string[] {
  const supported = isObject(data) ? data['supported'] : undefined;
  return Array.isArray(supported) && supported.every((version) => typeof version === 'string') ? supported : [];
}

function isNamed(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string';
}
