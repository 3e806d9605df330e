/** A server of each kind, over HTTP and as a program, and what a test can see of it. The test owns it. */
import type { ServerConfig } from '../../../../src/core/ports/server-config.ts';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf, type Message } from '../../../servers/tasks/state.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio, v1Stdio, v2Stdio, type StdioServerConfig } from '../../../support/servers.ts';
import { newRecord } from '../../native/ways.ts';
import type { ServerKind } from './cells.ts';
import type { Door } from './drivers.ts';

export interface ServerCall {
  tool: string;
  args: Json;
}

export interface MatrixServer {
  config: ServerConfig;
  /** All calls that came, each round of one by itself. */
  calls: () => Promise<ServerCall[]>;
  /** Labels of the calls that it was told to stop. */
  cancelled: () => Promise<string[]>;
  /** How many of its tasks work, and how many listen to them; nobody can tell of a program. */
  unfinished: () => number;
}

export async function startServer(kind: ServerKind, door: Door): Promise<MatrixServer> {
  return door === 'http' ? HTTP[kind]() : asProgram(PROGRAMS[kind]);
}

const HTTP: Record<ServerKind, () => Promise<MatrixServer>> = {
  plain: v1,
  pushes: v1,
  tasks: async () => {
    const { url, state } = owned(await startTasksV1Http());
    return {
      config: { url },
      calls: async () => callsIn(requestsOf(state, 'tools/call')),
      cancelled: async () => state.cancelled,
      unfinished: () => state.working.size,
    };
  },
  rounds: async () => {
    const { url, state } = owned(await startV2Http({ era: 'modern' }));
    const { calls, cancelled } = state;
    return { config: { url }, calls: async () => calls, cancelled: async () => cancelled, unfinished: () => 0 };
  },
  extension: async () => {
    const { url, state } = owned(await startTasksV2Http());
    return {
      config: { url },
      calls: async () => callsIn(requestsOf(state, 'tools/call')),
      cancelled: async () => state.cancelled,
      unfinished: () => [...state.tasks.values()].filter(({ hasEnded }) => !hasEnded).length + state.listeners.size,
    };
  },
};

async function v1(): Promise<MatrixServer> {
  const { url, state } = owned(await startV1Http());
  const { calls, cancelled } = state;
  return { config: { url }, calls: async () => calls, cancelled: async () => cancelled, unfinished: () => 0 };
}

const PROGRAMS: Record<ServerKind, (env: Record<string, string>) => StdioServerConfig> = {
  plain: v1Stdio,
  pushes: v1Stdio,
  tasks: tasksV1Stdio,
  rounds: (env) => v2Stdio({ TEST_MODERN_ONLY: '1', ...env }),
  extension: tasksV2Stdio,
};

async function asProgram(config: (env: Record<string, string>) => StdioServerConfig): Promise<MatrixServer> {
  const record = await newRecord();
  return {
    config: config({ TEST_RECORD: record.file }),
    calls: async () => callsIn((await record.received()).filter(({ method }) => method === 'tools/call')),
    cancelled: record.cancelled,
    unfinished: () => 0,
  };
}

function callsIn(requests: Message[]): ServerCall[] {
  return requests.map(({ params = {} }) => ({
    tool: String(params['name']),
    args: (params['arguments'] ?? {}) as Json,
  }));
}
