/** The ways in which a server runs a call: four, each over HTTP and as a program. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import type { Message, TasksOptions } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import {
  httpGateway,
  temporaryFolder,
  type Servers,
  type SettingsInput,
  type TestGateway,
} from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio, v1Stdio, v2Stdio, type StdioServerConfig } from '../../support/servers.ts';
import { settle } from '../flows/watch.ts';

export type How = 'push' | 'core task' | 'rounds' | 'extension task';

export interface Started {
  config: Servers[string];
  /** Labels of the calls whose end the server was told to hasten. */
  cancelled: () => Promise<string[]>;
}

export interface Way {
  how: How;
  door: 'http' | 'stdio';
  start: () => Promise<Started>;
}

const STARTS: Record<How, { http: () => Promise<Http>; stdio: (env: Record<string, string>) => StdioServerConfig }> = {
  push: { http: startV1Http, stdio: v1Stdio },
  'core task': { http: startTasksV1Http, stdio: tasksV1Stdio },
  rounds: {
    http: () => startV2Http({ era: 'modern' }),
    stdio: (env) => v2Stdio({ TEST_MODERN_ONLY: '1', ...env }),
  },
  'extension task': { http: startTasksV2Http, stdio: tasksV2Stdio },
};

interface Http {
  url: string;
  state: { cancelled: string[] };
  close(): Promise<void>;
}

export const WAYS: readonly Way[] = (Object.keys(STARTS) as How[]).flatMap((how) => [
  {
    how,
    door: 'http' as const,
    start: async () => {
      const { url, state } = owned(await STARTS[how].http());
      return { config: { url }, cancelled: async () => state.cancelled };
    },
  },
  {
    how,
    door: 'stdio' as const,
    start: async () => {
      const record = await newRecord();
      return { config: STARTS[how].stdio({ TEST_RECORD: record.file }), cancelled: record.cancelled };
    },
  },
]);

export interface Recording {
  file: string;
  cancelled: () => Promise<string[]>;
  received: () => Promise<Message[]>;
}

/** What a server as a program writes down. */
export async function newRecord(): Promise<Recording> {
  const file = join(await temporaryFolder(), 'record');
  const notes = async (): Promise<{ received?: Message; cancelled?: string }[]> => {
    if (!existsSync(file)) return [];
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as { received?: Message; cancelled?: string });
  };
  return {
    file,
    cancelled: async () => (await notes()).flatMap(({ cancelled }) => cancelled ?? []),
    received: async () => (await notes()).flatMap(({ received }) => received ?? []),
  };
}

export interface Behind extends Started {
  hub: HubClient;
  running: TestGateway;
}

/** A gateway with that server as `one`, and a client that is connected with it. */
export async function behind(way: Way, settings: SettingsInput = {}): Promise<Behind> {
  const started = await way.start();
  const running = await httpGateway({ one: started.config }, settings);
  const hub = await hubOverHttp(running.url);
  await settle(hub);
  return { ...started, hub, running };
}

/** Servers that keep tasks, as those who look into them need them. */
export const KEEPERS = [
  { how: 'core task' as const, start: async (options?: TasksOptions) => owned(await startTasksV1Http(options)) },
  { how: 'extension task' as const, start: async (options?: TasksOptions) => owned(await startTasksV2Http(options)) },
];
