import { expect, test } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import { turn } from '../../tests/support/turn.ts';
import { Heartbeat, type PingedPeer } from './heartbeat.ts';

const EVERY_MS = 1000;

test.each([
  [1, 6],
  [1000, 6],
  [1001, 3],
  [5000, 1],
])('B-2: with %i connections, a connection is pinged %i times in six turns', async (count, expected) => {
  const clock = new TestClock();
  let pings = 0;
  const request = async (): Promise<never> => {
    pings += 1;
    return {} as never;
  };
  const pinged = { count: count - 1 };
  const onGone = (): void => {
    throw new Error('the server answers');
  };
  const peer: PingedPeer = { isModern: false, request };
  const heartbeat = new Heartbeat(peer, { everyMs: EVERY_MS, mayBeSilent: () => false, onGone, clock, pinged });
  for (let turns = 0; turns < 6; turns += 1) {
    clock.advance(EVERY_MS);
    await turn();
  }
  expect(pings).toBe(expected);
  // Whoever ends the connection may do so twice.
  heartbeat.stop();
  heartbeat.stop();
  expect(pinged.count).toBe(count - 1);
  clock.advance(10 * EVERY_MS);
  expect(pings).toBe(expected);
});
