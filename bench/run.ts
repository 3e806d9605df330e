/**
 * The targets and which of them hold; then what the way through the hub and through the direct endpoint costs, beside the
 * same calls made to the server itself and through other proxies. All in one run: on a machine with other work to do only the
 * ratios and the CPU time of the gateway per call mean something.
 *
 * `npm run bench`, with `-- --json` for figures to compute with, and `-- --only targets`, `hub` or `direct` for one part.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Child, PROGRAM, script } from './child.ts';
import { measureDirect } from './direct.ts';
import { measureDurability } from './durability.ts';
import { temporaryFolder } from './folder.ts';
import { figuresOf, measureLanes, shareOf, type Lane } from './lanes.ts';
import { LoadClient, runLoad, type Era } from './load.ts';
import { print, type Figures, type HubFigures } from './print.ts';
import { measureTargets } from './targets.ts';

const PARTS = ['targets', 'hub', 'direct'];
const PATHS = ['direct', 'naive', 'gateway'] as const;
const ERAS: Era[] = ['legacy', 'modern'];
const PARALLEL = [1, 16, 64];
/** The compiler needs a while; the fewer calls get through, the longer. */
const WARM_UP_MS = { direct: 1000, naive: 2000, gateway: 3000 };

type Path = (typeof PATHS)[number];

async function main(parts: readonly string[]): Promise<Figures> {
  const folder = await temporaryFolder();
  const children: Child[] = [];
  const start = (child: Child): Child => {
    children.push(child);
    return child;
  };
  try {
    const backend = start(script('backend.ts'));
    const targets = parts.includes('targets') && { targets: await measureTargets({ folder, backend, start }) };
    if (!parts.some((part) => part !== 'targets')) return { ...targets };
    const naive = start(script('naive-proxy.ts', await backend.url));
    return {
      ...targets,
      ...(parts.includes('hub') && { hub: await measureHub({ folder, backend, naive, start }) }),
      ...(parts.includes('direct') && { direct: await measureDirect({ folder, backend, naive, start }) }),
    };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function measureHub({ folder, backend, naive, start }: Parameters<typeof measureDirect>[0]): Promise<HubFigures> {
  const origin = await backend.url;
  const both = await configFile(folder, { legacy: `${origin}/legacy`, modern: `${origin}/modern` });

  const durability = await measureDurability(folder, origin);

  const lanes = await openLanes(backend, naive, start(gateway(both)));
  for (const { client, path } of lanes) await runLoad(client, 16, WARM_UP_MS[path]);
  const cells = await measureLanes<Path, Lane<Path>>(lanes, PARALLEL);
  for (const { client } of lanes) client.close();
  const rows = cells.map((cell) => ({
    ...figuresOf(cell),
    ofDirect: shareOf(cell, 'direct', cells),
    ofNaive: shareOf(cell, 'naive', cells),
  }));
  return { rows, durability };
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

async function openLanes(backend: Child, naive: Child, hub: Child): Promise<Lane<Path>[]> {
  const lanes: Lane<Path>[] = [];
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

// An interrupted benchmark takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, only: { type: 'string' } } });
const { only } = values;
if (only !== undefined && !PARTS.includes(only)) throw new Error(`--only takes ${PARTS.join(', ')}, not '${only}'`);
print(await main(only === undefined ? PARTS : [only]), values.json);
