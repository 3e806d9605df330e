import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { createBackends } from '../../src/south/backends.ts';
import { startRichHttp } from '../servers/rich-http.ts';
import { startTasksV1Http } from '../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../servers/tasks-v2-http.ts';
import { startV1Http } from '../servers/v1-http.ts';
import { startV2Http } from '../servers/v2-http.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { defer, owned } from '../support/owned.ts';
import { portToReturnTo } from '../support/port-to-return-to.ts';
import { bundlePath, tasksV1Stdio, tasksV2Stdio, v1Stdio, v2Stdio } from '../support/servers.ts';
import { connectionContract, type ContractServer } from './connection.contract.ts';

type Era = '2025-11-25' | '2026-07-28';

const SETTINGS = {
  connectTimeoutMs: 15_000,
  pingMs: 60_000,
  pollTimeoutMs: 5000,
  messageBytes: 1_000_000,
  // The next use connects again.
  reconnect: { firstMs: 600_000, factor: 1, maxMs: 600_000, attempts: 3, stableMs: 1000 },
};
const TRAITS = { principal: 'local', addedBy: 'client' as const, roots: false, preferences: { uris: [] } };

function connector(config: ServerConfig): Pick<ContractServer, 'connect'> {
  const backends = createBackends(SETTINGS, 'any', createLog('silent'));
  return { connect: (sink) => backends.connect('one', config, sink, TRAITS) };
}

const immortal = { kill: async (): Promise<void> => {}, start: async (): Promise<void> => {} };

/** A program that writes down the id of its process at each start. */
async function program(configure: (env: Record<string, string>) => ServerConfig): Promise<ContractServer> {
  const pids = join(await temporaryFolder(), 'pids');
  return {
    ...connector(configure({ TEST_START_LOG: pids })),
    kill: async () => {
      const started = (await readFile(pids, 'utf8')).trim().split('\n');
      process.kill(Number(started.at(-1)), 'SIGKILL');
    },
    start: immortal.start,
  };
}

async function website(
  listen: (port?: number) => Promise<{ url: string; port: number; close(): Promise<void> }>,
): Promise<ContractServer> {
  let running = await listen();
  defer(() => running.close());
  const { port, url } = running;
  return {
    ...connector({ url }),
    kill: () => running.close(),
    start: async () => {
      running = await listen(port);
    },
  };
}

for (const era of ['2025-11-25', '2026-07-28'] satisfies Era[]) {
  const isLegacy = era === '2025-11-25';

  connectionContract(`stdio, ${era}`, {
    plain: async () => program((env) => (isLegacy ? v1Stdio(env) : v2Stdio({ ...env, TEST_MODERN_ONLY: '1' }))),
    talkative: async () => {
      const env = { TEST_ERA: isLegacy ? 'legacy' : 'modern' };
      return { ...immortal, ...connector({ command: process.execPath, args: [bundlePath('rich-stdio')], env }) };
    },
    withTasks: async () => ({ ...immortal, ...connector(isLegacy ? tasksV1Stdio() : tasksV2Stdio()) }),
    unreachable: async () => ({ ...immortal, ...connector({ command: '/no/such/program' }) }),
  });

  connectionContract(`HTTP, ${era}`, {
    plain: async () =>
      website(async (port) => {
        const at = port === undefined ? {} : { port };
        return isLegacy ? startV1Http(at) : startV2Http({ ...at, era: 'modern' });
      }),
    talkative: async () => {
      const { url } = owned(await startRichHttp(isLegacy ? 'legacy' : 'modern'));
      return { ...immortal, ...connector({ url }) };
    },
    withTasks: async () => {
      const { url } = owned(await (isLegacy ? startTasksV1Http() : startTasksV2Http()));
      return { ...immortal, ...connector({ url }) };
    },
    unreachable: async () => ({ ...immortal, ...connector({ url: `http://127.0.0.1:${portToReturnTo()}/mcp` }) }),
  });
}
