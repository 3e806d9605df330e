/** Fast calls at the gateway that owns the session, and at another one, which forwards them. */
import { setTimeout as delay } from 'node:timers/promises';
import { figuresOf, measureCells, cellOf, ratioOf, type Cell, type CellFigures, type Lane } from '../lanes.ts';
import { LoadClient, runLoad, type Era } from '../load.ts';
import { together, type Gateways, type MeasuredGateway } from './gateways.ts';

export interface ClusterCalls {
  /** `owner` and `forwarded`, in either era, 16 at a time. CPU time is that of both gateways. */
  rows: CellFigures[];
  /** CPU time of a forwarded call ÷ that of one at the owner. */
  forwardedOfOwner: Record<Era, number>;
  /** Calls a second, 64 at a time, with sessions of their own. */
  throughput: { one: number; two: number };
  /** Statements of both gateways for a thousand fast calls, beyond those that there are without any. */
  statementsPerThousand: number;
}

type Path = 'owner' | 'forwarded';

const ERAS: Era[] = ['legacy', 'modern'];
const WARM_UP_MS = 2000;
const LOAD_MS = 3000;

export async function measureClusterCalls(gateways: Gateways, origin: string): Promise<ClusterCalls> {
  const servers = { legacy: { url: `${origin}/legacy` }, modern: { url: `${origin}/modern` } };
  const first = await gateways.start({ servers });
  const second = await gateways.start({ servers });
  const both = [first, second];
  try {
    const lanes = await openLanes(first, second);
    for (const { client } of lanes) await runLoad(client, 16, WARM_UP_MS);
    const cells = await measureCells<Path, Cell<Path>>(lanes.map((lane) => cellOf<Path, Lane<Path>>(lane, 16)));
    const statementsPerThousand = await statements(both, lanes);
    for (const { client } of lanes) client.close();
    return {
      rows: cells.map(figuresOf),
      forwardedOfOwner: { legacy: forwardedOfOwner(cells, 'legacy'), modern: forwardedOfOwner(cells, 'modern') },
      throughput: await throughput(both),
      statementsPerThousand,
    };
  } finally {
    await gateways.stopAll();
  }
}

function forwardedOfOwner(cells: readonly Cell<Path>[], era: Era): number {
  const rounds = (path: Path): number[] =>
    cells.find((cell) => cell.path === path && cell.era === era)?.cpuMsPerCall ?? [];
  return ratioOf(rounds('forwarded'), rounds('owner'));
}

/** Who is asked first is the owner. */
async function openLanes(first: MeasuredGateway, second: MeasuredGateway): Promise<Lane<Path>[]> {
  const lanes: Lane<Path>[] = [];
  for (const era of ERAS) {
    const owner = new LoadClient({ url: first.url, era, server: era });
    await owner.open();
    await owner.call();
    const forwarded = new LoadClient({ url: second.url, era, server: era, sessionId: owner.sessionId });
    await forwarded.call();
    const child = together([first, second]);
    lanes.push({ path: 'owner', era, client: owner, child }, { path: 'forwarded', era, client: forwarded, child });
  }
  return lanes;
}

/** Leases are renewed whether or not there are calls. */
async function statements(gateways: readonly MeasuredGateway[], lanes: readonly Lane<Path>[]): Promise<number> {
  const said = (): number => gateways.reduce((sum, { proxy }) => sum + proxy.said, 0);
  const before = said();
  await delay(LOAD_MS * lanes.length);
  const idle = said() - before;
  let calls = 0;
  for (const { client } of lanes) calls += (await runLoad(client, 16, LOAD_MS)).calls;
  return (1000 * Math.max(0, said() - before - 2 * idle)) / calls;
}

async function throughput(gateways: readonly MeasuredGateway[]): Promise<ClusterCalls['throughput']> {
  const clients: LoadClient[] = [];
  for (const { url } of gateways) {
    const client = new LoadClient({ url, era: 'legacy', server: 'legacy' });
    await client.open();
    clients.push(client);
  }
  const speed = async (of: readonly LoadClient[]): Promise<number> => {
    const samples = await Promise.all(of.map((client) => runLoad(client, 64 / of.length, LOAD_MS)));
    return samples.reduce((sum, { calls, seconds }) => sum + calls / seconds, 0);
  };
  await speed(clients);
  const figures = { one: await speed(clients.slice(0, 1)), two: await speed(clients) };
  for (const client of clients) client.close();
  return figures;
}
