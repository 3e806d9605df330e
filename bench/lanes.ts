/** Ways that are measured beside each other, in turns. */
import type { Child } from './child.ts';
import { runLoad, type Era, type Load, type Sample } from './load.ts';

export interface Lane<P extends string> {
  path: P;
  era: Era;
  client: Load;
  /** Whose CPU time is counted. */
  child: Pick<Child, 'usage'>;
}

export interface Cell<P extends string> extends Lane<P> {
  parallel: number;
  samples: Sample[];
  /** CPU time per call, round by round. */
  cpuMsPerCall: number[];
}

/** What is said of a cell by itself. */
export interface CellFigures {
  path: string;
  era: Era;
  parallel: number;
  callsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The median of all rounds. */
  cpuMsPerCall: number;
}

/** Many short rounds: the speed of most machines changes all the time, and what is compared must be measured at the same speed. */
const ROUNDS = 32;
const ROUND_MS = 125;

/** Every lane with each number of calls in flight, one after the other, and that again and again. */
export async function measureLanes<P extends string, L extends Lane<P>>(
  lanes: readonly L[],
  parallels: readonly number[],
  rounds = ROUNDS,
): Promise<(L & Cell<P>)[]> {
  return measureCells<P, L & Cell<P>>(
    parallels.flatMap((parallel) => lanes.map((lane) => cellOf<P, L>(lane, parallel))),
    rounds,
  );
}

export function cellOf<P extends string, L extends Lane<P>>(lane: L, parallel: number): L & Cell<P> {
  return { ...lane, parallel, samples: [], cpuMsPerCall: [] };
}

export async function measureCells<P extends string, C extends Cell<P>>(cells: C[], rounds = ROUNDS): Promise<C[]> {
  for (let round = 0; round < rounds; round += 1) {
    // In turns from either end, so that no cell always has the same one before it.
    for (const cell of round % 2 === 0 ? cells : cells.toReversed()) await measure(cell);
  }
  return cells;
}

async function measure<P extends string>(cell: Cell<P>): Promise<void> {
  const before = await cell.child.usage();
  const sample = await runLoad(cell.client, cell.parallel, ROUND_MS);
  const after = await cell.child.usage();
  cell.samples.push(sample);
  cell.cpuMsPerCall.push((after.cpuMs - before.cpuMs) / sample.calls);
}

/**
 * How many times as much the first takes as the second, both round by round: the median of the quotients within a round. The least or the
 * median of each by itself would compare rounds in which the machine was not equally fast.
 */
export function ratioOf(measured: readonly number[], reference: readonly number[]): number {
  return median(measured.map((value, round) => value / (reference[round] ?? Number.NaN)));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[Math.floor(index)] ?? Number.NaN;
  return (at((sorted.length - 1) / 2) + at(sorted.length / 2)) / 2;
}

export function figuresOf<P extends string>(cell: Cell<P>): CellFigures {
  const { path, era, parallel } = cell;
  const latencies = cell.samples.flatMap(({ latenciesMs }) => latenciesMs).toSorted((a, b) => a - b);
  return {
    path,
    era,
    parallel,
    callsPerSecond: speed(cell),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMsPerCall: median(cell.cpuMsPerCall),
  };
}

/** How fast a cell is, as a share of how fast another one is under the same load. */
export function shareOf<P extends string>(cell: Cell<P>, path: P, cells: readonly Cell<P>[]): number {
  const other = cells.find((each) => each.path === path && each.era === cell.era && each.parallel === cell.parallel);
  return other ? speed(cell) / speed(other) : Number.NaN;
}

function speed({ samples }: { samples: readonly Sample[] }): number {
  const total = (key: 'calls' | 'seconds'): number => samples.reduce((sum, sample) => sum + sample[key], 0);
  return total('calls') / total('seconds');
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
