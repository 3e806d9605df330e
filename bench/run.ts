/**
 * What the way through the hub costs, beside the same calls made directly and through a naive proxy, all in one run:
 * on a machine with other work to do only the ratios and the CPU time of the gateway per call mean something.
 *
 * `npm run bench`, with `-- --json` for figures to compute with.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Child, PROGRAM, script } from './child.ts';
import { measureDurability } from './durability.ts';
import { LoadClient, type Era, type Sample } from './load.ts';
import { startUpTimes } from './startup.ts';
import { print, type Figures, type Row } from './table.ts';

const PATHS = ['direct', 'naive', 'gateway'] as const;
const ERAS: Era[] = ['legacy', 'modern'];
const PARALLEL = [1, 16, 64];
const ROUNDS = 3;
const ROUND_MS = 800;
/** The compiler needs a while; the fewer calls get through, the longer. */
const WARM_UP_MS = { direct: 1000, naive: 2000, gateway: 3000 };
const IDLE_MS = 5000;

type Path = (typeof PATHS)[number];

interface Lane {
  path: Path;
  era: Era;
  client: LoadClient;
  child: Child;
}

interface Cell extends Lane {
  parallel: number;
  samples: Sample[];
  /** CPU time per call, round by round. */
  cpuMsPerCall: number[];
}

async function main(): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const children: Child[] = [];
  const start = (child: Child): Child => {
    children.push(child);
    return child;
  };
  try {
    const backend = start(script('backend.ts'));
    const origin = await backend.url;
    const both = await configFile(folder, { legacy: `${origin}/legacy`, modern: `${origin}/modern` });
    const one = await configFile(folder, { legacy: `${origin}/legacy` });

    const durability = await measureDurability(folder, origin);
    const idle = await measureIdle(start(gateway(one)), () => startUpTimes(one));

    const naive = start(script('naive-proxy.ts', origin));
    const lanes = await openLanes(backend, naive, start(gateway(both)));
    for (const { client, path } of lanes) await client.run(16, WARM_UP_MS[path]);
    const cells: Cell[] = PARALLEL.flatMap((parallel) =>
      lanes.map((lane) => ({ ...lane, parallel, samples: [], cpuMsPerCall: [] })),
    );
    for (let round = 0; round < ROUNDS; round += 1) for (const cell of cells) await measure(cell);
    for (const { client } of lanes) client.close();
    return { rows: cells.map((cell) => toRow(cell, cells)), ...idle, durability };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function configFile(folder: string, urls: Record<string, string>): Promise<string> {
  const file = join(folder, `${Object.keys(urls).join('-')}.json`);
  const mcpServers = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]));
  await writeFile(file, JSON.stringify({ mcpServers, meanwhile: { port: 0, store: ':memory:' } }));
  return file;
}

function gateway(config: string): Child {
  return new Child([PROGRAM, 'serve', '--config', config]);
}

async function openLanes(backend: Child, naive: Child, hub: Child): Promise<Lane[]> {
  const lanes: Lane[] = [];
  for (const era of ERAS) {
    const targets: [Path, Child, LoadClient][] = [
      ['direct', backend, new LoadClient({ url: `${await backend.url}/${era}`, era })],
      ['naive', naive, new LoadClient({ url: `${await naive.url}/${era}`, era })],
      ['gateway', hub, new LoadClient({ url: await hub.url, era, server: era })],
    ];
    for (const [path, child, client] of targets) {
      await client.open();
      lanes.push({ path, era, client, child });
    }
  }
  return lanes;
}

async function measure(cell: Cell): Promise<void> {
  const before = await cell.child.usage();
  const sample = await cell.client.run(cell.parallel, ROUND_MS);
  const after = await cell.child.usage();
  cell.samples.push(sample);
  cell.cpuMsPerCall.push((after.cpuMs - before.cpuMs) / sample.calls);
}

/** Memory of a gateway that nobody uses, and with one session; the wait is used for `meanwhile`. */
async function measureIdle(
  child: Child,
  meanwhile: () => Promise<number[]>,
): Promise<Omit<Figures, 'rows' | 'durability'>> {
  const url = await child.url;
  const waited = delay(IDLE_MS);
  const startUpMs = await meanwhile();
  await waited;
  const { rssBytes: idleRssBytes } = await child.usage();
  const client = new LoadClient({ url, era: 'legacy', server: 'legacy' });
  await client.open();
  await client.call();
  await delay(1000);
  const { rssBytes: sessionRssBytes } = await child.usage();
  client.close();
  await child.stop();
  return { startUpMs, idleRssBytes, sessionRssBytes };
}

function toRow(cell: Cell, cells: Cell[]): Row {
  const { path, era, parallel } = cell;
  const callsPerSecond = speed(cell);
  const direct = cells.find((each) => each.path === 'direct' && each.era === era && each.parallel === parallel);
  const naive = cells.find((each) => each.path === 'naive' && each.era === era && each.parallel === parallel);
  const latencies = cell.samples.flatMap(({ latenciesMs }) => latenciesMs).toSorted((a, b) => a - b);
  return {
    path,
    era,
    parallel,
    callsPerSecond,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    ofDirect: direct ? callsPerSecond / speed(direct) : Number.NaN,
    ofNaive: naive ? callsPerSecond / speed(naive) : Number.NaN,
    cpuMsPerCall: Math.min(...cell.cpuMsPerCall),
  };
}

function speed({ samples }: Cell): number {
  const total = (key: 'calls' | 'seconds'): number => samples.reduce((sum, sample) => sum + sample[key], 0);
  return total('calls') / total('seconds');
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

// An interrupted benchmark takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

print(await main(), process.argv.includes('--json'));
