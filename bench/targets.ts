/** The targets, and what was measured for them in one run. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GATEWAY_PATHS, measureCallCosts, RELAYS, type CallCosts } from './call-costs.ts';
import { bytesForEach, type Child } from './child.ts';
import { measureHeldCalls } from './held-calls.ts';
import { measureHugeResults, type HugeResults } from './huge-results.ts';
import { measureIdle, type Idle } from './idle.ts';
import { median, ratioOf } from './lanes.ts';
import { measureListing, type Listing } from './listing.ts';
import { measureManySessions, type ManySessions } from './many-sessions.ts';
import { measureStartUp, type StartUp } from './startup.ts';
import { mb, table } from './table.ts';

export interface Goal {
  what: string;
  measured: number;
  target: number;
  unit: '' | 'KB' | 'MB' | 'ms' | 's';
  /** The figures that it was computed from. */
  from: string;
}

export interface Targets {
  goals: Goal[];
  costs: CallCosts;
  startUp: StartUp;
  idle: Idle;
  sessions: ManySessions;
  listing: Listing;
  heldBytes: number;
  huge: HugeResults;
}

export interface TargetParts {
  folder: string;
  backend: Child;
  start: (child: Child) => Child;
}

const HELD_CALLS = 1000;
const HELD_SECONDS = 5;

export async function measureTargets({ folder, backend, start }: TargetParts): Promise<Targets> {
  const origin = await backend.url;
  const config = join(folder, 'one-server.json');
  const meanwhile = { port: 0, store: ':memory:' };
  await writeFile(config, JSON.stringify({ mcpServers: { legacy: { url: `${origin}/legacy` } }, meanwhile }));

  const [idle, startUp] = await measureIdle(config, () => measureStartUp(config));
  const costs = await measureCallCosts({ folder, origin, start });
  const huge = await measureHugeResults(folder, origin);
  const sessions = await measureManySessions(folder, origin);
  const listing = await measureListing(folder);
  const { calls, before, held, right, wrong } = await measureHeldCalls(folder, HELD_CALLS, HELD_SECONDS);
  if (right !== calls)
    throw new Error(`${calls - right} held calls did not return with their result: ${wrong.join('; ')}`);

  const heldBytes = bytesForEach(before, held, calls);
  const figures = { costs, startUp, idle, sessions, huge, listing, heldBytes };
  return { goals: goalsOf(figures), ...figures };
}

function goalsOf({ costs, startUp, idle, sessions, listing, heldBytes }: Omit<Targets, 'goals'>): Goal[] {
  const { before, after } = sessions;
  const sessionBytes = bytesForEach(before, after, sessions.sessions);
  return [
    ...callGoals(costs),
    ratio('64 in parallel: CPU per call ÷ that at 16', 1, ratioOf(total(costs.crowded), total(costs.calls)), {
      from: [
        ...GATEWAY_PATHS.map((path) => `${path} ${ratioOf(costs.crowded[path], costs.calls[path]).toFixed(2)}`),
        `reference ${ratioOf(costs.crowded.undici, costs.relays.undici).toFixed(2)}`,
      ].join(', '),
    }),
    ratio('start to first answer ÷ bare Node printing a line', 3, ratioOf(startUp.programMs, startUp.bareMs), {
      from: `median ${median(startUp.programMs).toFixed(0)} and ${median(startUp.bareMs).toFixed(0)} ms`,
    }),
    ratio('idle memory ÷ bare Node with an http server', 1.35, idle.rssBytes / idle.bareRssBytes, {
      from: `${mb(idle.rssBytes)} and ${mb(idle.bareRssBytes)}; with one session ${mb(idle.sessionRssBytes)}`,
    }),
    {
      what: 'memory of a used session',
      measured: sessionBytes / 1000,
      target: 60,
      unit: 'KB',
      from: `${mb(before.rssBytes)}, with ${sessions.sessions} sessions ${mb(after.rssBytes)}`,
    },
    {
      what: 'memory of a held call',
      measured: heldBytes / 1000,
      target: 40,
      unit: 'KB',
      from: `${HELD_CALLS} calls`,
    },
    ratio(
      '10,000 sessions open: CPU per call ÷ that with one',
      1.1,
      ratioOf(sessions.amongCpuMs, sessions.aloneCpuMs),
      {
        from: `median ${ms(median(sessions.amongCpuMs))} and ${ms(median(sessions.aloneCpuMs))}`,
      },
    ),
    largeGoal(costs),
    {
      what: 'listing 50 servers × 20 tools: CPU',
      measured: Math.max(listing.legacy, listing.modern),
      target: 5,
      unit: 'ms',
      from: `legacy ${ms(listing.legacy)}, modern ${ms(listing.modern)}`,
    },
  ];
}

function callGoals({ calls, relays }: CallCosts): Goal[] {
  const goal = (what: string, path: keyof CallCosts['calls'], target: number): Goal =>
    ratio(`${what}: CPU per call ÷ reference`, target, ratioOf(calls[path], relays.undici), {
      from: `median ${ms(median(calls[path]))}`,
    });
  return [
    goal('hub, legacy, HTTP server', 'hub legacy', 2.5),
    goal('hub, modern', 'hub modern', 3),
    goal('direct, legacy', 'direct legacy', 2),
    goal('direct, modern', 'direct modern', 2.5),
    goal('hub, stdio server', 'hub, stdio server', 1.7),
    goal('direct, stdio server', 'direct, stdio server', 1.5),
    goal('hub on stdio, HTTP server', 'hub on stdio', 2),
  ];
}

/** The worst of all ways. */
function largeGoal({ large }: CallCosts): Goal {
  const each = GATEWAY_PATHS.map((path) => ({ path, times: ratioOf(large[path], large.undici) }));
  const worst = Math.max(...each.map(({ times }) => times));
  const ways = each.map(({ path, times }) => `${path} ${times.toFixed(2)}`);
  return ratio('a 1 MB result: CPU ÷ reference', 1.3, worst, {
    from: `${ways.join(', ')}; reference ${ms(median(large.undici))}`,
  });
}

function ratio(what: string, target: number, measured: number, { from }: { from: string }): Goal {
  return { what, measured, target, unit: '', from };
}

/** Of all ways together, round by round. */
function total(costs: Record<(typeof GATEWAY_PATHS)[number], number[]>): number[] {
  const [first, ...others] = GATEWAY_PATHS.map((path) => costs[path]);
  return (first ?? []).map((cost, round) => others.reduce((sum, each) => sum + (each[round] ?? Number.NaN), cost));
}

const ms = (value: number): string => `${value.toFixed(3)} ms`;

export function goalsTable(goals: readonly Goal[]): string[] {
  const cells = goals.map(({ what, measured, target, unit, from }) => {
    const digits = unit === 'KB' || unit === 'MB' ? 0 : 2;
    const holds = measured <= target ? 'holds' : 'no';
    return [what, `${measured.toFixed(digits)} ${unit}`.trim(), `≤ ${target} ${unit}`.trim(), holds, from];
  });
  return table(['what', 'measured', 'target', '', 'from'], cells, ['left', 'right', 'right', 'left', 'left']);
}

export function targetsText({ goals, costs, huge }: Targets): string {
  const relays = RELAYS.map((relay) => `${relay} ${median(costs.relays[relay]).toFixed(3)}`);
  const turns = Object.entries(huge.longestTurnMs).map(([path, turn]) => `${path} server ${turn.toFixed(0)}`);
  return [
    'Targets',
    ...goalsTable(goals),
    '',
    `CPU ms of a call through the relays, 16 in parallel, median: ${relays.join(', ')}. undici is the reference.`,
    'A ratio is the median of those within a round, not the ratio of two medians.',
    `Longest turn of the event loop while a result of 10 MB passes, in ms: ${turns.join(', ')}; to parse it takes ${huge.parseMs.toFixed(0)}.`,
    `${goals.filter(({ measured, target }) => measured <= target).length} of ${goals.length} targets hold.`,
  ].join('\n');
}
