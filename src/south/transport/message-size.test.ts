import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { MessageLimit, MessageLimits, type MessageCounter } from './message-size.ts';

const MEGABYTE = 1_000_000;

/** Streams of one server, and which of them are paused. */
function streamsOf(limit: MessageLimit) {
  const paused = new Set<number>();
  const revoked = new Set<number>();
  const counters: MessageCounter[] = [];
  const begin = (): MessageCounter => {
    const index = counters.length;
    const stream = { pause: () => void paused.add(index), resume: () => void paused.delete(index) };
    const counter = limit.counter(stream, () => void revoked.add(index));
    counters.push(counter);
    return counter;
  };
  return { begin, counters, paused: () => [...paused], revoked: () => [...revoked] };
}

test('X-3, B-1: streams wait while large messages fill the room, and small messages always pass', () => {
  const limit = new MessageLimit(MEGABYTE);
  const { begin, counters, paused, revoked } = streamsOf(limit);
  for (let index = 0; index < 20; index += 1) expect(begin().add(900_000)).toBe(true);
  expect(paused()).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  expect(begin().add(10_000)).toBe(true);
  expect(paused()).not.toContain(20);
  for (const [index, counter] of counters.entries()) {
    // Of those that are left, the first does not wait.
    expect(paused()).not.toContain(index);
    expect(counter.add(100_000)).toBe(true);
    counter.reset();
  }
  expect([paused(), revoked(), limit.reserved]).toEqual([[], [], 0]);
});

test('X-3, B-1: the message that was begun first continues although there is no room', () => {
  const { begin, paused } = streamsOf(new MessageLimit(MEGABYTE));
  const [first, second] = [begin(), begin()];
  for (const counter of [first, second]) counter.add(300_000);
  for (let left = 8; left > 0; left -= 1) begin().add(950_000);
  for (const counter of [first, second]) expect(counter.add(1000)).toBe(true);
  expect(paused()).not.toContain(0);
  expect(paused()).toContain(1);
  first.reset();
  expect(paused()).not.toContain(1);
});

test('X-3: complete messages count until they have been handled, and their streams wait for them', () => {
  const limit = new MessageLimit(MEGABYTE);
  const { begin, paused, revoked } = streamsOf(limit);
  expect(limit.handling(10_000)).toBeUndefined();
  const handled = Array.from({ length: 8 }, () => limit.handling(950_000));
  begin().add(900_000);
  begin().add(900_000);
  // Not even the first one continues: what is complete will be handled for certain.
  expect(paused()).toEqual([0, 1]);
  handled.pop()?.();
  expect(paused()).toEqual([0, 1]);
  handled.pop()?.();
  expect(paused()).toEqual([]);
  for (const done of handled) done?.();
  expect(revoked()).toEqual([]);
});

test('X-3: a message that does not end gives way if others have waited for it for 30 seconds', () => {
  const clock = new TestClock();
  const limits = new MessageLimits(MEGABYTE, clock);
  const { begin, counters, paused, revoked } = streamsOf(limits.of({}));
  for (let index = 0; index < 10; index += 1) begin().add(900_000);
  expect(paused()).toEqual([8, 9]);
  clock.advance(29_999);
  // Progress, but not enough room yet.
  counters[1]?.reset();
  expect(paused()).toEqual([8, 9]);
  clock.advance(29_999);
  expect(revoked()).toEqual([]);
  clock.advance(1);
  expect(revoked()).toEqual([0]);
  expect(counters[0]?.mistake).toContain('8 × limits.messageBytes = 8000000 together');
  expect(paused()).toEqual([]);
  expect(clock.armed).toBe(0);
});

test('X-3: no timer is left when nothing waits', () => {
  const clock = new TestClock();
  const { begin, counters } = streamsOf(new MessageLimits(MEGABYTE, clock).of({}));
  for (let index = 0; index < 12; index += 1) begin().add(900_000);
  expect(clock.armed).toBe(1);
  for (const counter of counters) counter.reset();
  expect(clock.armed).toBe(0);
});

test('X-3: the server that takes most of the room gives way to others', () => {
  const limits = new MessageLimits(MEGABYTE);
  const [greedy, modest] = [streamsOf(limits.of({})), streamsOf(limits.of({}))];
  for (let index = 0; index < 12; index += 1) greedy.begin().add(700_000);
  expect(modest.begin().add(950_000)).toBe(true);
  expect(modest.paused()).toEqual([]);
  expect(greedy.revoked().length).toBeGreaterThan(0);
});
