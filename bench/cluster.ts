/**
 * What several gateways on one PostgreSQL cost, and how fast they go on with each other's work. The database is on the same
 * machine, and commits are on its disk before they count.
 *
 * `npm run bench:cluster`, with `-- --json` for figures to compute with, and `-- --only calls`, `promotions`, `take-over` or
 * `full-store` for one part.
 */
import { parseArgs } from 'node:util';
import { script } from './child.ts';
import { measureClusterCalls, type ClusterCalls } from './cluster/calls.ts';
import { measureFullStore, type FullStore } from './cluster/full-store.ts';
import { Gateways } from './cluster/gateways.ts';
import { measurePromotions, type Promotions } from './cluster/promotions.ts';
import { measureTakeOver, type TakeOver } from './cluster/take-over.ts';
import { temporaryFolder } from './folder.ts';
import type { CellFigures } from './lanes.ts';
import { mb, table } from './table.ts';
import { goalsTable, type Goal } from './targets.ts';

const PARTS = ['calls', 'promotions', 'take-over', 'full-store'];
/** The lease that gateways have unless they are told otherwise. */
const LEASE_MS = 10_000;

interface Figures {
  calls?: ClusterCalls;
  promotions?: Promotions;
  takeOver?: TakeOver;
  fullStore?: FullStore;
}

async function measure(parts: readonly string[]): Promise<Figures> {
  const backend = script('backend.ts');
  const gateways = await Gateways.open(await temporaryFolder());
  try {
    const origin = await backend.url;
    return {
      ...(parts.includes('calls') && { calls: await measureClusterCalls(gateways, origin) }),
      ...(parts.includes('promotions') && { promotions: await measurePromotions(gateways, origin) }),
      ...(parts.includes('take-over') && { takeOver: await measureTakeOver(gateways, LEASE_MS) }),
      ...(parts.includes('full-store') && { fullStore: await measureFullStore(gateways, origin) }),
    };
  } finally {
    await gateways.close();
    await backend.stop();
  }
}

function goalsOf({ calls, promotions, takeOver, fullStore }: Figures): Goal[] {
  return [
    ...(calls ? callGoals(calls) : []),
    ...(promotions ? [promotionGoal(promotions)] : []),
    ...(takeOver ? [takeOverGoal(takeOver)] : []),
    ...(fullStore ? startGoals(fullStore) : []),
  ];
}

function callGoals({ rows, forwardedOfOwner, statementsPerThousand }: ClusterCalls): Goal[] {
  const cpu = (path: string, era: string): number =>
    rows.find((row) => row.path === path && row.era === era)?.cpuMsPerCall ?? NaN;
  return [
    ...(['legacy', 'modern'] as const).map((era): Goal => {
      const [owner, forwarded] = [cpu('owner', era), cpu('forwarded', era)];
      return {
        what: `forwarded fast call, ${era}: CPU of all gateways ÷ one at the owner`,
        measured: forwardedOfOwner[era],
        target: 2,
        unit: '',
        from: `median ${forwarded.toFixed(3)} and ${owner.toFixed(3)} ms`,
      };
    }),
    {
      what: 'statements for a fast call',
      measured: statementsPerThousand / 1000,
      target: 0.01,
      unit: '',
      from: `${statementsPerThousand.toFixed(1)} for 1000 calls, beyond those of idle gateways`,
    },
  ];
}

function promotionGoal({ medianMs, perSecond, commitsPerSecond }: Promotions): Goal {
  return {
    what: 'promotion of a call, from its time-out to the reply',
    measured: medianMs,
    target: 5,
    unit: 'ms',
    from: `with 64 at a time ${perSecond.toFixed(0)} tasks in ${commitsPerSecond.toFixed(0)} commits a second`,
  };
}

function takeOverGoal({ leaseMs, untilMs }: TakeOver): Goal {
  return {
    what: 'until a killed gateway’s work goes on',
    measured: (untilMs[0] ?? NaN) / 1000,
    target: leaseMs / 1000 + 2,
    unit: 's',
    from: `${untilMs.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s with a lease of ${leaseMs / 1000} s`,
  };
}

function startGoals({ sessions, tasks, empty, full }: FullStore): Goal[] {
  const stored = `${tasks.toLocaleString('en')} tasks, ${sessions.toLocaleString('en')} sessions`;
  return [
    {
      what: `start with ${stored}`,
      measured: full.startMs / 1000,
      target: 1,
      unit: 's',
      from: `${full.startMs.toFixed(0)} ms, with an empty database ${empty.startMs.toFixed(0)} ms`,
    },
    {
      what: 'memory after it ÷ that with an empty database',
      measured: full.memory.rssBytes / empty.memory.rssBytes,
      target: 1.1,
      unit: '',
      from: `${mb(full.memory.rssBytes)} and ${mb(empty.memory.rssBytes)}`,
    },
  ];
}

function callsText({ rows, throughput }: ClusterCalls): string[] {
  const cells = rows.map(({ path, era, callsPerSecond, p50Ms, p99Ms, cpuMsPerCall }: CellFigures) => [
    path,
    era,
    callsPerSecond.toFixed(0),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    cpuMsPerCall.toFixed(3),
  ]);
  const columns = ['call at', 'era', 'calls/s', 'p50 ms', 'p99 ms', 'CPU ms/call'];
  return [
    '',
    'Fast calls, 16 at a time; CPU time of both gateways',
    ...table(columns, cells, ['left', 'left', 'right', 'right', 'right', 'right']),
    '',
    `Calls a second, 64 at a time: one gateway ${throughput.one.toFixed(0)}, two ${throughput.two.toFixed(0)}. ` +
      'Load, server and database share the machine with them.',
  ];
}

function text(figures: Figures): string {
  const goals = goalsOf(figures);
  return [
    'Several gateways on one PostgreSQL',
    ...goalsTable(goals),
    `${goals.filter(({ measured, target }) => measured <= target).length} of ${goals.length} targets hold.`,
    ...(figures.calls ? callsText(figures.calls) : []),
  ].join('\n');
}

// An interrupted benchmark takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, only: { type: 'string' } } });
const { only } = values;
if (only !== undefined && !PARTS.includes(only)) throw new Error(`--only takes ${PARTS.join(', ')}, not '${only}'`);
const figures = await measure(only === undefined ? PARTS : [only]);
console.log(values.json ? JSON.stringify(figures, undefined, 2) : text(figures));
