/** How long results of 10 MB keep the gateway from anything else. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child, compiled, PROGRAM } from './child.ts';
import { LARGE_END, respond } from './echo.ts';
import { LoadClient } from './load.ts';

const SERVERS = ['HTTP', 'event stream', 'stdio'] as const;
/** How many pass at once. */
const SEVERAL = 4;
const ROUNDS = 12;
/** The compiler needs a while. */
const WARM_UP_ROUNDS = 4;

export interface HugeResults {
  /** What it takes to parse such a result once. */
  parseMs: number;
  /** The longest turn of the event loop while one passes, or several at once; the median of several rounds. */
  longestTurnMs: Record<string, number>;
}

export async function measureHugeResults(folder: string, origin: string): Promise<HugeResults> {
  const config = join(folder, 'huge-results.json');
  const mcpServers = {
    HTTP: { url: `${origin}/legacy` },
    'event stream': { url: `${origin}/stream` },
    stdio: { command: process.execPath, args: [compiled('backend-stdio.ts'), 'legacy'] },
  };
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile: { port: 0, store: ':memory:' } }));
  const gateway = new Child([PROGRAM, 'serve', '--config', config]);
  const huge = { era: 'legacy', tool: 'huge', expected: LARGE_END } as const;
  const longestTurnMs: Record<string, number> = {};
  try {
    const url = await gateway.url;
    for (const server of SERVERS) {
      longestTurnMs[`hub, ${server}`] = await longestTurn(gateway, new LoadClient({ ...huge, url, server }));
      longestTurnMs[`direct, ${server}`] = await longestTurn(
        gateway,
        new LoadClient({ ...huge, url: `${url}/${encodeURIComponent(server)}` }),
      );
    }
    const clients = Array.from({ length: SEVERAL }, () => new LoadClient({ ...huge, url, server: 'HTTP' }));
    longestTurnMs[`hub, ${SEVERAL} at once, HTTP`] = await longestTurn(gateway, ...clients);
  } finally {
    await gateway.stop();
  }
  return { parseMs: parseMs(), longestTurnMs };
}

async function longestTurn(gateway: Child, ...clients: LoadClient[]): Promise<number> {
  for (const client of clients) await client.open();
  const turns: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await gateway.watchTurns();
    await Promise.all(clients.map((client) => client.call()));
    turns.push(await gateway.longestTurn());
  }
  for (const client of clients) client.close();
  return median(turns.slice(WARM_UP_ROUNDS));
}

function parseMs(): number {
  const text = respond({ id: 1, method: 'tools/call', params: { name: 'huge' } }, false);
  const times = Array.from({ length: ROUNDS }, () => {
    const before = performance.now();
    JSON.parse(text);
    return performance.now() - before;
  });
  return median(times.slice(WARM_UP_ROUNDS));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
