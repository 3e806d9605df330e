/** The servers that a client may meet: with tasks of either generation and without, over HTTP and as programs. */
import type { ServerConfig } from '../../../src/client/index.ts';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import type { Message } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { owned } from '../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio, v1Stdio, v2Stdio } from '../../support/servers.ts';
import { newRecord } from '../native/ways.ts';

export type Tasks = '2025-11-25' | '2026-07-28' | 'none';

export interface Server {
  config: ServerConfig;
  /** Labels of the calls that were cancelled before their end. */
  cancelled: () => Promise<string[]>;
}

/** One that keeps tasks can also tell what was said to it. */
export interface TaskServer extends Server {
  received: () => Promise<Message[]>;
}

/** One without tasks can tell which tools were called. */
export interface PlainServer extends Server {
  called: () => Promise<string[]>;
}

export interface Meeting<S extends Server = Server> {
  tasks: Tasks;
  door: 'HTTP' | 'stdio';
  start: () => Promise<S>;
}

type Env = Record<string, string>;

async function program(configOf: (env: Env) => ServerConfig): Promise<TaskServer> {
  const { file, cancelled, received } = await newRecord();
  return { config: configOf({ TEST_RECORD: file }), cancelled, received };
}

export const WITH_TASKS: readonly (Meeting<TaskServer> & { tasks: Exclude<Tasks, 'none'> })[] = [
  {
    tasks: '2025-11-25',
    door: 'HTTP',
    start: async () => {
      const { url, state } = owned(await startTasksV1Http());
      return taskServer(url, state);
    },
  },
  { tasks: '2025-11-25', door: 'stdio', start: () => program(tasksV1Stdio) },
  {
    tasks: '2026-07-28',
    door: 'HTTP',
    start: async () => {
      const { url, state } = owned(await startTasksV2Http());
      return taskServer(url, state);
    },
  },
  { tasks: '2026-07-28', door: 'stdio', start: () => program(tasksV2Stdio) },
];

function taskServer(url: string, state: { cancelled: string[]; received: { message: Message }[] }): TaskServer {
  return {
    config: { url },
    cancelled: async () => state.cancelled,
    received: async () => state.received.map(({ message }) => message),
  };
}

function plainServer(url: string, state: { cancelled: string[]; calls: { tool: string }[] }): PlainServer {
  return {
    config: { url },
    cancelled: async () => state.cancelled,
    called: async () => state.calls.map(({ tool }) => tool),
  };
}

export const WITHOUT_TASKS: readonly (Meeting<Server | PlainServer> & { era: 'legacy' | 'modern' })[] = [
  {
    era: 'legacy',
    tasks: 'none',
    door: 'HTTP',
    start: async () => {
      const { url, state } = owned(await startV1Http());
      return plainServer(url, state);
    },
  },
  { era: 'legacy', tasks: 'none', door: 'stdio', start: () => program(v1Stdio) },
  {
    era: 'modern',
    tasks: 'none',
    door: 'HTTP',
    start: async () => {
      const { url, state } = owned(await startV2Http({ era: 'modern' }));
      return plainServer(url, state);
    },
  },
  {
    era: 'modern',
    tasks: 'none',
    door: 'stdio',
    start: () => program((env) => v2Stdio({ TEST_MODERN_ONLY: '1', ...env })),
  },
];

export const ALL: readonly (Meeting<Server | PlainServer> & { era: 'legacy' | 'modern' })[] = [
  ...WITH_TASKS.map((each) => ({
    ...each,
    era: each.tasks === '2025-11-25' ? ('legacy' as const) : ('modern' as const),
  })),
  ...WITHOUT_TASKS,
];

/** The requests of that method that a server got. */
export async function requestsTo({ received }: TaskServer, method: string): Promise<Message[]> {
  return (await received()).filter((message) => message.method === method);
}
