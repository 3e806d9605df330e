/** What is done to the gateways and to their database, in an order that a seed repeats. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultKind, History } from '../crash/history.ts';
import type { Random } from '../crash/random.ts';
import type { Cluster, Member } from './cluster.ts';

export interface Scene {
  cluster: Cluster;
  history: History;
  leaseMs: number;
  /** Something is being done to them. */
  busy: Set<Member>;
}

type Do = (scene: Scene, member: Member, random: Random) => Promise<void>;

/** After a fault has ended, what it broke may show for so long. */
const GRACE_MS = 1500;
/** A balancer asks so often whether a gateway is there. */
const HEALTH_CHECK_MS = 300;

/** How often each is dealt; all of them are before any comes again. */
const DECK: Record<FaultKind, number> = {
  kill: 4,
  pause: 2,
  stop: 3,
  partition: 1,
  cut: 2,
  'database restart': 1,
  'slow database': 2,
};

const kill: Do = async ({ cluster, history, leaseMs }, member, random) => {
  const { gateway } = member;
  for (let up = false; !up;) {
    member.isInRotation = false;
    gateway.kill();
    const end = history.fault('kill');
    const code = await gateway.gone();
    if (code !== null) history.refused(member.name, `ended by itself with ${code}`);
    if (random.chance(0.6)) await delay(random.int(0, leaseMs * 1.5));
    const starting = cluster.start(member);
    // Before it is there again, or just when it is.
    if (random.chance(0.15)) {
      await Promise.race([delay(random.int(30, 300)), starting.then(() => delay(random.int(0, 20)))]);
    } else up = await starting;
    endLater(end);
  }
};

/** It finds out that others have its sessions when it goes on. Some requests wait for it. */
const pause: Do = async (scene, member, random) => {
  const { history, leaseMs } = scene;
  const end = history.fault('pause');
  member.gateway.pause();
  const missed = Math.min(HEALTH_CHECK_MS, leaseMs / 4);
  await delay(missed);
  member.isInRotation = false;
  await delay(random.int(leaseMs * 0.8, leaseMs * 2) - missed);
  member.gateway.resume();
  await delay(random.int(0, HEALTH_CHECK_MS));
  member.isInRotation = true;
  endLater(end);
  // It is gone again, just after it came back and claimed something.
  if (random.chance(0.2)) await kill(scene, member, random);
};

const stop: Do = async (scene, member, random) => {
  const { busy, cluster } = scene;
  // One after the other, as in an update.
  const others = random.chance(0.3) ? cluster.members.filter((other) => !busy.has(other)) : [];
  for (const other of others) busy.add(other);
  try {
    for (const each of [member, ...others]) await stopOne(scene, each, random);
  } finally {
    for (const other of others) busy.delete(other);
  }
};

async function stopOne({ cluster, history }: Scene, member: Member, random: Random): Promise<void> {
  const end = history.fault('stop');
  // A balancer may hear of it late.
  const late = random.chance(0.5) ? delay(random.int(0, HEALTH_CHECK_MS)) : undefined;
  if (late === undefined) member.isInRotation = false;
  const stopped = member.gateway.stop();
  await late;
  member.isInRotation = false;
  const code = await stopped;
  if (code !== 0) history.refused(member.name, `was asked to stop, and ended with ${code}`);
  await cluster.start(member);
  endLater(end);
}

/** What it says to the database meanwhile arrives late, or never. */
const partition: Do = async ({ history, leaseMs }, { proxy }, random) => {
  const end = history.fault('partition');
  proxy.hold();
  await delay(random.int(leaseMs * 0.5, leaseMs * 2));
  if (random.chance(0.5)) proxy.cut();
  proxy.release();
  endLater(end);
};

const cut: Do = async ({ cluster, history }, { proxy }, random) => {
  const end = history.fault('cut');
  const proxies = random.chance(0.5) ? [proxy] : cluster.members.map((member) => member.proxy);
  for (let times = random.int(1, 3); times > 0; times -= 1) {
    for (const each of proxies) each.cut();
    await delay(random.int(0, 50));
  }
  endLater(end);
};

/** Sometimes nobody can reach it for longer than the leases last. */
const restartDatabase: Do = async ({ cluster, history, leaseMs }, _member, random) => {
  const end = history.fault('database restart');
  await cluster.postgres.down();
  await delay(random.chance(0.3) ? random.int(leaseMs, leaseMs * 1.5) : random.int(0, 500));
  await cluster.postgres.up();
  endLater(end);
};

const slowDatabase: Do = async ({ cluster, history }, { proxy }, random) => {
  const end = history.fault('slow database');
  const proxies = random.chance(0.5) ? [proxy] : cluster.members.map((member) => member.proxy);
  const delayMs = random.int(20, 300);
  for (const each of proxies) each.delayMs = delayMs;
  await delay(random.int(500, 2000));
  for (const each of proxies) each.delayMs = 0;
  endLater(end);
};

const DO: Record<FaultKind, Do> = {
  kill,
  pause,
  stop,
  partition,
  cut,
  'database restart': restartDatabase,
  'slow database': slowDatabase,
};

const OF_A_GATEWAY: ReadonlySet<FaultKind> = new Set(['kill', 'pause', 'stop', 'partition']);

function endLater(end: () => void): void {
  setTimeout(end, GRACE_MS).unref();
}

/** Each kind once, in any order; then as the deck has them. */
function* dealt(kinds: readonly FaultKind[], random: Random): Generator<FaultKind> {
  yield* random.shuffled(kinds);
  for (;;) yield* random.shuffled(kinds.flatMap((kind) => Array<FaultKind>(DECK[kind]).fill(kind)));
}

export const FAULT_KINDS = Object.keys(DECK) as FaultKind[];

export interface Wanted {
  count: number;
  /** Only these; by default all. */
  kinds?: readonly FaultKind[] | undefined;
}

/** One fault after the other, some of them two at a time, until there were so many. All is well again when it returns. */
export async function breakThings({ count, kinds = FAULT_KINDS }: Wanted, scene: Scene, random: Random): Promise<void> {
  const { busy, cluster, history } = scene;
  const underWay = new Set<Promise<void>>();
  for (const kind of dealt(kinds, random)) {
    if (history.faults.length >= count) break;
    await delay(random.int(100, 900));
    const ofAGateway = OF_A_GATEWAY.has(kind);
    // One gateway is always left alone; and what is done to all of them is done alone.
    while (underWay.size > (ofAGateway && random.chance(0.6) ? 1 : 0)) await Promise.race(underWay);
    const member = random.pick(cluster.members.filter((each) => !busy.has(each)));
    if (member === undefined) continue;
    busy.add(member);
    const done = DO[kind](scene, member, random.fork(`${kind} ${history.faults.length}`)).finally(() => {
      busy.delete(member);
      underWay.delete(done);
    });
    underWay.add(done);
    // What fails is thrown where it is awaited.
    done.catch(() => {});
    if (!ofAGateway) await done;
  }
  await Promise.all(underWay);
  await delay(scene.leaseMs);
}
