import { expect, test } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import { turn } from '../../tests/support/turn.ts';
import { Heartbeat, type PingedConnections, type PingedPeer } from './heartbeat.ts';

const EVERY_MS = 1000;

test.each([
  [1, 10],
  [1000, 10],
  [1001, 5],
  [5000, 2],
])('B-2: with %i connections, a connection is pinged %i times in ten turns', async (count, expected) => {
  const clock = new TestClock();
  const { peer, pings } = countingPeer();
  const pinged = { count: count - 1 };
  const heartbeat = open(peer, pinged, clock);
  for (let turns = 0; turns < 10; turns += 1) {
    clock.advance(EVERY_MS);
    await turn();
  }
  expect(pings()).toBe(expected);
  // Whoever ends the connection may do so twice.
  heartbeat.stop();
  heartbeat.stop();
  expect(pinged.count).toBe(count - 1);
  clock.advance(10 * EVERY_MS);
  expect(pings()).toBe(expected);
});

test('B-2: connections that were opened together are not all pinged at the same time', async () => {
  const clock = new TestClock();
  const { peer, pings } = countingPeer();
  const pinged = { count: 0 };
  const heartbeats = Array.from({ length: 1500 }, () => open(peer, pinged, clock));
  for (const expected of [750, 1500, 2250, 3000]) {
    clock.advance(EVERY_MS);
    await turn();
    expect(pings()).toBe(expected);
  }
  for (const heartbeat of heartbeats) heartbeat.stop();
});

function countingPeer(): { peer: PingedPeer; pings: () => number } {
  let count = 0;
  const request = async (): Promise<never> => {
    count += 1;
    return {} as never;
  };
  return { peer: { isModern: false, request }, pings: () => count };
}

function open(peer: PingedPeer, pinged: PingedConnections, clock: TestClock): Heartbeat {
  const onGone = (): void => {
    throw new Error('the server answers');
  };
  return new Heartbeat(peer, { everyMs: EVERY_MS, mayBeSilent: () => false, onGone, clock, pinged });
}
