import type { Socket } from 'node:net';
import type { RequestId } from '@modelcontextprotocol/server';
import { EventReader } from '../../core/event/reader.ts';

/** At most so many windows of one state are remembered. */
const MAX_WINDOWS = 32;

/** Longer ids are not looked at. */
const MAX_ID = 128;

/** A session, as far as its readers matter. */
interface Readable {
  events: { confuse(readers: EventReader[]): void };
}

interface Window {
  reader: EventReader;
  /** Its last request: the number at the end of the id, and what stands before it. */
  prefix: string;
  last: number;
  socket: WeakRef<Socket>;
}

/**
 * Recognizes the windows of a client program, which say nothing about themselves: clients number their requests, so a request
 * belongs to the window whose last one had the number before. Connections alone tell little: clients drop idle ones after
 * seconds, and windows in the same process share them. A request that fits no window is taken for a new one, which gets recent
 * events again rather than none.
 */
export class Windows {
  readonly #windows = new WeakMap<Readable, Window[]>();

  /** The reader of the session's events that sends this request. */
  readerOf(session: Readable, id: RequestId, socket: Socket): EventReader {
    const windows = this.#windows.get(session) ?? [];
    this.#windows.set(session, windows);
    const { prefix, number } = parsed(id);
    const window = this.#find(session, windows, { prefix, number, socket }) ?? newWindow(prefix, number, socket);
    window.last = number;
    if (window.socket.deref() !== socket) window.socket = new WeakRef(socket);
    // The one that was used last is at the end, and the first one is forgotten.
    const at = windows.indexOf(window);
    if (at < 0 || at < windows.length - 1) {
      if (at >= 0) windows.splice(at, 1);
      windows.push(window);
      if (windows.length > MAX_WINDOWS) windows.shift();
    }
    return window.reader;
  }

  #find(
    { events }: Readable,
    windows: Window[],
    { prefix, number, socket }: { prefix: string; number: number; socket: Socket },
  ): Window | undefined {
    const next = windows.filter((each) => each.prefix === prefix && each.last + 1 === number);
    if (next.length > 1) events.confuse(next.map(({ reader }) => reader));
    if (next.length > 0) return next[0];
    // Its ids are no sequence, or some of its requests went elsewhere: then the connection tells, if it is not shared.
    const [only, ...others] = windows.filter((each) => each.socket.deref() === socket);
    if (only === undefined || others.length > 0) return undefined;
    return Number.isNaN(number) || (only.prefix === prefix && only.last < number) ? only : undefined;
  }
}

function newWindow(prefix: string, last: number, socket: Socket): Window {
  return { reader: new EventReader(), prefix, last, socket: new WeakRef(socket) };
}

/** The number is NaN where the id does not end in a counter, but is random for example. */
function parsed(id: RequestId): { prefix: string; number: number } {
  if (typeof id === 'number') return { prefix: '', number: id };
  const [counter] = id.length > MAX_ID ? [] : (/(?<![0-9A-Za-z])\d{1,15}$/.exec(id) ?? []);
  return counter === undefined
    ? { prefix: '', number: Number.NaN }
    : { prefix: id.slice(0, -counter.length), number: Number(counter) };
}
