/** What sessions cost that were used and are still open: memory for each, and CPU time for the calls of another one. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Child, PROGRAM, type Memory } from './child.ts';
import { measureLanes, type Lane } from './lanes.ts';
import { LoadClient, runLoad, type Load } from './load.ts';

const SESSIONS = 10_000;
const AT_ONCE = 16;
const WARM_UP_MS = 2000;
const REST_MS = 1000;
/** How often the gateway pings the server of a session. */
const PING_MS = 30_000;
/** The ratio is close to its target, and two gateways are soon measured: many rounds make it certain. */
const ROUNDS = 128;

export interface ManySessions {
  sessions: number;
  before: Memory;
  after: Memory;
  /** CPU time of a call, round by round, with only its own session open, and with all of them. */
  aloneCpuMs: number[];
  amongCpuMs: number[];
}

/** The calls are measured in turns with those of another gateway, which has no other session open. */
export async function measureManySessions(folder: string, origin: string): Promise<ManySessions> {
  const gateways = { alone: await startGateway(folder, origin), among: await startGateway(folder, origin) };
  const open = async (path: keyof typeof gateways): Promise<Lane<keyof typeof gateways>> => {
    const child = gateways[path];
    const client = new LoadClient({ url: await child.url, era: 'legacy', server: 'legacy' });
    await client.open();
    await warmUp(client);
    return { path, era: 'legacy', client, child };
  };
  try {
    const lanes = [await open('alone'), await open('among')];
    const before = await gateways.among.memory();
    const began = performance.now();
    await useSessions(await gateways.among.url);
    await delay(REST_MS);
    const after = await gateways.among.memory();
    // That forced a full collection, which also discards compiled code: the other gateway gets one, too.
    await gateways.alone.memory();
    for (const { client } of lanes) await warmUp(client);
    // Their pings are a part of what they cost.
    await delay(Math.max(0, began + PING_MS - performance.now()));
    const [alone = [], among = []] = (await measureLanes(lanes, [16], ROUNDS)).map(({ cpuMsPerCall }) => cpuMsPerCall);
    for (const { client } of lanes) client.close();
    return { sessions: SESSIONS, before, after, aloneCpuMs: alone, amongCpuMs: among };
  } finally {
    // They would end each session with its server first.
    await Promise.all(Object.values(gateways).map((gateway) => gateway.stop('SIGKILL')));
  }
}

async function warmUp(client: Load): Promise<void> {
  await runLoad(client, 16, WARM_UP_MS);
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
