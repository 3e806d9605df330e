/** What a client sees of the server before it: the server's own words, and that calls can be tasks. */

import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import type { ServerInfo } from '../../core/ports.ts';
import { isObject } from '../../lib/values.ts';
import { TASKS_EXTENSION } from '../modern-client.ts';

type Params = Record<string, unknown>;

export interface Face {
  implementation: { name: string; version: string; [field: string]: unknown };
  capabilities: Params;
  instructions?: string;
  /** What else the server says when it is met, in the words of the client's era. */
  more: Params;
}

const CORE_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** Whether the server said that it tells of changes of this kind of list. */
export function tellsChanges({ capabilities }: ServerInfo, kind: string): boolean {
  const offered = capabilities[kind];
  return isObject(offered) && offered['listChanged'] === true;
}

/** For clients that begin with `initialize`. */
export function sessionFace(server: string, info: ServerInfo): Face {
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

/** For clients without sessions. */
export function requestFace(server: string, info: ServerInfo): Face {
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

function shared(server: string, { implementation, instructions }: ServerInfo): Omit<Face, 'capabilities' | 'more'> {
  return {
    implementation: implementation ?? { name: server, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
}

/** Without what only `server/discover` says. */
function withoutDiscovery(result: Params): Params {
  const { supportedVersions: _versions, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = result;
  const { [SERVER_INFO_META_KEY]: _info, ...meta } = isObject(_meta) ? _meta : {};
  return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

/** Without what only `initialize` says. */
function withoutInitialization({ protocolVersion: _version, serverInfo: _info, ...rest }: Params): Params {
  return rest;
}
