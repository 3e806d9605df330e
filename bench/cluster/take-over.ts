/** How long the work of a gateway that was killed stands still: a task that its server keeps, and that others can follow. */
import { setTimeout as delay } from 'node:timers/promises';
import { startTasksV2Http } from '../../tests/servers/tasks-v2-http.ts';
import { requestsOf } from '../../tests/servers/tasks/state.ts';
import { asCall, LoadClient } from '../load.ts';
import type { Gateways } from './gateways.ts';

export interface TakeOver {
  leaseMs: number;
  /** From the kill to the first word of another gateway to the server, slowest first. No client asks meanwhile. */
  untilMs: number[];
}

const RUNS = 3;
const LONG_MS = 600_000;
const LOOK_MS = 20;
const PATIENCE_MS = 60_000;

export async function measureTakeOver(gateways: Gateways, leaseMs: number): Promise<TakeOver> {
  const server = await startTasksV2Http();
  const followed = (): unknown[] => requestsOf(server.state, 'tasks/get').map(({ params }) => params?.['taskId']);
  const options = { servers: { ext: { url: server.url } }, settings: { cluster: { leaseMs } } };
  const untilMs: number[] = [];
  try {
    for (let run = 0; run < RUNS; run += 1) {
      const earlier = new Set(followed());
      const isOfThisRun = (id: unknown): boolean => !earlier.has(id);
      await gateways.start(options);
      const owner = await gateways.start(options);
      await startTask(owner.url);
      await until(() => followed().some(isOfThisRun));
      await owner.stop('SIGKILL');
      const killed = performance.now();
      // What it had sent before has arrived by then.
      await delay(LOOK_MS);
      const before = followed().filter(isOfThisRun).length;
      await until(() => followed().filter(isOfThisRun).length > before);
      untilMs.push(performance.now() - killed);
      await gateways.stopAll();
    }
    return { leaseMs, untilMs: untilMs.toSorted((a, b) => b - a) };
  } finally {
    await gateways.stopAll();
    await server.close();
  }
}

async function startTask(url: string): Promise<void> {
  const client = new LoadClient({ url, era: 'legacy' });
  await client.open();
  const call = { server: 'ext', tool: 'slow', args: { ms: LONG_MS }, timeout_ms: 50 };
  const { text } = await client.post(asCall(1, { name: 'execute_tool', arguments: call }, 'legacy'));
  client.close();
  if (!text.includes('proxy_task')) throw new Error(`the call did not become a task: ${text}`);
}

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !isSo(); await delay(LOOK_MS)) {
    if (Date.now() > end) throw new Error('nobody follows the task');
  }
}
