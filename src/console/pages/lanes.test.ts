import { expect, test } from 'vitest';
import type { Call, Summary } from '../../lib/api-items.ts';
import { lanesOf, ticksOf } from './lanes.ts';

const call = (id: string, server: string, startedAt: number, endedAt?: number): Call => ({
  id,
  seq: 1,
  server,
  tool: 't',
  sessionId: 's',
  principal: 'local',
  view: 'hub',
  startedAt,
  status: endedAt === undefined ? 'running' : 'completed',
  waits: [],
  argumentBytes: 0,
  ...(endedAt !== undefined && { endedAt }),
});

const WINDOW = { from: 1000, to: 2000, least: 10 };

test('W-4: servers with the same name of two principals have one lane each', () => {
  const mine = call('a', 'one', 1000, 1500);
  const hers = { ...call('b', 'one', 1200, 1300), principal: 'ann' };
  const lanes = lanesOf([hers, mine], WINDOW, ({ server: name, principal }) =>
    principal === 'ann' ? { name, principal } : { name },
  );
  expect(lanes.map(({ server, bars }) => [server, bars.map(({ id }) => id)])).toEqual([
    [{ name: 'one' }, ['a']],
    [{ name: 'one', principal: 'ann' }, ['b']],
  ]);
});

test('W-4: each server has a lane, in which bars do not overlap', () => {
  const lanes = lanesOf(
    [call('b', 'two', 1100, 1200), call('a', 'one', 1000, 1500), call('c', 'one', 1400), call('d', 'one', 1500, 1600)],
    WINDOW,
  );
  expect(lanes.map(({ server, rows }) => [server.name, rows])).toEqual([
    ['one', 2],
    ['two', 1],
  ]);
  expect(lanes[0]?.bars.map(({ id, row, to }) => [id, row, to])).toEqual([
    ['a', 0, 1500],
    ['c', 1, 2000],
    ['d', 0, 1600],
  ]);
});

test('W-4: calls outside the window are left out, short calls take up room, and a lane has at most 12 rows', () => {
  expect(lanesOf([call('a', 'one', 100, 900), call('b', 'one', 900, 1001)], WINDOW)[0]?.bars).toHaveLength(1);
  const [short] = lanesOf([call('a', 'one', 1000, 1001), call('b', 'one', 1005, 1006)], WINDOW);
  expect(short?.rows).toBe(2);
  const many = Array.from({ length: 500 }, (_, index) => call(String(index), 'one', 1000 + index));
  expect(lanesOf(many, WINDOW)[0]).toMatchObject({ rows: 12, bars: { length: 500 } });
});

test('W-4: a summary of fast calls is shown as a bar', () => {
  const summary: Summary = {
    kind: 'summary',
    id: 's',
    seq: 1,
    principal: 'local',
    server: 'one',
    tool: 't',
    from: 1000,
    to: 2000,
    count: 340,
    errors: 2,
    longestMs: 12,
  };
  expect(lanesOf([summary], WINDOW)[0]?.bars).toMatchObject([{ id: 's', from: 1000, to: 2000 }]);
});

test('W-4: the time axis has few ticks at round times', () => {
  const hour = ticksOf({ from: 0, to: 3_600_000 });
  expect(hour.slice(0, 3)).toEqual([0, 600_000, 1_200_000]);
  for (const minutes of [5, 15, 60]) {
    expect(ticksOf({ from: 12_345, to: 12_345 + minutes * 60_000 }).length).toBeLessThanOrEqual(9);
  }
});
