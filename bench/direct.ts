/**
 * `echo` through the direct endpoint beside the server alone, a naive proxy and other people's proxies, all in front of the
 * same server. Those put programs on HTTP, so there the server is one; in front of a server on HTTP we have only ourselves.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child, compiled, PROGRAM } from './child.ts';
import { figuresOf, measureLanes, shareOf, type CellFigures, type Lane } from './lanes.ts';
import { LoadClient, runLoad, type Era, type Load } from './load.ts';
import { installOthers, OTHERS, startOther, type Other } from './others/proxies.ts';
import { StdioLoad } from './stdio-load.ts';

const ERAS: Era[] = ['legacy', 'modern'];
const PARALLEL = [1, 16];
const WARM_UP_MS = 2000;

export const REFERENCES = ['alone', 'naive', ...OTHERS] as const;

type Reference = (typeof REFERENCES)[number];
type Path = Reference | 'meanwhile';
type Kind = 'stdio' | 'http';

interface DirectLane extends Lane<Path> {
  server: Kind;
}

export interface DirectRow extends CellFigures {
  /** How the server behind is reached. */
  server: Kind;
  /** Calls per second, as a share of what the others reach in front of the same server. */
  of: Record<Reference, number>;
}

export interface Direct {
  rows: DirectRow[];
  versions: Record<Other, string>;
  /** Who does not speak an era, and what it said instead. */
  silent: { path: string; era: Era; why: string }[];
}

export interface DirectParts {
  folder: string;
  backend: Child;
  naive: Child;
  /** Takes every child that is started, to stop it in the end. */
  start: (child: Child) => Child;
}

export async function measureDirect(parts: DirectParts): Promise<Direct> {
  const versions = await installOthers();
  const silent: Direct['silent'] = [];
  const lanes: DirectLane[] = [];
  for (const lane of await allLanes(parts)) {
    try {
      await lane.client.open();
      await lane.client.call();
      lanes.push(lane);
    } catch (error) {
      if (!OTHERS.some((other) => other === lane.path)) throw error;
      silent.push({ path: lane.path, era: lane.era, why: String(error) });
    }
  }
  for (const { client } of lanes) await runLoad(client, 16, WARM_UP_MS);
  const cells = await measureLanes<Path, DirectLane>(lanes, PARALLEL);
  for (const { client } of lanes) client.close();
  const rows = cells.map((cell) => {
    const peers = cells.filter(({ server }) => server === cell.server);
    const of = Object.fromEntries(REFERENCES.map((path) => [path, shareOf<Path>(cell, path, peers)]));
    return { ...figuresOf(cell), server: cell.server, of: of as DirectRow['of'] };
  });
  return { rows, versions, silent };
}

async function allLanes({ folder, backend, naive, start }: DirectParts): Promise<DirectLane[]> {
  const program = compiled('backend-stdio.ts');
  const origin = await backend.url;
  const direct = start(await directEndpoint(folder, program, origin));
  const endpoint = async (name: string): Promise<string> => `${await direct.url}/${name}`;
  const lanes: DirectLane[] = [];
  for (const era of ERAS) {
    const add = (server: Kind, path: Path, child: Child, client: Load): void =>
      void lanes.push({ server, path, era, child, client });
    const alone = start(new Child([program, era], { piped: true }));
    add('stdio', 'alone', alone, new StdioLoad(alone, { era }));
    for (const path of OTHERS) {
      const other = start(await startOther(path, [process.execPath, program, era], era));
      add('stdio', path, other, new LoadClient({ url: await other.url, era }));
    }
    add('stdio', 'meanwhile', direct, new LoadClient({ url: await endpoint(`stdio-${era}`), era }));
    add('http', 'alone', backend, new LoadClient({ url: `${origin}/${era}`, era }));
    add('http', 'naive', naive, new LoadClient({ url: `${await naive.url}/${era}`, era }));
    add('http', 'meanwhile', direct, new LoadClient({ url: await endpoint(`http-${era}`), era }));
  }
  return lanes;
}

async function directEndpoint(folder: string, program: string, origin: string): Promise<Child> {
  const config = join(folder, 'direct.json');
  const servers = ERAS.flatMap((era) => [
    [`stdio-${era}`, { command: process.execPath, args: [program, era] }],
    [`http-${era}`, { url: `${origin}/${era}` }],
  ]);
  const mcpServers = Object.fromEntries(servers) as object;
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile: { port: 0, store: ':memory:' } }));
  return new Child([PROGRAM, 'serve', '--config', config]);
}
