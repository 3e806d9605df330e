/** A server of each kind for as long as the soak takes: over HTTP in this process, and as a program. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import type { ServerKind } from '../../tests/e2e/direct/matrix/cells.ts';
import type { Door } from '../../tests/e2e/direct/matrix/drivers.ts';
import { startTasksV1Http } from '../../tests/servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../tests/servers/tasks-v2-http.ts';
import { requestsOf } from '../../tests/servers/tasks/state.ts';
import { startV1Http } from '../../tests/servers/v1-http.ts';
import { startV2Http } from '../../tests/servers/v2-http.ts';
import { bundleProgram } from '../../tests/support/bundle-program.ts';
import { sourcePath, type BundledServer } from '../../tests/support/servers.ts';

export interface SoakServers {
  configs: Record<string, ServerConfig>;
  /** Of the servers over HTTP: how many of their tasks are still at work. */
  unfinished(): number;
  /** Waits until a server over HTTP has a call of `slow` with this text. */
  called(kind: ServerKind, text: string): Promise<void>;
  /** Waits until it was told to stop that call. */
  cancelled(kind: ServerKind, text: string): Promise<void>;
  /** Forgets what was written down so far: it is for tests that end soon. */
  forget(): void;
  close(): Promise<void>;
}

const PROGRAMS: Record<ServerKind, BundledServer> = {
  plain: 'v1-stdio',
  pushes: 'v1-stdio',
  tasks: 'tasks-v1-stdio',
  rounds: 'v2-stdio',
  extension: 'tasks-v2-stdio',
};
const LOOK_MS = 20;

export const nameOf = (kind: ServerKind, door: Door): string => `${kind}-${door}`;

/** The programs are in the folder, so that their processes can be told from those of anybody else. */
export async function startServers(folder: string): Promise<SoakServers> {
  const [plain, pushes, tasks, rounds, extension] = await Promise.all([
    startV1Http(),
    startV1Http(),
    startTasksV1Http(),
    startV2Http({ era: 'modern' }),
    startTasksV2Http(),
  ]);
  const http = { plain, pushes, tasks, rounds, extension };
  const configs: Record<string, ServerConfig> = {};
  for (const [kind, { url }] of Object.entries(http)) configs[nameOf(kind as ServerKind, 'http')] = { url };
  for (const [kind, program] of Object.entries(PROGRAMS)) {
    const file = join(folder, `${program}.cjs`);
    await bundleProgram(sourcePath(program), file);
    const env = { TEST_MODERN_ONLY: '1' };
    configs[nameOf(kind as ServerKind, 'stdio')] = { command: process.execPath, args: [file], env };
  }
  return {
    configs,
    unfinished: () =>
      tasks.state.working.size + [...extension.state.tasks.values()].filter(({ hasEnded }) => !hasEnded).length,
    called: (kind, text) =>
      until(() => {
        const { state } = http[kind];
        const calls = 'calls' in state ? state.calls.map(({ args }) => args) : requestsOf(state, 'tools/call');
        return JSON.stringify(calls).includes(JSON.stringify(text));
      }),
    cancelled: (kind, text) => until(() => http[kind].state.cancelled.includes(`slow:${text}`)),
    forget: () => {
      for (const { state } of [plain, pushes, rounds]) state.calls.length = 0;
      for (const { state } of [tasks, extension]) state.received.length = 0;
      for (const { state } of Object.values(http)) {
        state.cancelled.length = 0;
        state.errors.length = 0;
      }
    },
    close: async () => {
      await Promise.all(Object.values(http).map((server) => server.close()));
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(LOOK_MS);
}
