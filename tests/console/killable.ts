/** The program on a port and a store of its own, so that it can be killed and started again. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { PROGRAM, temporaryFolder } from '../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../support/hub.ts';
import { startProgram } from '../support/program.ts';

export interface Killable {
  folder: string;
  gateway: { console: { url: string; key: string } };
  hub: HubClient;
  kill(): Promise<unknown>;
}

interface Launch {
  url: string;
  key: string;
  pid: number;
}

export async function startKillable(server: string, port: number, known?: string): Promise<Killable> {
  const folder = known ?? (await temporaryFolder());
  const store = join(folder, 'store.db');
  const config = join(folder, 'meanwhile.json');
  await writeFile(config, JSON.stringify({ mcpServers: { office: { url: server } }, meanwhile: { port, store } }));
  const { child, exited } = await startProgram(['serve', '--config', config], { program: PROGRAM });
  const file = `${store}.console.json`;
  const launch = await vi.waitFor(
    async () => {
      if (!existsSync(file)) throw new Error('the gateway has not started');
      const read = JSON.parse(await readFile(file, 'utf8')) as Launch;
      if (read.pid !== child.pid) throw new Error('this is of the gateway that was killed');
      return read;
    },
    { timeout: 15_000, interval: 50 },
  );
  return {
    folder,
    gateway: { console: launch },
    hub: await hubOverHttp(new URL('/mcp', launch.url).href),
    kill: async () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
