/** CPU time of a call through the hub and through the direct endpoint, beside the same call through the relays. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child, compiled, PROGRAM, script } from './child.ts';
import { LARGE_END } from './echo.ts';
import { cellOf, measureCells, type Cell, type Lane } from './lanes.ts';
import { LoadClient, runLoad, type Era, type HttpTarget } from './load.ts';
import { StdioLoad } from './stdio-load.ts';

export const RELAYS = ['sockets', 'undici', 'http'] as const;
export const GATEWAY_PATHS = ['hub legacy', 'hub modern', 'direct legacy', 'direct modern'] as const;
const OTHER_PATHS = ['hub, stdio server', 'direct, stdio server', 'hub on stdio'] as const;

type Relay = (typeof RELAYS)[number];
type GatewayPath = (typeof GATEWAY_PATHS)[number];
type OtherPath = (typeof OTHER_PATHS)[number];
type Path = Relay | GatewayPath | OtherPath;

/** CPU milliseconds of a call, round by round. */
export interface CallCosts {
  relays: Record<Relay, number[]>;
  calls: Record<GatewayPath | OtherPath, number[]>;
  /** With 64 in parallel instead of 16. */
  crowded: Record<GatewayPath | 'undici', number[]>;
  /** With a result of 1 MB. */
  large: Record<GatewayPath | 'undici', number[]>;
}

export interface CallCostParts {
  folder: string;
  origin: string;
  /** Takes every child that is started, to stop it in the end. */
  start: (child: Child) => Child;
}

const ERAS: Era[] = ['legacy', 'modern'];
const PARALLEL = 16;
const CROWDED = 64;
const LARGE_PARALLEL = 4;
/** The compiler needs a while. */
const WARM_UP_MS = 1500;

export async function measureCallCosts(parts: CallCostParts): Promise<CallCosts> {
  const { lanes, large } = await openLanes(parts);
  for (const { client } of [...lanes, ...large]) await client.open();
  for (const { client } of lanes) await runLoad(client, PARALLEL, WARM_UP_MS);
  for (const { client } of large) await runLoad(client, LARGE_PARALLEL, WARM_UP_MS / 2);
  const isCrowded = ({ path }: Lane<Path>): boolean =>
    path === 'undici' || (GATEWAY_PATHS as readonly string[]).includes(path);
  const cells = {
    calls: lanes.map((lane) => cellOf<Path, Lane<Path>>(lane, PARALLEL)),
    crowded: lanes.filter(isCrowded).map((lane) => cellOf<Path, Lane<Path>>(lane, CROWDED)),
    large: large.map((lane) => cellOf<Path, Lane<Path>>(lane, LARGE_PARALLEL)),
  };
  // What is compared comes one after the other.
  const pairs = cells.calls.flatMap((cell) => [cell, ...cells.crowded.filter(({ path }) => path === cell.path)]);
  await measureCells<Path, Cell<Path>>([...pairs, ...cells.large]);
  // The ratio of 64 to 16 in parallel is close to its target: twice as many rounds make it more certain.
  await measureCells<Path, Cell<Path>>(pairs.filter(isCrowded));
  for (const { client } of [...lanes, ...large]) client.close();
  return {
    relays: costs(RELAYS, cells.calls),
    calls: costs([...GATEWAY_PATHS, ...OTHER_PATHS], cells.calls),
    crowded: costs([...GATEWAY_PATHS, 'undici'], cells.crowded),
    large: costs([...GATEWAY_PATHS, 'undici'], cells.large),
  };
}

function costs<P extends Path>(paths: readonly P[], cells: readonly Cell<Path>[]): Record<P, number[]> {
  const costOf = (path: P): number[] => cells.find((cell) => cell.path === path)?.cpuMsPerCall ?? [];
  return Object.fromEntries(paths.map((path) => [path, costOf(path)])) as Record<P, number[]>;
}

async function openLanes({ folder, origin, start }: CallCostParts): Promise<Record<'lanes' | 'large', Lane<Path>[]>> {
  const config = await configFile(folder, origin);
  const gateway = start(new Child([PROGRAM, 'serve', '--config', config]));
  const url = await gateway.url;
  const lanes: Lane<Path>[] = [];
  const large: Lane<Path>[] = [];
  const add = (path: Path, child: Child, target: HttpTarget): void => {
    const { era } = target;
    lanes.push({ path, era, child, client: new LoadClient(target) });
    if (path !== 'undici' && !ERAS.some((name) => path.endsWith(name))) return;
    large.push({ path, era, child, client: new LoadClient({ ...target, tool: 'large', expected: LARGE_END }) });
  };
  for (const relay of RELAYS) {
    const child = start(script('relays.ts', relay, origin));
    add(relay, child, { url: `${await child.url}/legacy`, era: 'legacy' });
  }
  for (const era of ERAS) {
    add(`hub ${era}`, gateway, { url, era, server: era });
    add(`direct ${era}`, gateway, { url: `${url}/${era}`, era });
  }
  add('hub, stdio server', gateway, { url, era: 'legacy', server: 'stdio' });
  add('direct, stdio server', gateway, { url: `${url}/stdio`, era: 'legacy' });
  const onStdio = start(new Child([PROGRAM, 'stdio', '--config', config, '--log-level', 'error'], { piped: true }));
  const client = new StdioLoad(onStdio, { era: 'legacy', server: 'legacy' });
  lanes.push({ path: 'hub on stdio', era: 'legacy', child: onStdio, client });
  return { lanes, large };
}

async function configFile(folder: string, origin: string): Promise<string> {
  const file = join(folder, 'call-costs.json');
  const mcpServers = {
    ...Object.fromEntries(ERAS.map((era) => [era, { url: `${origin}/${era}` }])),
    stdio: { command: process.execPath, args: [compiled('backend-stdio.ts'), 'legacy'] },
  };
  await writeFile(file, JSON.stringify({ mcpServers, meanwhile: { port: 0, store: ':memory:' } }));
  return file;
}
