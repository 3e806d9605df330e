import type { Clock } from '../../lib/clock.ts';
import type { ClientConnection } from '../http/addressed.ts';
import type { RequestId } from '../message.ts';
import { EventReader } from '../../core/event/reader.ts';

/** The limit on remembered windows per state. */
const MAX_WINDOWS = 32;

/** Longer ids are ignored. */
const MAX_ID = 128;

/** The parts of a session that readers need. */
interface Readable {
  events: { confuse(readers: EventReader[]): void; forget(reader: EventReader): void };
}

interface Window {
  reader: EventReader;
  /** The prefix of the number in its request ids. */
  prefix: string;
  /** The highest number so far. */
  last: number;
  /** Lower numbers that were skipped, and until when a request with them is awaited. */
  missing: Map<number, number>;
  /** Whether it has sent more than one request. */
  returned: boolean;
  connection: WeakRef<ClientConnection>;
}

/** How far parallel requests may be out of order when they arrive. */
const OUT_OF_ORDER = 32;
/** How late they may be. */
const LATE_MS = 2000;
/** A forwarded request may have waited at another gateway until the lease of a third one ended. */
const FORWARDED_LATE_MS = 15_000;

/** The parts of a request that identify its window. */
interface Sent {
  prefix: string;
  /** NaN if the id does not end in a counter, for example if it is random. */
  number: number;
  connection: ClientConnection;
  at: number;
}

/**
 * Recognizes the windows of a client program, which do not identify themselves: clients number their requests, so a request
 * belongs to the window whose last request had the number before. Connections alone are not enough: clients drop idle ones after
 * seconds, and windows in the same process share them. A request that fits no window counts as a new one, which gets recent
 * events again rather than none.
 */
export class Windows {
  readonly #windows = new WeakMap<Readable, Window[]>();
  readonly #clock: Clock;
  readonly #lateMs: number;

  /** `forwarded`: requests may come through other gateways. */
  constructor(clock: Clock, { forwarded }: { forwarded: boolean }) {
    this.#clock = clock;
    this.#lateMs = forwarded ? FORWARDED_LATE_MS : LATE_MS;
  }

  /** The reader of the session's events that sends this request. */
  readerOf(session: Readable, id: RequestId, connection: ClientConnection): EventReader {
    const windows = this.#windows.get(session) ?? [];
    this.#windows.set(session, windows);
    const sent = { connection, at: this.#clock.now(), ...parsed(id) };
    const known = find(session, windows, sent);
    const window = known ?? newWindow(sent);
    window.returned = known !== undefined;
    advance(window, sent, this.#lateMs);
    // Ordered by last use.
    const at = windows.indexOf(window);
    if (at < 0 || at < windows.length - 1) {
      if (at >= 0) windows.splice(at, 1);
      windows.push(window);
      if (windows.length > MAX_WINDOWS) forgetOne(session, windows);
    }
    return window.reader;
  }
}

/** Forgets the least recently used window; first those that sent a single request and may have exited. */
function forgetOne({ events }: Readable, windows: Window[]): void {
  const at = windows.findIndex((window) => !window.returned && isClosed(window));
  for (const { reader } of windows.splice(Math.max(0, at), 1)) events.forget(reader);
}

function isClosed({ connection }: Window): boolean {
  return connection.deref()?.destroyed !== false;
}

function find({ events }: Readable, windows: Window[], sent: Sent): Window | undefined {
  const next = windows.filter((window) => isNext(window, sent));
  const [window, ...others] =
    next.length > 0 ? next : windows.filter((each) => isAhead(each, sent)).toSorted((a, b) => b.last - a.last);
  if (window === undefined) return onConnection(windows, sent);
  if (others.length > 0) events.confuse([window, ...others].map(({ reader }) => reader));
  return window;
}

function isNext({ prefix, last, missing }: Window, sent: Sent): boolean {
  if (prefix !== sent.prefix) return false;
  return last + 1 === sent.number || (missing.get(sent.number) ?? 0) > sent.at;
}

/**
 * Whether it has overtaken others of that window, or some were never sent. A window whose connection is closed may be a program
 * that has ended.
 */
function isAhead(window: Window, sent: Sent): boolean {
  const { prefix, last } = window;
  return prefix === sent.prefix && sent.number > last && sent.number <= last + OUT_OF_ORDER && !isClosed(window);
}

/** If ids are not a sequence, or some requests went elsewhere, an unshared connection identifies the window. */
function onConnection(windows: Window[], { prefix, number, connection }: Sent): Window | undefined {
  const [only, ...others] = windows.filter((each) => each.connection.deref() === connection);
  if (only === undefined || others.length > 0) return undefined;
  return Number.isNaN(number) || (only.prefix === prefix && only.last < number) ? only : undefined;
}

/** Requests before its first one may still arrive. */
function newWindow({ prefix, number, connection, at }: Sent): Window {
  const last = Math.max(-1, number - OUT_OF_ORDER);
  const reader = new EventReader(at);
  return { reader, prefix, last, missing: new Map(), returned: false, connection: weakly(connection) };
}

function advance(window: Window, { number, connection, at }: Sent, lateMs: number): void {
  const { last, missing } = window;
  missing.delete(number);
  if (!(number <= last)) {
    for (const [each, until] of missing) if (until <= at) missing.delete(each);
    for (let each = Math.max(last, number - OUT_OF_ORDER) + 1; each < number; each += 1) missing.set(each, at + lateMs);
    window.last = number;
  }
  window.connection = weakly(connection);
}

const WEAKLY = Symbol('weakly');

/** One weak reference per connection, because each request carries it. */
function weakly(connection: ClientConnection & { [WEAKLY]?: WeakRef<ClientConnection> }): WeakRef<ClientConnection> {
  return (connection[WEAKLY] ??= new WeakRef<ClientConnection>(connection));
}

function parsed(id: RequestId): Pick<Sent, 'prefix' | 'number'> {
  if (typeof id === 'number') return { prefix: '', number: Number.isSafeInteger(id) ? id : Number.NaN };
  const [counter] = id.length > MAX_ID ? [] : (/(?<![0-9A-Za-z])\d{1,15}$/.exec(id) ?? []);
  return counter === undefined
    ? { prefix: '', number: Number.NaN }
    : { prefix: id.slice(0, -counter.length), number: Number(counter) };
}
