/** What a client sees of the server before it: the server's own words, and that calls can be tasks. */

import type { ServerInfo } from '../../core/ports.ts';
import { isObject } from '../../lib/values.ts';
import { TASKS_EXTENSION } from './task-views.ts';

export interface Face {
  implementation: { name: string; version: string; [field: string]: unknown };
  capabilities: Record<string, unknown>;
  instructions?: string;
}

const CORE_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

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
  };
}

function shared(server: string, { implementation, instructions }: ServerInfo): Omit<Face, 'capabilities'> {
  return {
    implementation: implementation ?? { name: server, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
}
