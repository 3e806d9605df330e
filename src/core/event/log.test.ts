import { describe, expect, test } from 'vitest';
import { createLog } from '../../lib/log.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { Budget } from '../budget.ts';
import { EventLog } from './log.ts';
import { EventReader } from './reader.ts';

const silent = createLog('silent');

async function eventLog(limits: Partial<{ perSession: number; notificationsPerServer: number }> = {}) {
  const store = await openSqliteStore({ path: ':memory:', log: silent });
  const lines: string[] = [];
  const log = createLog('warn', (line) => lines.push(line));
  const settings = { perSession: 10, total: 1000, notificationsPerServer: 3, logsPerServer: 5, ...limits };
  return { store, lines, events: new EventLog('s', store, settings, log) };
}

const never = new AbortController().signal;

describe('E-1: delivery', () => {
  test('E-1, T-6: delivers events in order, with increasing ids, and once', async () => {
    const { events } = await eventLog({ perSession: 1000 });
    for (let i = 0; i < 300; i += 1) events.add('task_created', 'a', { i });
    const delivery = events.take();
    delivery.settle(true);
    expect(delivery.events.map(({ data }) => data['i'])).toEqual(Array.from({ length: 300 }, (_, i) => i));
    const ids = delivery.events.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(300);
    expect(events.take().events).toEqual([]);
  });

  test('E-1: delivers events of a lost reply again, in their old order', async () => {
    const { events } = await eventLog();
    events.add('task_created', 'a', { n: 1 });
    const lost = events.take();
    events.add('task_created', 'a', { n: 2 });
    lost.settle(false);
    expect(events.take().events.map(({ data }) => data['n'])).toEqual([1, 2]);
  });

  test('E-1, K-3: marks events that may have arrived when it delivers them again', async () => {
    const { events, store } = await eventLog();
    events.add('task_created', 'a', { n: 1 });
    events.take().settle(false, true);
    expect(await store.all('event')).toMatchObject([{ maybeSeen: true }]);
    const again = events.take();
    expect(again.events).toMatchObject([{ data: { n: 1 }, maybeSeen: true }]);
    again.settle(true);
    expect(events.take().events).toEqual([]);
  });

  test('E-1: does not deliver events twice while their delivery is pending', async () => {
    const { events } = await eventLog();
    events.add('task_created', 'a', {});
    expect(events.take().events).toHaveLength(1);
    expect(events.hasNew()).toBe(false);
    expect(events.take().events).toHaveLength(0);
  });

  test('P-1: only undelivered events stay in the store', async () => {
    const { events, store } = await eventLog();
    events.add('task_created', 'a', { n: 1 });
    expect(await store.all('event')).toHaveLength(1);
    events.take().settle(true);
    expect(await store.all('event')).toHaveLength(0);
  });

  test('H-7: a cursor brings back the events delivered after it', async () => {
    const { events } = await eventLog();
    for (const n of [1, 2, 3]) events.add('task_created', 'a', { n });
    const first = events.take();
    first.settle(true);
    const again = events.takeAfter(first.events[0]?.id ?? '');
    expect(again.events.map(({ data }) => data['n'])).toEqual([2, 3]);
  });
});

describe('E-2: limits', () => {
  test('E-2: delivered events are dropped first', async () => {
    const { events } = await eventLog({ perSession: 4 });
    for (const n of [1, 2, 3]) events.add('task_created', 'a', { n });
    events.take().settle(true);
    for (const n of [4, 5, 6, 7]) events.add('task_created', 'a', { n });
    expect(events.take().events.map(({ data }) => data['n'])).toEqual([4, 5, 6, 7]);
  });

  test('E-2: dropped undelivered events are counted', async () => {
    const { events, lines } = await eventLog({ perSession: 10 });
    for (let n = 1; n <= 25; n += 1) events.add('task_created', 'a', { n });
    const { events: left } = events.take();
    const dropped = left.filter(({ type }) => type === 'events_dropped');
    const kept = left.filter(({ type }) => type === 'task_created');
    expect(dropped).toHaveLength(1);
    expect(kept.length + Number(dropped[0]?.data['count'])).toBe(25);
    expect(lines.some((line) => line.includes('event_store_approaching_limit'))).toBe(true);
    expect(lines.some((line) => line.includes('event_store_eviction'))).toBe(true);
  });

  test('E-3: repeated list_changed notifications are kept once until they are delivered', async () => {
    const { events } = await eventLog({ notificationsPerServer: 100, perSession: 100 });
    const changed = (server: string, list: string, params = {}): void =>
      events.add('notification', server, { method: `notifications/${list}/list_changed`, params });
    for (let n = 0; n < 6; n += 1) changed('a', 'tools');
    changed('b', 'tools');
    changed('a', 'prompts');
    changed('a', 'tools', { more: 1 });
    for (let n = 0; n < 2; n += 1) events.add('notification', 'a', { method: 'notifications/resources/updated' });
    const first = events.take();
    expect(first.events.map(({ server, data }) => `${server} ${String(data['method']).slice(14)}`)).toEqual([
      'a tools/list_changed',
      'b tools/list_changed',
      'a prompts/list_changed',
      'a tools/list_changed',
      'a resources/updated',
      'a resources/updated',
    ]);
    // It may have changed after the reply was written.
    changed('a', 'tools');
    first.settle(true);
    expect(events.take().events).toHaveLength(1);
  });

  test('E-2: many notifications of one server displace no events of other servers', async () => {
    const { events } = await eventLog({ perSession: 100 });
    events.add('task_created', 'quiet', {});
    for (let n = 0; n < 50; n += 1) events.add('notification', 'loud', { n });
    events.add('notification', 'quiet', {});
    const { events: left } = events.take();
    expect(left.filter(({ server }) => server === 'quiet')).toHaveLength(2);
    expect(left.filter(({ server, type }) => server === 'loud' && type === 'notification')).toHaveLength(3);
    const dropped = left.find(({ type }) => type === 'events_dropped');
    expect(dropped).toMatchObject({ server: 'loud', data: { count: 47 } });
  });
});

describe('E-4, H-7: waiting', () => {
  test('H-7: events of the same turn wake a waiting reader once', async () => {
    const { events } = await eventLog();
    const waiting = events.wait(10_000, never);
    events.add('task_created', 'a', {});
    events.add('task_completed', 'a', {});
    expect((await waiting).map(({ type }) => type)).toEqual(['task_created', 'task_completed']);
    expect(events.counts.waiters).toBe(0);
  });

  test('E-4: all waiting readers wake and get the same events', async () => {
    const { events } = await eventLog();
    const both = Promise.all([events.wait(10_000, never), events.wait(10_000, never)]);
    events.add('task_created', 'a', {});
    const [one, two] = await both;
    expect(one).toEqual(two);
  });

  test('H-7: a wait ends after its timeout or when the caller aborts', async () => {
    const { events } = await eventLog();
    expect(await events.wait(1, never)).toEqual([]);
    const caller = new AbortController();
    const waiting = events.wait(10_000, caller.signal);
    caller.abort();
    expect(await waiting).toEqual([]);
    expect(await events.wait(10_000, caller.signal)).toEqual([]);
    expect(events.counts.waiters).toBe(0);
  });
});

describe('S-5: several readers', () => {
  const numbers = ({ events }: { events: { data: Record<string, unknown> }[] }): unknown[] =>
    events.map(({ data }) => data['n']);

  async function two() {
    const { events, store } = await eventLog();
    for (const n of [1, 2]) events.add('task_created', 'a', { n });
    return { events, store, a: new EventReader(Date.now()), b: new EventReader(Date.now()) };
  }

  test('S-5: each reader gets each event once, even while the delivery to another is pending', async () => {
    const { events, a, b } = await two();
    const first = events.take(undefined, a);
    const second = events.take(undefined, b);
    expect([numbers(first), numbers(second)]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    first.settle(true);
    second.settle(true);
    expect([events.hasNew(a), events.hasNew(b)]).toEqual([false, false]);
    expect(events.counts).toMatchObject({ new: 0, undelivered: 0 });
  });

  test('S-5: events of a lost reply return to the reader that lost them, and are stored while no reader has them', async () => {
    const { events, store, a, b } = await two();
    const lost = events.take(undefined, a);
    const arrived = events.take(undefined, b);
    lost.settle(false);
    expect(events.counts).toMatchObject({ new: 0, undelivered: 2 });
    expect(events.hasNew(a)).toBe(true);
    arrived.settle(true);
    expect(await store.all('event')).toEqual([]);
    expect(numbers(events.take(undefined, a))).toEqual([1, 2]);
    const both = await two();
    const replies = [both.events.take(undefined, both.a), both.events.take(undefined, both.b)];
    for (const reply of replies) reply.settle(false);
    expect(both.events.counts).toMatchObject({ new: 2, undelivered: 2 });
    expect(await both.store.all('event')).toHaveLength(2);
  });

  test('S-5: a lost reply wakes only the reader that lost it', async () => {
    const { events, a, b } = await two();
    const lost = events.take(undefined, a);
    events.take(undefined, b).settle(true);
    const waiting = { a: events.wait(60_000, never, a), b: events.wait(50, never, b) };
    lost.settle(false);
    expect(await waiting.a).toHaveLength(2);
    expect(await waiting.b).toEqual([]);
  });

  test('S-5: an event that one reader takes for everyone goes to no other reader, unless the reply is lost', async () => {
    const { events, a, b } = await two();
    const own = events.takeForEveryone(({ data }) => data['n'] === 1, a);
    expect(numbers(events.take(undefined, b))).toEqual([2]);
    own.settle(false);
    expect(numbers(events.take(undefined, b))).toEqual([1]);
  });

  test('S-5: readers that are not distinguishable get again, marked, every event that not all of them got', async () => {
    const { events, a, b } = await two();
    events.take(({ data }) => data['n'] === 1, a).settle(true);
    events.take(undefined, b).settle(true);
    events.confuse([a, b]);
    const again = events.take(undefined, b);
    expect(again.events).toMatchObject([{ data: { n: 2 }, maybeSeen: true }]);
  });

  test('S-5, H-7: a new reader gets events that others have read, but they do not end its wait', async () => {
    const { events, a } = await two();
    events.take(undefined, a).settle(true);
    const late = new EventReader(Date.now() + 1);
    expect(events.hasNew(late)).toBe(false);
    expect(events.take(undefined, late).events).toMatchObject([{ maybeSeen: true }, { maybeSeen: true }]);
  });

  test('S-5: a forgotten reader gets all events again', async () => {
    const { events, a } = await two();
    const lost = events.take(undefined, a);
    events.forget(a);
    lost.settle(false);
    expect(events.counts).toMatchObject({ new: 2, undelivered: 2 });
  });
});

test('H-7, E-2: the triggers of a wait contain the report of dropped events, and not the dropped events', async () => {
  const { events } = await eventLog({ perSession: 10, notificationsPerServer: 2 });
  for (let round = 0; round < 2; round += 1) {
    const waiting = events.wait(10_000, never);
    for (let n = 0; n < 5; n += 1) events.add('notification', 'a', { n });
    const triggers = await waiting;
    expect(triggers.map(({ type, data }) => [type, data['n']])).toEqual(
      expect.arrayContaining([
        ['notification', 3],
        ['notification', 4],
        ['events_dropped', undefined],
      ]),
    );
    expect(triggers).toHaveLength(3);
    // The second time nothing was delivered in between, so the count goes on.
  }
  expect(
    events
      .take()
      .events.map(({ type }) => type)
      .toSorted(),
  ).toEqual(['events_dropped', 'notification', 'notification']);
});

test('O-1, H-7: an unknown cursor is logged and returns all events', async () => {
  const { events, lines } = await eventLog();
  events.add('task_created', 'a', { n: 1 });
  events.take().settle(true);
  expect(events.takeAfter('unknown').events).toHaveLength(1);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: 'event_cursor_not_found', data: { lastEventId: 'unknown', action: 'returning_all_events' } },
  ]);
});

test('E-2, X-3: all sessions together keep a limited number of events', async () => {
  const { store } = await eventLog();
  const total = new Budget(10, 'events.total');
  const limits = { perSession: 1000, total: 10, notificationsPerServer: 1000, logsPerServer: 5 };
  const logs = ['a', 'b', 'c'].map((id) => new EventLog(id, store, limits, silent, { total }));
  const [a, b, c] = logs as [EventLog, EventLog, EventLog];
  for (let n = 0; n < 20; n += 1) a.add('notification', 'x', { n });
  for (let n = 0; n < 20; n += 1) b.add('notification', 'x', { n });
  expect(a.counts.kept + b.counts.kept).toBeLessThanOrEqual(12);
  // What was dropped is counted; and a task that ended is told in any case.
  for (const log of [a, b]) expect(log.take().events.map(({ type }) => type)).toContain('events_dropped');
  c.add('task_completed', 'x', { n: 1 });
  expect(c.take().events.map(({ type }) => type)).toContain('task_completed');
  for (const log of logs) log.release();
  expect(total.used).toBe(0);
});

test('E-2: delivered events of one session displace no undelivered events of another session', async () => {
  const store = await openSqliteStore({ path: ':memory:', log: silent });
  const total = new Budget(10, 'events.total');
  const limits = { perSession: 1000, total: 10, notificationsPerServer: 1000, logsPerServer: 5 };
  const [busy, quiet] = ['a', 'b'].map((id) => new EventLog(id, store, limits, silent, { total }));
  for (let n = 0; n < 9; n += 1) busy?.add('task_completed', 'one', { n });
  busy?.take().settle(true);
  for (let n = 0; n < 5; n += 1) quiet?.add('task_completed', 'one', { n });
  expect(quiet?.take().events.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => 'task_completed'));
});
