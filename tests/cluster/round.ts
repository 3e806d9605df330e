/** One round: load on three gateways, faults, a quiet end, and the check. */
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CALL_KINDS, CHILD_KINDS } from '../crash/calls.ts';
import { check, type Verdict } from '../crash/checker.ts';
import { CrashClient } from '../crash/client.ts';
import { SETTINGS, TOKENS } from '../crash/crash.ts';
import { drain } from '../crash/drain.ts';
import { History, type FaultKind } from '../crash/history.ts';
import {
  callerLane,
  checkRegistered,
  followerLane,
  operatorLane,
  visitorLane,
  type Load,
  type Registered,
} from '../crash/load.ts';
import { Random } from '../crash/random.ts';
import { startServers } from '../crash/servers.ts';
import { releaseAll } from '../support/owned.ts';
import { v1Stdio } from '../support/servers.ts';
import { Cluster } from './cluster.ts';
import { checkDirect, deskLane, directLanes, type DirectLoad } from './direct.ts';
import { breakThings } from './faults.ts';

setMaxListeners(0);

const CAROL = 'the-token-of-carol';

export interface ClusterRoundOptions {
  seed: number;
  faults: number;
  kinds?: readonly FaultKind[] | undefined;
  leaseMs: number;
  gateways?: number;
  /** Fewer clients, for a short round. */
  light?: boolean;
  /** Its path; by default that of the built program. */
  program?: string | undefined;
}

export interface ClusterReport extends Verdict {
  seed: number;
  /** What the gateways have logged, and all that clients asked and were told. */
  log: string[];
}

export async function clusterRound(options: ClusterRoundOptions): Promise<ClusterReport> {
  const { seed, faults, kinds, leaseMs, gateways = 3, light = false, program } = options;
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-cluster-'));
  const record = join(folder, 'child-record');
  const servers = await startServers(record);
  const { more, ...urls } = servers.urls;
  const named = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]));
  const settings = {
    ...SETTINGS,
    auth: { tokens: { ...TOKENS, carol: CAROL } },
    all: { helperTools: 'never' },
    addServerAddresses: 'any',
    cluster: { leaseMs },
  };
  const cluster = await Cluster.prepare({
    gateways,
    folder,
    servers: { ...named, child: v1Stdio({ TEST_RECORD: record }) },
    settings,
    program,
  });
  const history = new History();
  const random = new Random(String(seed));
  const client = (name: string, era: 'legacy' | 'modern', token: string, told = history): CrashClient =>
    new CrashClient(name, era, token, cluster.inTurn(), told);
  const all = [
    client('one', 'legacy', TOKENS.alice),
    client('two', 'legacy', TOKENS.alice),
    client('three', 'legacy', TOKENS.bob),
    client('modern-alice', 'modern', TOKENS.alice),
    client('modern-bob', 'modern', TOKENS.bob),
  ];
  // One of each era, of different principals.
  const clients = light ? all.filter(({ name }) => name === 'one' || name === 'modern-bob') : all;
  const operator = client('operator', 'legacy', TOKENS.alice);
  // What it is told of belongs to the clients of the direct endpoints.
  const deskHistory = new History();
  const desk = client('desk', 'modern', CAROL, deskHistory);
  const everybody = [...clients, operator, desk];
  const state = { stopping: false, isOver: false };
  try {
    await cluster.startAll();
    for (const each of everybody) await each.begin();
    let last = 0;
    const next = (): number => (last += 1);
    const load: Load = {
      gateway: cluster,
      history,
      kinds: [...CALL_KINDS, ...CHILD_KINDS],
      next,
      get stopping() {
        return state.stopping;
      },
    };
    const direct: DirectLoad = {
      cluster,
      history,
      token: CAROL,
      next,
      calls: [],
      tried: [],
      get stopping() {
        return state.stopping;
      },
      get isOver() {
        return state.isOver;
      },
    };
    const registered: Registered = { name: 'more', there: false };
    const visitor = (): CrashClient => client(`visitor-${next()}`, 'legacy', TOKENS.bob, new History());
    const answering = deskLane(desk, direct);
    const lanes = [
      ...clients.map((each) => callerLane(each, random.fork(`${each.name} calls`), load)),
      ...clients.map((each) => followerLane(each, random.fork(`${each.name} follows`), load)),
      operatorLane(operator, more, random.fork('operator'), load, registered),
      visitorLane(visitor, random.fork('visitor'), load),
      ...directLanes(random.fork('direct'), direct, light ? 2 : undefined),
    ];
    const running = Promise.all(lanes);
    await Promise.race([
      running,
      breakThings({ count: faults, kinds }, { cluster, history, leaseMs, busy: new Set() }, random.fork('faults')),
    ]);
    state.stopping = true;
    await running;
    await Promise.all(clients.map((each) => drain(each, random.fork(`${each.name} drains`), load)));
    state.isOver = true;
    await answering;
    await checkRegistered(operator, history, registered);
    await sameEverywhere(clients, cluster, history);
    for (const [index, code] of (await cluster.stop()).entries()) {
      if (code !== 0) history.refused(`gateway-${index + 1}`, `ended with ${code}`);
    }
    for (const time of cluster.lapses()) history.lapsed(time - 2 * leaseMs, time + leaseMs);
    const seen = servers.seen();
    const { violations, counts } = check(history, seen);
    return {
      seed,
      violations: [...violations, ...checkDirect(direct.calls, history, seen)],
      counts: {
        ...counts,
        direct: direct.calls.length,
        directFailed: direct.calls.filter(({ failed }) => failed !== undefined).length,
      },
      log: [
        ...cluster.log(),
        ...history.lines(),
        ...deskHistory.lines(),
        ...direct.tried,
        ...direct.calls.map((call) => JSON.stringify(call)),
      ],
    };
  } finally {
    Object.assign(state, { stopping: true, isOver: true });
    await releaseAll();
    for (const each of everybody) each.hangUp();
    await cluster.close();
    await servers.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Each gateway reports the same of the tasks. */
async function sameEverywhere(clients: readonly CrashClient[], cluster: Cluster, history: History): Promise<void> {
  for (const client of clients) {
    const reports = new Map<string, string>();
    for (const { name } of cluster.members) {
      const told = await client.call('list_tasks', { include_completed: true });
      const tasks = told?.tasks.map(({ id, status }) => `${id} ${status}`).toSorted();
      if (tasks !== undefined) reports.set(tasks.join(), name);
    }
    if (reports.size !== 1)
      history.refused(client.name, `the gateways report ${reports.size} different lists of tasks`);
  }
}
