/** One round: load, kills and restarts, a quiet end, and the check. */
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from './checker.ts';
import { CrashClient } from './client.ts';
import { KillableGateway } from './gateway.ts';
import { History } from './history.ts';
import {
  answerOne,
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
import type { ToldTask } from './told.ts';

// The servers of the SDK that keep tasks add one listener for each look at a task that somebody waits for.
setMaxListeners(0);

const TOKENS = { alice: 'the-token-of-alice', bob: 'the-token-of-bob-2' };

/** Nothing that the checker will ask for may go because of its age or number. */
const SETTINGS = {
  auth: { tokens: TOKENS },
  tasks: { perSession: 100_000, keepMs: 3_600_000, ttlMs: 600_000 },
  questions: { perSession: 100_000 },
  events: { perSession: 100_000, notificationsPerServer: 10_000 },
};

/** Nothing in the load takes so long that nothing would happen for this time. */
const STILL_MS = 5000;

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
  while (history.kills.length < kills) {
    await (random.chance(0.5) ? delay(random.int(5, 400)) : afterReplies(random.int(1, 60), everybody));
    let up = false;
    while (!up) {
      await kill(scene);
      for (const client of everybody) client.hangUp();
      if (random.chance(0.3)) await delay(random.int(0, 500));
      const starting = gateway.start();
      // Before it is there again, or just when it is.
      if (history.kills.length < kills && random.chance(0.15)) {
        await Promise.race([delay(random.int(30, 300)), starting.then(() => delay(random.int(0, 20)))]);
      } else up = await starting;
    }
  }
}

async function kill({ gateway, history }: Scene): Promise<void> {
  gateway.kill();
  history.killed();
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

/** Answers what is asked until all has ended, then hears all there is to be heard. */
async function drain(client: CrashClient, random: Random, load: Load): Promise<void> {
  let left = '';
  let since = Date.now();
  for (;;) {
    const told = await client.call('list_tasks');
    const [question] = told?.questions ?? [];
    if (question !== undefined) await answerOne(client, question, random, load);
    const tasks = told?.tasks ?? [];
    if (tasks.length === 0 && question === undefined) break;
    const now = tasks.map(({ id }) => id).join(' ');
    if (now !== left || question !== undefined) {
      left = now;
      since = Date.now();
    } else if (Date.now() - since > STILL_MS) {
      await giveUp(client, tasks, load);
      break;
    }
    await client.call('await_activity', { timeout_ms: 200 });
  }
  const all = await client.call('list_tasks', { include_completed: true });
  for (const { id } of all?.tasks ?? []) await client.call('get_task_result', { task_id: id, timeout_ms: 0 });
  for (;;) {
    const told = await client.call('await_activity', { timeout_ms: 0 });
    if (told === undefined || told.events.length === 0) return;
  }
}

async function giveUp(client: CrashClient, tasks: ToldTask[], { history }: Load): Promise<void> {
  for (const { id } of tasks) {
    history.stuck.add(id);
    await client.call('cancel_task', { task_id: id });
  }
}
