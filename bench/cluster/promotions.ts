/** Calls that become tasks: what it takes to have them in the database before their client hears of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { LoadClient, runLoad } from '../load.ts';
import type { Gateways } from './gateways.ts';

export interface Promotions {
  /** From the time-out of the call to the reply, one at a time. */
  medianMs: number;
  /** With 64 at a time: calls that became a task, and statements that wrote them and their results. */
  perSecond: number;
  commitsPerSecond: number;
}

/** As the load has it. */
const TIMEOUT_MS = 1;
const LOAD_MS = 3000;

export async function measurePromotions(gateways: Gateways, origin: string): Promise<Promotions> {
  const servers = { legacy: { url: `${origin}/legacy` } };
  const settings = { tasks: { perSession: 1_000_000, keepMs: 3_600_000 }, events: { perSession: 1000 } };
  const gateway = await gateways.start({ servers, settings });
  const client = new LoadClient({ url: gateway.url, era: 'legacy', server: 'legacy', promoted: true });
  try {
    await client.open();
    await runLoad(client, 16, LOAD_MS);
    const { latenciesMs } = await runLoad(client, 1, LOAD_MS);
    const before = gateway.proxy.said;
    const { calls, seconds } = await runLoad(client, 64, LOAD_MS);
    const statements = gateway.proxy.said - before;
    return {
      medianMs: (latenciesMs.toSorted((a, b) => a - b)[Math.floor(latenciesMs.length / 2)] ?? NaN) - TIMEOUT_MS,
      perSecond: calls / seconds,
      commitsPerSecond: statements / seconds,
    };
  } finally {
    client.close();
    // So that the last calls end by themselves.
    await delay(200);
    await gateways.stopAll();
  }
}
