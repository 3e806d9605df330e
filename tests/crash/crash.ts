/** One round: load, kills and restarts, a quiet end, and the check. */
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CALL_KINDS } from './calls.ts';
import { check } from './checker.ts';
import { CrashClient } from './client.ts';
import { drain } from './drain.ts';
import { KillableGateway } from './gateway.ts';
import { History } from './history.ts';
import {
  callerLane,
  checkRegistered,
  followerLane,
  operatorLane,
  visitorLane,
  type Load,
  type Registered,
} from './load.ts';
import { Random } from './random.ts';
import { startServers } from './servers.ts';

// The servers of the SDK that keep tasks add one listener for each look at a task that somebody waits for.
setMaxListeners(0);

export const TOKENS = { alice: 'the-token-of-alice', bob: 'the-token-of-bob-2' };

/** Nothing that the checker will ask for may go because of its age or number. */
export const SETTINGS = {
  auth: { tokens: TOKENS },
  tasks: { perSession: 100_000, keepMs: 3_600_000, ttlMs: 600_000 },
  questions: { perSession: 100_000 },
  events: { perSession: 100_000, notificationsPerServer: 10_000 },
};

export interface RoundOptions {
  seed: number;
  kills: number;
}

export interface RoundReport {
  seed: number;
  violations: string[];
  counts: Record<string, number>;
  /** The last lines that the gateway has logged, and all that clients asked and were told. */
  log: string[];
}

export async function crashRound({ seed, kills }: RoundOptions): Promise<RoundReport> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-crash-'));
  const servers = await startServers();
  const { more, ...urls } = servers.urls;
  const named = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]));
  const gateway = await KillableGateway.prepare({ folder, servers: named, settings: SETTINGS });
  const history = new History();
  const random = new Random(String(seed));
  const clients = [
    new CrashClient('one', 'legacy', TOKENS.alice, gateway, history),
    new CrashClient('two', 'legacy', TOKENS.alice, gateway, history),
    new CrashClient('three', 'legacy', TOKENS.bob, gateway, history),
    new CrashClient('modern-alice', 'modern', TOKENS.alice, gateway, history),
    new CrashClient('modern-bob', 'modern', TOKENS.bob, gateway, history),
  ];
  const operator = new CrashClient('operator', 'legacy', TOKENS.alice, gateway, history);
  const everybody = [...clients, operator];
  let stopping = false;
  try {
    await gateway.start();
    for (const client of everybody) await client.begin();
    let last = 0;
    const next = (): number => (last += 1);
    const load: Load = {
      gateway,
      history,
      kinds: CALL_KINDS,
      next,
      get stopping() {
        return stopping;
      },
    };
    const registered: Registered = { name: 'more', there: false };
    // What a visitor was told holds only until it leaves.
    const visitor = (): CrashClient =>
      new CrashClient(`visitor-${next()}`, 'legacy', TOKENS.bob, gateway, new History());
    const lanes = [
      ...clients.map((client) => callerLane(client, random.fork(`${client.name} calls`), load)),
      ...clients.map((client) => followerLane(client, random.fork(`${client.name} follows`), load)),
      operatorLane(operator, more, random.fork('operator'), load, registered),
      visitorLane(visitor, random.fork('visitor'), load),
    ];
    const running = Promise.all(lanes);
    await killAgainAndAgain(kills, { gateway, history, everybody }, random.fork('kills'));
    stopping = true;
    await running;
    await Promise.all(clients.map((client) => drain(client, random.fork(`${client.name} drains`), load)));
    await checkRegistered(operator, history, registered);
    const code = await gateway.stop();
    if (code !== 0) history.refused('gateway', `ended with ${code}`);
    return { seed, ...check(history, servers.seen()), log: [...gateway.log, ...history.lines()] };
  } finally {
    stopping = true;
    await gateway.stop();
    for (const client of everybody) client.hangUp();
    await servers.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Scene {
  gateway: KillableGateway;
  history: History;
  everybody: CrashClient[];
}

async function killAgainAndAgain(kills: number, scene: Scene, random: Random): Promise<void> {
  const { gateway, history, everybody } = scene;
  while (history.faults.length < kills) {
    await (random.chance(0.5) ? delay(random.int(5, 400)) : afterReplies(random.int(1, 60), everybody));
    let up = false;
    while (!up) {
      await kill(scene);
      for (const client of everybody) client.hangUp();
      if (random.chance(0.3)) await delay(random.int(0, 500));
      const starting = gateway.start();
      // Before it is there again, or just when it is.
      if (history.faults.length < kills && random.chance(0.15)) {
        await Promise.race([delay(random.int(30, 300)), starting.then(() => delay(random.int(0, 20)))]);
      } else up = await starting;
    }
  }
}

async function kill({ gateway, history }: Scene): Promise<void> {
  gateway.kill();
  history.fault('kill')();
  const code = await gateway.gone();
  if (code !== null) history.refused('gateway', `ended by itself with ${code}`);
}

/** Right after so many replies have arrived, or when nothing comes any more. */
async function afterReplies(count: number, clients: CrashClient[]): Promise<void> {
  let left = count;
  await new Promise<void>((resolve) => {
    const late = setTimeout(resolve, 1000);
    for (const client of clients) {
      client.onTold = () => {
        left -= 1;
        if (left > 0) return;
        clearTimeout(late);
        resolve();
      };
    }
  });
  for (const client of clients) client.onTold = () => {};
}
