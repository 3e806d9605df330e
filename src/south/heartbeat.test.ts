import { expect, test } from 'vitest';
import { TestClock } from '../../tests/support/test-clock.ts';
import { turn } from '../../tests/support/turn.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { Heartbeat, PingSchedule, type PingedPeer } from './heartbeat.ts';

const PERIOD_MS = 1000;

test('B-2: a connection is pinged once per period until it ends', async () => {
  const { clock, open } = setUp();
  const { heartbeat, pings } = open();
  await pass(clock, 10);
  expect(pings()).toBe(10);
  // Whoever ends the connection may do so twice.
  heartbeat.stop();
  heartbeat.stop();
  expect(clock.armed).toBe(0);
  await pass(clock, 10);
  expect(pings()).toBe(10);
});

test('B-2: connections that were opened together are pinged one after the other', async () => {
  const { clock, open } = setUp();
  const first = open();
  clock.advance(PERIOD_MS - 1);
  const all = [first, open(), open(), open()];
  const pings = (): number[] => all.map((each) => each.pings());
  clock.advance(1);
  await turn();
  expect(pings()).toEqual([1, 0, 0, 0]);
  clock.advance(PERIOD_MS / 4);
  await turn();
  expect(pings()).toEqual([1, 1, 0, 0]);
  await pass(clock, 1);
  expect(pings()).toEqual([2, 2, 1, 1]);
  first.heartbeat.stop();
  await pass(clock, 3);
  expect(pings()).toEqual([2, 5, 4, 4]);
});

test('B-2: with more than 1,000 connections each one is pinged less often', async () => {
  const { clock, open } = setUp();
  const all = Array.from({ length: 2000 }, open);
  // The timer was armed for the first of them.
  await pass(clock, 1);
  const count = (): number => all.reduce((sum, { pings }) => sum + pings(), 0);
  expect(count()).toBe(1);
  await pass(clock, 2);
  expect(count()).toBe(2001);
  expect(new Set(all.map(({ pings }) => pings()))).toEqual(new Set([1, 2]));
});

test('B-2, X-3: a server is not lost without an answer to a ping if large messages may be before the answer', async () => {
  const transport = { isBehind: true, received: 0 };
  const gone: ServerFailure[] = [];
  let onPing = (): void => {};
  const request = async (): Promise<never> => {
    onPing();
    throw new ServerFailure('timeout', 'no answer');
  };
  const schedule = new PingSchedule(PERIOD_MS, new TestClock());
  const onGone = (failure: ServerFailure): void => void gone.push(failure);
  const heartbeat = new Heartbeat(
    { isModern: false, request },
    { mayBeSilent: () => false, transport, onGone, schedule },
  );
  await heartbeat.check('a test');
  // That may also begin or end while the answer is awaited.
  for (const isBehind of [false, true]) {
    onPing = () => (transport.isBehind = isBehind);
    await heartbeat.check('a test');
  }
  transport.isBehind = false;
  onPing = () => (transport.received += 100_000);
  await heartbeat.check('a test');
  expect(gone).toEqual([]);
  // Such as log messages.
  onPing = () => (transport.received += 1000);
  await heartbeat.check('a test');
  expect(gone).toHaveLength(1);
  heartbeat.stop();
});

function setUp() {
  const clock = new TestClock();
  const schedule = new PingSchedule(PERIOD_MS, clock);
  const open = (): { heartbeat: Heartbeat; pings: () => number } => {
    let count = 0;
    const request = async (): Promise<never> => {
      count += 1;
      return {} as never;
    };
    const peer: PingedPeer = { isModern: false, request };
    const onGone = (): void => {
      throw new Error('the server answers');
    };
    return {
      heartbeat: new Heartbeat(peer, { mayBeSilent: () => false, transport: {}, onGone, schedule }),
      pings: () => count,
    };
  };
  return { clock, open };
}

/** So many periods. A ping is answered before the next one. */
async function pass(clock: TestClock, periods: number): Promise<void> {
  for (let ms = 0; ms < periods * PERIOD_MS; ms += 1) {
    clock.advance(1);
    await turn();
  }
}
