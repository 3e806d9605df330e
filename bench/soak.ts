/**
 * All pairs of the bridge matrix in a loop against one gateway process, for minutes: whether every call still ends as it
 * should, memory stays flat, and nothing is left in the end.
 *
 * `npm run soak -- --minutes 10`. The exit code says whether it was good.
 */
import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { CELLS, keysOf, SERVERS } from '../tests/e2e/direct/matrix/cells.ts';
import { deskAt } from '../tests/e2e/direct/matrix/desk.ts';
import { driversOf } from '../tests/e2e/direct/matrix/drivers.ts';
import { releaseAll } from '../tests/support/owned.ts';
import { Child } from './child.ts';
import type { Counts } from './soak/gateway.ts';
import { leave } from './soak/leave.ts';
import { play } from './soak/play.ts';
import { nameOf, startServers, type SoakServers } from './soak/servers.ts';
import { judge, type Sample, type Verdict } from './soak/verdict.ts';

/** What is kept for a while is kept shortly, so that it is all the same after the first rounds. */
const SETTINGS = {
  direct: { taskAfterMs: 150 },
  tasks: { ttlMs: 20_000, keepMs: 5000, cleanupMs: 1000, perSession: 1000 },
  sessions: { idleMs: 15_000, checkMs: 1000 },
};
const SERVER_KINDS = keysOf(SERVERS);
const WORKERS = 5;
/** Until everything that nobody asks for is forgotten; a connection is kept open for a minute. */
const FORGOTTEN_MS = 100_000;
const LOOK_MS = 250;

/** What one round after the other adds to. */
interface Played {
  plays: Map<string, number>;
  calls: number;
  failures: string[];
}

async function main(minutes: number): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-soak-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const servers = await startServers(folder);
  const gateway = await startGateway(folder, servers);
  const url = await gateway.url;
  const played: Played = { plays: new Map(CELLS.map((cell) => [pairOf(cell), 0])), calls: 0, failures: [] };
  process.on('unhandledRejection', (reason) => played.failures.push(`nobody caught: ${String(reason)}`));

  const samples: Sample[] = [];
  const started = performance.now();
  for (let round = 0; performance.now() - started < minutes * 60_000; round += 1) {
    await playRound(round, url, servers, played);
    const seconds = (performance.now() - started) / 1000;
    const { heapBytes, rssBytes, handles } = await gateway.memory();
    const sockets = handles['TCPSocketWrap'] ?? 0;
    const sample = { seconds, heapBytes, rssBytes, sockets };
    samples.push(sample);
    tell(round, sample, played, await gateway.ask<Counts>('counts'));
  }

  const left = await whatIsLeft(gateway, servers, folder);
  await gateway.stop();
  const processes = await processesOf(folder);
  const bytes = (await stat(join(folder, 'soak.db'))).size;
  await servers.close();
  const all = { ...left, 'processes after the end': processes, 'ports after the end': await answers(url) };
  const { good, lines } = judge({ ...played, samples, left: all });
  return { good, lines: [...lines, `store on disk: ${(bytes / 1e6).toFixed(1)} MB`] };
}

async function startGateway(folder: string, { configs }: SoakServers): Promise<Child> {
  const config = join(folder, 'soak.json');
  const meanwhile = { port: 0, store: join(folder, 'soak.db'), ...SETTINGS };
  await writeFile(config, JSON.stringify({ mcpServers: configs, meanwhile }));
  const program = fileURLToPath(new URL('soak/gateway.ts', import.meta.url));
  return new Child([program, config], { execArgv: ['--expose-gc', '--import', 'tsx'] });
}

const pairOf = ({ client, server }: { client: string; server: string }): string => `${client} with ${server}`;

/** Every pair once, some of them at the same time; then nobody is there. One kind of server is a program for once. */
async function playRound(round: number, url: string, servers: SoakServers, played: Played): Promise<void> {
  const program = SERVER_KINDS[round % SERVER_KINDS.length];
  const desk = await deskAt(url);
  desk.answer();
  const waiting = [...CELLS.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, cell] = next;
      const drivers = driversOf(cell.client, 'http');
      const driver = drivers[round % drivers.length] ?? drivers[0];
      if (driver === undefined) throw new Error(`nobody plays ${cell.client}`);
      const door = cell.server === program ? 'stdio' : 'http';
      const { calls, failures } = await play({ cell, driver, door, url, servers, tag: `${round}_${index}` });
      played.calls += calls;
      played.failures.push(...failures);
      played.plays.set(pairOf(cell), (played.plays.get(pairOf(cell)) ?? 0) + 1);
    }
  };
  const leaving = SERVER_KINDS.map(async (kind) => {
    const name = nameOf(kind, kind === program ? 'stdio' : 'http');
    await leave(`${url}/${name}`, String(round)).catch((error: unknown) => {
      played.failures.push(`leaving ${name}: ${String(error)}`);
    });
  });
  await Promise.all([...Array.from({ length: WORKERS }, work), ...leaving]);
  await releaseAll();
  servers.forget();
}

function tell(round: number, sample: Sample, { calls, failures }: Played, counts: Counts): void {
  const { seconds, heapBytes, rssBytes, sockets } = sample;
  const held = Object.entries({ sockets, ...counts }).map(([what, count]) => `${count} ${what}`);
  console.error(
    `${seconds.toFixed(0).padStart(4)} s  round ${round}, ${calls} calls, ${failures.length} failures; ` +
      `heap ${(heapBytes / 1e6).toFixed(1)} MB, RSS ${(rssBytes / 1e6).toFixed(0)} MB; ${held.join(', ')}`,
  );
}

/** Waits until nobody is expected to come back any more. */
async function whatIsLeft(gateway: Child, servers: SoakServers, folder: string): Promise<Record<string, number>> {
  const count = async (): Promise<Record<string, number>> => ({
    ...(await gateway.ask<Counts>('counts')),
    sockets: (await gateway.memory()).handles['TCPSocketWrap'] ?? 0,
    'tasks of servers': servers.unfinished(),
    // The gateway itself is one of them.
    'child processes': (await processesOf(folder)) - 1,
  });
  const started = performance.now();
  for (;;) {
    const left = await count();
    const isClear = Object.values(left).every((each) => each === 0);
    if (isClear || performance.now() - started > FORGOTTEN_MS) return left;
    await delay(LOOK_MS);
  }
}

/** The gateway and its servers that are programs all have the folder in their command line. */
async function processesOf(folder: string): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line.includes(folder)).length;
}

async function answers(url: string): Promise<number> {
  return fetch(url).then(
    () => 1,
    () => 0,
  );
}

// A client with many calls at once has many listeners; that is no leak.
setMaxListeners(0);

// An interrupted soak takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const { good, lines } = await main(Number(values.minutes));
console.log(lines.join('\n'));
// Whoever still waits for an answer has been written down.
process.exit(good ? 0 : 1);
