/** What sessions cost that were used and are still open: memory for each, and CPU time for the calls of another one. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Child, PROGRAM, type Memory } from './child.ts';
import { cellOf, leastCpu, measureCells } from './lanes.ts';
import { LoadClient, runLoad } from './load.ts';

const SESSIONS = 10_000;
const AT_ONCE = 16;
const WARM_UP_MS = 2000;
const REST_MS = 1000;

export interface ManySessions {
  sessions: number;
  before: Memory;
  after: Memory;
  /** CPU time of a call with only its own session open, and with all of them. */
  aloneCpuMs: number;
  amongCpuMs: number;
}

export async function measureManySessions(folder: string, origin: string): Promise<ManySessions> {
  const gateway = await startGateway(folder, origin);
  const url = await gateway.url;
  const client = new LoadClient({ url, era: 'legacy', server: 'legacy' });
  const cpuMsPerCall = async (): Promise<number> => {
    const [cell] = await measureCells([cellOf({ path: 'hub', era: 'legacy', client, child: gateway }, 16)]);
    return cell ? leastCpu(cell) : Number.NaN;
  };
  try {
    await client.open();
    await runLoad(client, 16, WARM_UP_MS);
    const aloneCpuMs = await cpuMsPerCall();
    const before = await gateway.memory();
    await useSessions(url);
    await delay(REST_MS);
    const after = await gateway.memory();
    return { sessions: SESSIONS, before, after, aloneCpuMs, amongCpuMs: await cpuMsPerCall() };
  } finally {
    client.close();
    // It would end each session with its server first.
    await gateway.stop('SIGKILL');
  }
}

async function useSessions(url: string): Promise<void> {
  let left = SESSIONS;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const client = new LoadClient({ url, era: 'legacy', server: 'legacy' });
      await client.open();
      await client.call();
      client.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
}

async function startGateway(folder: string, origin: string): Promise<Child> {
  const config = join(folder, 'many-sessions.json');
  const meanwhile = { port: 0, store: ':memory:', sessions: { max: SESSIONS + 1 } };
  await writeFile(config, JSON.stringify({ mcpServers: { legacy: { url: `${origin}/legacy` } }, meanwhile }));
  return new Child([PROGRAM, 'serve', '--config', config], { execArgv: ['--expose-gc'] });
}
