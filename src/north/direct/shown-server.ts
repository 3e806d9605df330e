/** One server as its clients meet it: what it says of itself, in the words of the client's era, and that calls can be tasks. */

import { SERVER_INFO_META_KEY, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { GatewayError } from '../../core/errors.ts';
import type { Connection, ServerInfo } from '../../core/ports.ts';
import { messageOf } from '../../lib/log.ts';
import { AmendedServer } from '../../lib/sdk/amended-server.ts';
import { withoutMeta } from '../../lib/meta.ts';
import { isObject } from '../../lib/values.ts';
import { TASKS_EXTENSION } from '../../lib/protocol.ts';

type Params = Record<string, unknown>;

/** The first version of the protocol that has tasks. */
export const TASKS_SINCE = '2025-11-25';

interface Introduction {
  implementation: { name: string; version: string; [field: string]: unknown };
  capabilities: Params;
  instructions?: string;
  /** The other fields of the result of `initialize` or `server/discover`. */
  more: Params;
}

const CORE_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** A protocol object that introduces itself as the server behind it does. */
export class ShownServer extends AmendedServer {
  readonly #more: Params;

  constructor(
    { implementation, capabilities, instructions, more }: Introduction,
    versions = SUPPORTED_PROTOCOL_VERSIONS,
  ) {
    super(implementation, {
      capabilities,
      supportedProtocolVersions: versions,
      ...(instructions !== undefined && { instructions }),
    });
    this.#more = more;
  }

  protected override amend(introduction: Params): Params {
    return asOfItsVersion({ ...this.#more, ...introduction });
  }
}

/** A client may insist on an older version of the protocol, which has no tasks. */
function asOfItsVersion(introduction: Params): Params {
  const { protocolVersion, capabilities } = introduction;
  if (typeof protocolVersion !== 'string' || protocolVersion >= TASKS_SINCE || !isObject(capabilities))
    return introduction;
  const { tasks: _tasks, ...others } = capabilities;
  return { ...introduction, capabilities: others };
}

/** What the server says of itself, once it is connected. */
export async function serverInfo(server: string, connection: Connection): Promise<ServerInfo> {
  return connection.ready().catch((error: unknown) => {
    const message = `server '${server}' cannot be reached: ${messageOf(error)}`;
    throw new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', message);
  });
}

/** Whether the server announced notifications about changes of this kind of list. */
export function tellsChanges({ capabilities }: ServerInfo, kind: string): boolean {
  const offered = capabilities[kind];
  return isObject(offered) && offered['listChanged'] === true;
}

/** The introduction to clients that begin with `initialize`. */
export function legacyIntroduction(server: string, info: ServerInfo): Introduction {
  const { extensions, tasks: _tasks, ...capabilities } = info.capabilities;
  const { [TASKS_EXTENSION]: _extension, ...others } = isObject(extensions) ? extensions : {};
  return {
    ...shared(server, info),
    capabilities: {
      ...capabilities,
      ...(Object.keys(others).length > 0 && { extensions: others }),
      ...(capabilities['tools'] !== undefined && { tasks: CORE_TASKS }),
    },
    more: info.traits.sessions ? { ...info.initializeResult } : withoutDiscovery(info.initializeResult ?? {}),
  };
}

/** The introduction to clients without sessions. */
export function modernIntroduction(server: string, info: ServerInfo): Introduction {
  const { extensions, tasks: _tasks, ...capabilities } = info.capabilities;
  const offered = {
    ...(isObject(extensions) && extensions),
    ...(capabilities['tools'] !== undefined && { [TASKS_EXTENSION]: {} }),
  };
  return {
    ...shared(server, info),
    capabilities: { ...capabilities, ...(Object.keys(offered).length > 0 && { extensions: offered }) },
    more: info.traits.sessions ? withoutInitialization(info.initializeResult ?? {}) : { ...info.initializeResult },
  };
}

function shared(
  server: string,
  { implementation, instructions }: ServerInfo,
): Omit<Introduction, 'capabilities' | 'more'> {
  return {
    implementation: implementation ?? { name: server, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
}

/** Without what only `server/discover` says. */
function withoutDiscovery(result: Params): Params {
  const { supportedVersions: _versions, ttlMs: _ttl, cacheScope: _scope, ...rest } = result;
  return withoutMeta(rest, SERVER_INFO_META_KEY);
}

/** Without what only `initialize` says. */
function withoutInitialization({ protocolVersion: _version, serverInfo: _info, ...rest }: Params): Params {
  return rest;
}
