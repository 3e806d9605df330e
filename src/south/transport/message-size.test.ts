import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { MessageLimit, MessageLimits, type MessageCounter } from './message-size.ts';

const MEGABYTE = 1_000_000;

/** Streams of one server, and which of them are paused. */
function streamsOf(limit: MessageLimit) {
  const paused = new Set<number>();
  const revoked = new Set<number>();
  const counters: MessageCounter[] = [];
  const begin = (size: number): MessageCounter => {
    const index = counters.length;
    const stream = { pause: () => void paused.add(index), resume: () => void paused.delete(index) };
    const counter = limit.counter(stream, () => void revoked.add(index));
    counters.push(counter);
    expect(counter.add(size)).toBe(true);
    return counter;
  };
  return { limit, begin, counters, paused: () => [...paused], revoked: () => [...revoked] };
}

/** One stream of each of several servers. */
function servers(count: number, clock = new TestClock()) {
  const limits = new MessageLimits(MEGABYTE, clock);
  return Array.from({ length: count }, () => streamsOf(limits.of({})));
}

test('X-3, B-1: streams wait while large messages fill the memory, and small messages always pass', () => {
  const { limit, begin, counters, paused, revoked } = streamsOf(new MessageLimit(MEGABYTE));
  for (let index = 0; index < 20; index += 1) begin(900_000);
  expect(paused()).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  begin(10_000);
  expect(paused()).not.toContain(20);
  for (const [index, counter] of counters.entries()) {
    // Of those that are left, the first does not wait.
    expect(paused()).not.toContain(index);
    expect(counter.add(100_000)).toBe(true);
    expect(paused()).not.toContain(index);
    counter.reset();
  }
  expect([paused(), revoked(), limit.receiving.size]).toEqual([[], [], 0]);
});

test('X-3: as many streams are resumed as there is room for', () => {
  const { begin, counters, paused } = streamsOf(new MessageLimit(MEGABYTE));
  begin(MEGABYTE);
  for (let left = 23; left > 0; left -= 1) begin(300_000);
  for (const size of [300_000, 300_000, 400_000]) begin(size);
  expect(paused()).toEqual([24, 25, 26]);
  // Then 7,900,000 of 8,000,000 bytes are taken: there is room for a piece of 64 KB, and a part of another one.
  counters[0]?.reset();
  expect(paused()).toEqual([26]);
});

test('X-3, B-1: large messages of one server do not keep those of others from arriving', () => {
  const [greedy, modest] = servers(2);
  for (let index = 0; index < 12; index += 1) greedy?.begin(700_000);
  expect(greedy?.paused()).toEqual([11]);
  modest?.begin(950_000);
  modest?.begin(950_000);
  expect(modest?.paused()).toEqual([1]);
  expect(greedy?.revoked()).toEqual([]);
  modest?.counters[0]?.reset();
  expect(modest?.paused()).toEqual([]);
});

test('X-3: beyond twice the memory, only the message that was begun first of all continues', () => {
  const all = servers(20);
  for (const { begin } of all) begin(800_000);
  expect(all.flatMap(({ paused }) => paused())).toEqual([]);
  for (const { counters } of all) counters[0]?.add(100_000);
  expect(all.map(({ paused }) => paused().length)).toEqual([0, ...Array.from({ length: 19 }, () => 1)]);
  for (const { counters, paused } of all) {
    expect(paused()).toEqual([]);
    counters[0]?.reset();
  }
});

test('X-3, B-1: however many messages of one server wait, those of others can arrive', () => {
  const [greedy, modest] = servers(2);
  for (let index = 0; index < 60; index += 1) greedy?.begin(300_000);
  modest?.begin(700_000);
  modest?.begin(700_000);
  // The first one continues, because it is the oldest of its server; there is no room for the second one.
  expect(modest?.paused()).toEqual([1]);
  const onHandled = greedy?.limit.handling(7_500_000);
  modest?.counters[0]?.add(100_000);
  expect(modest?.paused()).toEqual([1, 0]);
  onHandled?.();
  expect(modest?.paused()).toEqual([1]);
  modest?.counters[0]?.reset();
  expect(modest?.paused()).toEqual([]);
});

test('X-3: complete messages count until they have been handled', () => {
  const { limit, begin, paused, revoked } = streamsOf(new MessageLimit(MEGABYTE));
  expect(limit.handling(10_000)).toBeUndefined();
  const handled = Array.from({ length: 16 }, () => limit.handling(950_000));
  begin(900_000);
  begin(900_000);
  // Not even the first continues: complete messages are certain to be handled.
  expect(paused()).toEqual([0, 1]);
  handled.pop()?.();
  expect(paused()).toEqual([0, 1]);
  handled.pop()?.();
  expect(paused()).toEqual([1]);
  for (const done of handled) done?.();
  expect([paused(), revoked()]).toEqual([[], []]);
});

test('X-3: a message that does not go on while others wait gives way', () => {
  const clock = new TestClock();
  const [server] = servers(1, clock);
  if (server === undefined) throw new Error('no server');
  const { begin, counters, paused, revoked } = server;
  for (let index = 0; index < 20; index += 1) begin(420_000);
  expect(paused()).toEqual([19]);
  clock.advance(15_000);
  counters[0]?.add(530_000);
  clock.advance(14_999);
  expect(revoked()).toEqual([]);
  clock.advance(1);
  // The oldest ones that have not grown, until there is room.
  expect(revoked()).toEqual([1, 2, 3]);
  expect(counters[1]?.mistake).toContain('8 × limits.messageBytes = 8000000');
  expect(paused()).toEqual([]);
  expect(clock.armed).toBe(0);
});

test('X-3: a message whose stream was paused is not blamed for not going on', () => {
  const clock = new TestClock();
  const [server] = servers(1, clock);
  if (server === undefined) throw new Error('no server');
  const { begin, counters, paused, revoked } = server;
  for (let index = 0; index < 20; index += 1) begin(420_000);
  clock.advance(15_000);
  // Now these wait, too.
  for (const counter of counters.slice(1)) counter.add(1000);
  expect(paused()).toHaveLength(19);
  counters[0]?.add(530_000);
  clock.advance(15_000);
  counters[0]?.reset();
  counters[1]?.add(1000);
  clock.advance(14_999);
  expect(revoked()).toEqual([]);
});

test('X-3: no timer is left when nothing waits', () => {
  const clock = new TestClock();
  const [server] = servers(1, clock);
  for (let index = 0; index < 12; index += 1) server?.begin(900_000);
  expect(clock.armed).toBe(1);
  for (const counter of server?.counters ?? []) counter.reset();
  expect(clock.armed).toBe(0);
});
