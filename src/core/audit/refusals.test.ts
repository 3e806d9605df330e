import { describe, expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import type { NewLine } from './line.ts';
import { Refusals } from './refusals.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

type Told = NewLine & { address?: string; count?: number; from?: number; to?: number };

function startRefusals() {
  const [clock, told] = [new TestClock(100 * DAY), [] as Told[]];
  const refusals = new Refusals(clock, (line) => told.push(line));
  let tried = 0;
  const tryFromNewAddresses = (count: number): void => {
    for (let index = 0; index < count; index += 1) refusals.refused('mcp', `address ${(tried += 1)}`);
  };
  /** All attempts that the lines tell of. */
  const counted = (): number => told.reduce((sum, { count = 1 }) => sum + count, 0);
  const withAddress = (): number => told.filter(({ address }) => address !== undefined).length;
  return { clock, told, refusals, tryFromNewAddresses, counted, withAddress };
}

describe('changes of the system clock', () => {
  test.each([
    ['forwards', DAY],
    ['backwards', -DAY],
  ])('G-5: %s: every attempt is recorded within a minute, and no period ends before it begins', (_way, ms) => {
    const { clock, told, refusals, counted } = startRefusals();
    for (let index = 0; index < 3; index += 1) refusals.refused('mcp', '10.0.0.9');
    clock.jump(ms);
    refusals.refused('mcp', '10.0.0.9');
    clock.advance(MINUTE);
    expect(told).toMatchObject([{ address: '10.0.0.9' }, { address: '10.0.0.9', count: 3 }]);
    const { from = 0, to = 0 } = told[1] ?? {};
    expect(to - from).toBe(DAY);
    refusals.refused('mcp', '10.0.0.9');
    refusals.close();
    expect(counted()).toBe(5);
    expect(clock.armed).toBe(0);
  });

  test('G-5: repeated clock changes do not let attempts fill the record', () => {
    const { clock, refusals, tryFromNewAddresses, counted, withAddress } = startRefusals();
    tryFromNewAddresses(500);
    expect(withAddress()).toBe(100);
    // It went back: one more address has a line of its own after a minute, not after a day.
    clock.jump(-DAY);
    tryFromNewAddresses(10);
    expect(withAddress()).toBe(100);
    clock.advance(MINUTE);
    tryFromNewAddresses(10);
    expect(withAddress()).toBe(101);
    // It went forwards: as many as at the start, and not more.
    clock.jump(10 * DAY);
    tryFromNewAddresses(500);
    expect(withAddress()).toBe(201);
    refusals.close();
    expect(counted()).toBe(1020);
  });
});
