import { isDeepStrictEqual } from 'node:util';
import { continueAfter, orderedId } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { shortenValue } from '../../lib/shorten.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { LazyMap, LazySet } from '../../lib/lazy-collections.ts';
import { Budget, UNLIMITED } from '../budget.ts';
import type { SessionStore } from '../ports/store.ts';
import type { CoreSettings } from '../settings.ts';
import type { EventType, SessionEvent } from './event.ts';
import { EventReader } from './reader.ts';

/**
 * An event is `new` until a reply takes it, `taken` while replies with it are being sent, and `delivered` once a reply
 * reached a connected client; if none did, it is `new` again. Delivered events are kept for a while, for other
 * readers of the session and for clients that return to an earlier cursor.
 */
interface Entry {
  event: SessionEvent;
  state: 'new' | 'taken' | 'delivered';
  bytes: number;
  /** The readers that have it or are being sent it. */
  readers: Set<EventReader>;
}

/** Stands for all readers, for events that concern only one of them. */
const EVERYONE = new EventReader(0);

export interface Delivery {
  events: SessionEvent[];
  /** Called exactly once, when it is known whether the reply reached the client, or may have. */
  settle(delivered: boolean, mayHaveArrived?: boolean): void;
}

const NOTHING: Delivery = { events: [], settle: () => {} };
const ANY = (): boolean => true;
const WARN_AT = 0.8;
const EVICTION_LOG_MS = 10_000;
/** How many events of maximum size a session keeps, and how many such notifications of one server. */
const EVENT_ENTRIES = 64;
const NOTIFICATION_ENTRIES = 16;
/** The approximate size of a small event. */
const SMALL = 64;

interface Waiter {
  reader: EventReader;
  events: SessionEvent[];
  wake: () => void;
}

/** Receives events. */
export interface EventSink {
  add(type: EventType, server: string, data: Record<string, unknown>): void;
}

/** The events of one session, in order. */
export class EventLog implements EventSink {
  #entries: Entry[] = [];
  #undelivered = 0;
  #newCount = 0;
  #warned = false;
  /** By server: when evictions were last logged, and how many there were since. */
  readonly #evictions = new LazyMap<string, { loggedAt: number; unlogged: number }>();
  /** The reader of a session that has only one. */
  readonly #onlyReader: EventReader;
  /** Increases when a reader that had all events may lack one. */
  #version = 0;
  readonly #notificationsWaiting = new LazyMap<string, { count: number; bytes: number }>();
  #bytes = 0;
  readonly #waiters = new LazySet<Waiter>();
  readonly #sessionId: string;
  readonly #store: SessionStore;
  readonly #limits: CoreSettings['events'];
  readonly #log: Log;
  readonly #budget: Budget;
  /** The number of undelivered events, within the total of all sessions. */
  readonly #total: Budget;
  readonly #entryBytes: number;
  readonly #clock: Clock;

  constructor(
    sessionId: string,
    store: SessionStore,
    limits: CoreSettings['events'],
    log: Log,
    { budget = UNLIMITED, total = UNLIMITED, entryBytes = Infinity, clock = systemClock } = {},
  ) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#limits = limits;
    this.#log = log;
    this.#budget = budget;
    this.#total = new Budget(Infinity, 'none', total);
    this.#entryBytes = entryBytes;
    this.#clock = clock;
    this.#onlyReader = new EventReader(clock.now());
  }

  /** Restores events that were not, or possibly not, delivered before a restart. */
  restore(events: SessionEvent[]): void {
    for (const event of events) this.#keep(event, roughSize(event.data, this.#entryBytes));
    const last = events.at(-1);
    if (last) continueAfter(last.id);
  }

  add(type: EventType, server: string, data: Record<string, unknown>): void {
    const bytes = roughSize(data, this.#entryBytes);
    const { kept, size } = bytes > this.#entryBytes ? shortened(data, this.#entryBytes) : { kept: data, size: bytes };
    if (type === 'notification') {
      if (this.#waitsAlready(server, kept)) return;
      this.#makeRoomForNotification(server, size);
    }
    this.#makeRoom(size);
    const fits = size <= this.#budget.left && this.#total.left > 0;
    if (type === 'notification' && !fits) this.#reportDropped(1, server);
    else this.#append(type, server, kept, size);
  }

  /** Reports events that were not restored for lack of memory. */
  dropped(count: number): void {
    if (count > 0) this.#reportDropped(count, '');
  }

  /** Takes the events that the reader does not have yet, for the caller's reply. */
  take(matching: (event: SessionEvent) => boolean = ANY, reader = this.#onlyReader): Delivery {
    return this.#take(matching, [reader]);
  }

  /** Takes events that concern only this reader: others do not get them, unless the reply is lost. */
  takeForEveryone(matching: (event: SessionEvent) => boolean, reader = this.#onlyReader): Delivery {
    return this.#take(matching, [reader, EVERYONE]);
  }

  /** Like `take`, preceded by events that were delivered after the cursor, which the client has not seen. */
  takeAfter(lastEventId: string, reader = this.#onlyReader): Delivery {
    const after = this.#after(lastEventId);
    if (after === undefined) {
      const action = 'returning_all_events';
      this.#log.warn('event_cursor_not_found', { sessionId: this.#sessionId, lastEventId, action });
    } else {
      // The client has seen everything before the cursor.
      for (const entry of this.#entries.slice(0, this.#entries.length - after.length)) {
        if (entry.state === 'delivered') entry.readers.add(reader);
      }
    }
    const again = (after ?? this.#entries).filter(({ state }) => state === 'delivered').map(({ event }) => event);
    const fresh = this.take(ANY, reader);
    const byId = new Map([...again, ...fresh.events].map((event) => [event.id, event]));
    const events = [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return { events, settle: (...arrival) => fresh.settle(...arrival) };
  }

  /** Whether there are new events for the reader. Events that it may have seen can wait. */
  hasNew(reader = this.#onlyReader): boolean {
    if (this.#newCount > 0) return true;
    if (!this.#lacksAny(reader)) return false;
    return this.#entries.some((entry) => entry.event.createdAt > reader.wakesFrom && lacks(reader, entry));
  }

  #lacksAny(reader: EventReader): boolean {
    if (this.#newCount > 0) return true;
    if (this.#entries.length === 0 || reader.upToDateAt === this.#version) return false;
    if (this.#entries.some((entry) => lacks(reader, entry))) return true;
    reader.upToDateAt = this.#version;
    return false;
  }

  hasAfter(lastEventId: string, reader = this.#onlyReader): boolean {
    return this.hasNew(reader) || (this.#after(lastEventId) ?? this.#entries).length > 0;
  }

  /** These readers have become indistinguishable: each counts as having only the events that all of them have. */
  confuse(readers: EventReader[]): void {
    const repeatFrom = Math.min(...readers.map((reader) => reader.repeatFrom));
    const wakesFrom = Math.min(...readers.map((reader) => reader.wakesFrom));
    for (const reader of readers) Object.assign(reader, { knownSince: this.#clock.now(), wakesFrom, repeatFrom });
    for (const entry of this.#entries) {
      if (readers.every((reader) => entry.readers.has(reader))) continue;
      for (const reader of readers) entry.readers.delete(reader);
    }
    this.#version += 1;
  }

  /** Forgets a reader. */
  forget(reader: EventReader): void {
    for (const { readers } of this.#entries) readers.delete(reader);
  }

  /** Resolves with the events of the turn that brought the first one, or with none after a timeout or abort. */
  async wait(timeoutMs: number, signal: AbortSignal, reader = this.#onlyReader): Promise<SessionEvent[]> {
    if (signal.aborted) return [];
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        signal.removeEventListener('abort', finish);
        this.#waiters.delete(waiter);
        resolve(waiter.events);
      };
      const waiter: Waiter = { reader, events: [], wake: finish };
      const cancel = this.#clock.after(timeoutMs, finish);
      signal.addEventListener('abort', finish, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Wakes all waiters when the session ends. */
  close(): void {
    for (const waiter of this.#waiters) waiter.wake();
  }

  /** Releases its part of the total of all sessions. */
  release(): void {
    this.#total.close();
  }

  get counts(): { kept: number; new: number; undelivered: number; waiters: number } {
    const kept = this.#entries.length;
    return { kept, new: this.#newCount, undelivered: this.#undelivered, waiters: this.#waiters.size };
  }

  /** `undefined` if the cursor is unknown: the client then gets everything, since repetition is better than loss. */
  #after(lastEventId: string): Entry[] | undefined {
    const at = this.#entries.findIndex(({ event }) => event.id === lastEventId);
    return at < 0 ? undefined : this.#entries.slice(at + 1);
  }

  #append(type: EventType, server: string, data: Record<string, unknown>, bytes: number): void {
    const event: SessionEvent = {
      id: orderedId(),
      sessionId: this.#sessionId,
      type,
      server,
      createdAt: this.#clock.now(),
      data,
    };
    this.#keep(event, bytes);
    this.#store.put('event', event);
    this.#warnWhenNearlyFull();
    this.#tellWaiters(event);
  }

  #keep(event: SessionEvent, bytes: number): void {
    this.#entries.push({ event, bytes, state: 'new', readers: new Set() });
    this.#undelivered += 1;
    this.#newCount += 1;
    if (event.type === 'notification') this.#countNotification(event.server, 1, bytes);
    this.#total.add(1);
    this.#countBytes(bytes);
  }

  /** Releases the memory of a dropped event. */
  #gone({ bytes }: Entry): void {
    this.#countBytes(-bytes);
  }

  #countBytes(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes);
  }

  #tellWaiters(event: SessionEvent, concerns: (reader: EventReader, told: SessionEvent[]) => boolean = ANY): void {
    for (const waiter of this.#waiters) {
      if (!concerns(waiter.reader, waiter.events)) continue;
      // The turn that brought one event may bring more: they are one wake-up with several triggers.
      if (waiter.events.length === 0) setImmediate(waiter.wake);
      waiter.events.push(event);
    }
  }

  #take(matching: (event: SessionEvent) => boolean, readers: [EventReader, ...EventReader[]]): Delivery {
    const [reader] = readers;
    if (!this.#lacksAny(reader)) return NOTHING;
    const taken = this.#entries.filter((entry) => lacks(reader, entry) && matching(entry.event));
    if (taken.length === 0) return NOTHING;
    const events = taken.map((entry) => this.#hand(entry, readers));
    const settle = (delivered: boolean, mayHaveArrived = false): void => {
      for (const entry of taken) {
        if (mayHaveArrived) entry.event = { ...entry.event, maybeSeen: true };
        if (delivered) this.#delivered(entry);
        else this.#returned(entry, readers);
      }
    };
    return { events, settle };
  }

  #hand(entry: Entry, readers: [EventReader, ...EventReader[]]): SessionEvent {
    const { event, state } = entry;
    for (const reader of readers) entry.readers.add(reader);
    if (state !== 'new') return event.createdAt <= readers[0].knownSince ? { ...event, maybeSeen: true } : event;
    entry.state = 'taken';
    this.#newCount -= 1;
    this.#version += 1;
    // Stored before the reply leaves: if the process ends meanwhile, it is unknown whether the reply arrived.
    this.#store.put('event', { ...event, maybeSeen: true });
    return event;
  }

  #delivered(entry: Entry): void {
    if (entry.state === 'delivered') return;
    // Another reply with it may have been lost in the meantime.
    if (entry.state === 'new') this.#newCount -= 1;
    entry.state = 'delivered';
    this.#forget(entry);
  }

  #returned(entry: Entry, readers: EventReader[]): void {
    for (const reader of readers) {
      entry.readers.delete(reader);
      // The reader has certainly not seen the lost event.
      reader.wakesFrom = Math.min(reader.wakesFrom, entry.event.createdAt - 1);
    }
    this.#version += 1;
    if (entry.state === 'taken' && entry.readers.size === 0) {
      entry.state = 'new';
      this.#newCount += 1;
      this.#store.put('event', entry.event);
    }
    // Another client may have started to wait while the event was being sent to the one that left.
    this.#tellWaiters(entry.event, (reader) => lacks(reader, entry));
  }

  /** Removes an event that needs no delivery. */
  #forget({ event, bytes }: Entry): void {
    this.#undelivered -= 1;
    this.#total.give(1);
    if (event.type === 'notification') this.#countNotification(event.server, -1, -bytes);
    this.#store.drop('event', event.id);
  }

  /** Delivered events go first; if there are none, the oldest of the others. */
  #makeRoom(bytes: number): void {
    while (!this.#hasRoom(bytes)) {
      const delivered = this.#entries.findIndex(({ state }) => state === 'delivered');
      if (delivered >= 0) {
        for (const gone of this.#entries.splice(delivered, 1)) this.#gone(gone);
      } else if (!this.#evict(Math.ceil(this.#limits.perSession * 0.1), ANY, '')) return;
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#entries.length >= this.#limits.perSession) return false;
    if (this.#bytes + bytes > EVENT_ENTRIES * this.#entryBytes) return false;
    return bytes <= this.#budget.left && this.#total.left > 0;
  }

  /** A list change is reported once until the client has seen it; some servers report it for every entry. */
  #waitsAlready(server: string, { method, params }: Record<string, unknown>): boolean {
    if (!String(method).endsWith('/list_changed')) return false;
    return this.#entries.some(
      ({ event: { type, server: of, data }, state }) =>
        state === 'new' &&
        type === 'notification' &&
        of === server &&
        data['method'] === method &&
        isDeepStrictEqual(data['params'], params),
    );
  }

  /** A flood of notifications evicts the oldest ones of that server, not other events of the session. */
  #makeRoomForNotification(server: string, more: number): void {
    const isOfServer = (event: SessionEvent): boolean => event.type === 'notification' && event.server === server;
    for (;;) {
      const { count = 0, bytes = 0 } = this.#notificationsWaiting.get(server) ?? {};
      const fits = bytes + more <= NOTIFICATION_ENTRIES * this.#entryBytes;
      if (fits && count < this.#limits.notificationsPerServer) return;
      if (!this.#evict(1, isOfServer, server)) return;
    }
  }

  /** False if there was nothing to evict. */
  #evict(count: number, matching: (event: SessionEvent) => boolean, server: string): boolean {
    const evictable = this.#entries
      .filter(({ event, state }) => state === 'new' && event.type !== 'events_dropped' && matching(event))
      .slice(0, count);
    if (evictable.length === 0) return false;
    const gone = new Set(evictable);
    // A waiting client is not woken by evicted events, but by the event that reports the eviction.
    const ids = new Set(evictable.map(({ event }) => event.id));
    for (const waiter of this.#waiters) waiter.events = waiter.events.filter(({ id }) => !ids.has(id));
    this.#entries = this.#entries.filter((entry) => !gone.has(entry));
    this.#newCount -= evictable.length;
    for (const entry of evictable) {
      // A reply that still has it must not count it again.
      entry.state = 'delivered';
      this.#forget(entry);
      this.#gone(entry);
    }
    this.#reportDropped(evictable.length, server);
    this.#logEviction(evictable.length, server);
    return true;
  }

  /** Logs rarely for each server: a flood of notifications must not become a flood of log lines. */
  #logEviction(count: number, server: string): void {
    const now = this.#clock.now();
    const { loggedAt, unlogged } = this.#evictions.get(server) ?? { loggedAt: -Infinity, unlogged: 0 };
    if (now - loggedAt < EVICTION_LOG_MS) {
      this.#evictions.set(server, { loggedAt, unlogged: unlogged + count });
      return;
    }
    this.#evictions.set(server, { loggedAt: now, unlogged: 0 });
    this.#log.warn('event_store_eviction', {
      sessionId: this.#sessionId,
      evictedCount: unlogged + count,
      reason: server === '' ? 'event limit' : `notification limit of '${server}'`,
    });
  }

  #reportDropped(count: number, server: string): void {
    const earlier = this.#entries.find(
      ({ event, state }) => state === 'new' && event.type === 'events_dropped' && event.server === server,
    );
    if (earlier === undefined) {
      this.#append('events_dropped', server, { count }, SMALL);
      return;
    }
    const before = earlier.event.data['count'];
    earlier.event = { ...earlier.event, data: { count: count + (typeof before === 'number' ? before : 0) } };
    this.#store.put('event', earlier.event);
    const { id } = earlier.event;
    this.#tellWaiters(earlier.event, (_reader, told) => !told.some((event) => event.id === id));
  }

  #countNotification(server: string, by: 1 | -1, bytes: number): void {
    const before = this.#notificationsWaiting.get(server) ?? { count: 0, bytes: 0 };
    const count = before.count + by;
    this.#notificationsWaiting.set(server, { count, bytes: before.bytes + bytes });
    if (by === 1 && count === Math.ceil(this.#limits.notificationsPerServer * WARN_AT)) {
      this.#log.warn('notifications_approaching_limit', {
        sessionId: this.#sessionId,
        server,
        totalCount: count,
        maxNotifications: this.#limits.notificationsPerServer,
      });
    }
  }

  #warnWhenNearlyFull(): void {
    const full = this.#undelivered / this.#limits.perSession;
    if (full < WARN_AT) this.#warned = false;
    else if (!this.#warned) {
      this.#warned = true;
      this.#log.warn('event_store_approaching_limit', {
        sessionId: this.#sessionId,
        totalCount: this.#undelivered,
        maxEvents: this.#limits.perSession,
      });
    }
  }
}

/** The shortened form of an event that is too large. */
function shortened(data: Record<string, unknown>, limit: number): { kept: Record<string, unknown>; size: number } {
  const kept = { ...(shortenValue(data, limit) as Record<string, unknown>), truncated: true };
  return { kept, size: limit };
}

function lacks(reader: EventReader, { event, state, readers }: Entry): boolean {
  if (state === 'new') return true;
  if (readers.has(reader) || readers.has(EVERYONE)) return false;
  return event.createdAt >= reader.repeatFrom;
}
