/** Arranges calls in lanes, one for each server, so that no two bars lie on each other. */

import { byName, type ServerName } from '../state/server-names.ts';
import { serverKey } from '../../lib/server-key.ts';
import type { Call, Summary } from '../../lib/api-items.ts';

export interface Bar {
  id: string;
  from: number;
  to: number;
  row: number;
  item: Call | Summary;
}

export interface ServerLane {
  server: ServerName;
  rows: number;
  bars: Bar[];
}

/** Beyond this the last row takes the rest. */
const MAX_ROWS = 12;

export interface Window {
  from: number;
  to: number;
  /** The least time that a bar takes up, so that short calls are visible. */
  least: number;
}

export function lanesOf(
  items: readonly (Call | Summary)[],
  window: Window,
  serverOf: (item: Call | Summary) => ServerName = ({ server: name }) => ({ name }),
): ServerLane[] {
  const lanes = new Map<string, ServerLane>();
  const ends = new Map<string, number[]>();
  const visible = items
    .map((item) => ({ item, ...timesOf(item, window.to) }))
    .filter(({ from, to }) => to >= window.from && from <= window.to)
    .toSorted((a, b) => a.from - b.from || b.to - a.to);
  for (const { item, from, to } of visible) {
    const server = serverOf(item);
    const key = serverKey(server);
    const lane = lanes.get(key) ?? { server, rows: 0, bars: [] };
    const rowEnds = ends.get(key) ?? [];
    lanes.set(key, lane);
    ends.set(key, rowEnds);
    const free = rowEnds.findIndex((end) => end <= from);
    const row = Math.min(free >= 0 ? free : rowEnds.length, MAX_ROWS - 1);
    rowEnds[row] = Math.max(to, from + window.least);
    lane.rows = Math.max(lane.rows, row + 1);
    lane.bars.push({ id: item.id, from, to, row, item });
  }
  return [...lanes.values()].toSorted((a, b) => byName(a.server, b.server));
}

/** Whether other bars may lie on this one: names would not be readable. */
export const isCrowded = ({ rows }: ServerLane, { row }: Bar): boolean => rows === MAX_ROWS && row === MAX_ROWS - 1;

export const isSummary = (item: Call | Summary): item is Summary => 'kind' in item;

export function timesOf(item: Call | Summary, now: number): { from: number; to: number } {
  return isSummary(item) ? { from: item.from, to: item.to } : { from: item.startedAt, to: item.endedAt ?? now };
}

const STEPS = [15_000, 30_000, 60_000, 300_000, 600_000, 900_000];

/** Moments for the axis: round ones, at most eight. */
export function ticksOf({ from, to }: Pick<Window, 'from' | 'to'>): number[] {
  const step = STEPS.find((each) => (to - from) / each <= 8) ?? 1_800_000;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}
