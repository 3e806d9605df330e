/**
 * Writes the history. It receives changes by reference and writes them in a batch a moment later: an entry that changes
 * several times meanwhile is one row, and a call that ends meanwhile is written once. Nothing waits for it. If the store fails
 * or is slow, a limited number of changes is queued.
 *
 * Calls that do not become tasks get individual entries up to `callsPerSecond`. Beyond that they are counted, in one summary
 * per second and tool; failed calls get entries up to the same rate again.
 */

import type { Clock } from '../../lib/clock.ts';
import { secretId } from '../../lib/ids.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { every, within } from '../../lib/timers.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { History } from '../ports/history.ts';
import type { CoreSettings } from '../settings.ts';
import { WriteLoop } from '../write-loop.ts';
import {
  endedAt,
  type CallEntry,
  type EntryContent,
  type EntryWrite,
  type HistoryEntry,
  type NewEntry,
  type QuestionEntry,
  type SummaryEntry,
} from './entry.ts';
import { Rate } from './rate.ts';
import type { Recorded } from './record.ts';

/** How long changes are collected. */
const COLLECT_MS = 250;
/** How often the progress of one call is written. */
const PROGRESS_MS = 1000;
/** A call without an entry gets one after this time, if the rate allows. */
const SLOW_MS = 1000;
/** How many dropped ends are written in one go. */
const ENDS_AT_ONCE = 500;
/** Limits on queued entries and the size of their contents. */
const MOST_WAITING = 10_000;
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
const TRIM_MS = 60_000;
/** The size is checked each time this fraction of the allowed bytes was written. */
const SIZE_CHECKS = 16;
/** The approximate size of an entry without its contents. */
const ENTRY_BYTES = 800;
const LOST_CHECK_MS = 5000;
/** How long shutdown waits for the last write. */
const LAST_WRITE_MS = 2000;

type Summary = Omit<SummaryEntry, 'seq'>;
type End = Pick<CallEntry | QuestionEntry, 'status' | 'endedAt'>;

/** Makes the entry of a call. */
interface EntryMaker {
  entryOf(call: LiveCall): unknown;
}

export interface RecorderParts {
  history: History;
  settings: CoreSettings['history'];
  /** Whether other gateways use the store. */
  shared: boolean;
  log: Log;
  clock: Clock;
}

export class Recorder {
  readonly entryBytes: number;
  readonly clock: Clock;
  readonly #parts: RecorderParts;
  readonly #listed: Rate;
  readonly #failed: Rate;
  /** Running calls without an entry. */
  readonly #unlisted = new InFlight<LiveCall, EntryMaker>();
  #changed = new Map<string, Recorded>();
  #waitingBytes = 0;
  /** Calls of the current second that are only counted, by summary. */
  #summaries = new Map<string, Summary>();
  readonly #loop: WriteLoop;
  #dropped = 0;
  /** Entries whose end was dropped, while the store shows them as unfinished. */
  readonly #droppedEnds = new Map<string, End>();
  /** The approximate bytes written since the last size check. */
  #written = 0;
  #stopTimers: (() => void)[] = [];
  #closing = false;
  #closed = false;

  constructor(parts: RecorderParts) {
    const { entryBytes, callsPerSecond } = parts.settings;
    this.#parts = parts;
    this.clock = parts.clock;
    this.entryBytes = entryBytes;
    this.#listed = new Rate(callsPerSecond);
    this.#failed = new Rate(callsPerSecond);
    const { clock, log } = parts;
    this.#loop = new WriteLoop({ name: 'history', collectMs: COLLECT_MS, clock, log, onTick: () => void this.#tick() });
  }

  /** Restoring after a restart is done: remaining unfinished entries are lost. */
  start(): void {
    const { clock, shared } = this.#parts;
    const tidy = (): void => void this.flush().then(async () => this.#endLost());
    this.#stopTimers = [
      clock.after(COLLECT_MS, () => void this.flush().then(async () => this.#tidyUp()), { unref: true }),
      every(TRIM_MS, () => void this.#trim(), clock),
      ...(shared ? [every(LOST_CHECK_MS, tidy, clock)] : []),
    ];
  }

  // --- Calls ---

  /** Whether a new call gets an entry immediately. */
  takesCall(now: number): boolean {
    return this.#changed.size < MOST_WAITING && this.#listed.take(now);
  }

  /** Whether a failed or slow call gets an entry. */
  takesSpecialCall(now: number): boolean {
    return this.#changed.size < MOST_WAITING && this.#failed.take(now);
  }

  /** Adds a call without an entry. If it is slow, `maker` may make one. */
  addUnlisted(call: LiveCall, maker: EntryMaker): void {
    this.#unlisted.add(call, maker);
    this.#loop.schedule();
  }

  /** The call has ended or has an entry now. */
  removeUnlisted(call: LiveCall): void {
    this.#unlisted.delete(call);
  }

  /** Counts an ended call without an entry. */
  count(principal: string, { request: { server, tool }, startedAt }: LiveCall, now: number, failed: boolean): void {
    const key = `${Math.floor(startedAt / 1000)}\n${principal}\n${server}\n${tool}`;
    let summary = this.#summaries.get(key);
    if (summary === undefined) {
      const from = startedAt - (startedAt % 1000);
      const about = { principal, server, tool, from, to: from + 1000 };
      summary = { kind: 'summary', id: secretId(), ...about, count: 0, errors: 0, longestMs: 0 };
      this.#summaries.set(key, summary);
      this.#loop.schedule();
    }
    summary.count += 1;
    if (failed) summary.errors += 1;
    const took = now - startedAt;
    if (took > summary.longestMs) summary.longestMs = took;
  }

  // --- Changes ---

  changed(record: Recorded, { isProgress = false } = {}): void {
    if (this.#closed) return;
    const { id } = record.entry;
    const waits = this.#changed.has(id);
    record.isProgress = isProgress && (!waits || record.isProgress === true);
    if (!waits) {
      this.#makeRoom();
      this.#changed.set(id, record);
    }
    this.#loop.schedule();
  }

  /** Sets the content to write. Without room for it, the entry is marked as truncated. */
  setContent(record: Recorded, content: EntryContent, bytes: number): boolean {
    this.#waitingBytes -= record.contentBytes ?? 0;
    const fits = this.#waitingBytes + bytes <= MOST_WAITING_BYTES;
    record.content = fits ? content : {};
    record.contentBytes = fits ? bytes : 0;
    this.#waitingBytes += record.contentBytes;
    return fits;
  }

  /** Another gateway may continue the session, and then writes its entries. */
  leave(sessionId: string): void {
    for (const [id, record] of this.#changed) {
      const { entry } = record;
      if (entry.kind === 'summary' || entry.sessionId !== sessionId || endedAt(entry) !== undefined) continue;
      this.#take(id, record);
    }
  }

  #makeRoom(): void {
    if (this.#changed.size < MOST_WAITING) return;
    const [oldest] = this.#changed;
    if (oldest === undefined) return;
    this.#take(...oldest);
    this.#drop(oldest[1]);
  }

  #drop({ entry, isStored = false }: Recorded): void {
    if (isStored && entry.kind !== 'summary' && entry.endedAt !== undefined) {
      this.#droppedEnds.set(entry.id, { status: entry.status, endedAt: entry.endedAt });
    }
    this.#dropped += 1;
    if (this.#dropped === 1) this.#parts.log.warn('history_entries_dropped', { waiting: this.#changed.size });
  }

  #take(id: string, record: Recorded): void {
    this.#changed.delete(id);
    this.#waitingBytes -= record.contentBytes ?? 0;
    record.contentBytes = 0;
  }

  // --- Writing ---

  async #tick(): Promise<void> {
    this.#listSlow();
    await this.flush({ all: false });
  }

  #listSlow(): void {
    const now = this.clock.now();
    for (let { oldest } = this.#unlisted; oldest !== undefined; { oldest } = this.#unlisted) {
      const { key: call, value: maker } = oldest;
      if (now - call.startedAt < SLOW_MS || !this.takesSpecialCall(now)) return;
      this.#unlisted.delete(call);
      maker.entryOf(call);
    }
  }

  /** Writes all changes so far. Never fails. With `all`, also changes that could wait. */
  async flush({ all = true } = {}): Promise<void> {
    await this.#loop.run(async () => this.#write(all));
    const waiting = this.#changed.size + this.#summaries.size + this.#unlisted.size + this.#droppedEnds.size;
    if (waiting > 0) this.#loop.schedule();
    if (this.#written > this.#parts.settings.bytes / SIZE_CHECKS) void this.#trim();
  }

  async #write(all: boolean): Promise<void> {
    const { history } = this.#parts;
    const due = this.#due(all);
    while (due.length > 0) {
      const records = this.#loop.nextOf(due);
      const writes = await this.#taken(records);
      if (writes === undefined) return;
      try {
        await history.append(writes);
        if (writes.length === 0) continue;
        for (const { entry, content } of writes) this.#written += bytesOf(entry, content);
        for (const record of records) record.isStored = true;
        this.#loop.succeeded(records, this.#dropped);
        this.#dropped = 0;
      } catch (error) {
        this.#failedToWrite(records, writes, error);
        return;
      }
    }
    await this.#writeDroppedEnds();
  }

  /** Without their ends, the entries would stay unfinished forever. Their other changes are lost. */
  async #writeDroppedEnds(): Promise<void> {
    const { history } = this.#parts;
    const ends = [...this.#droppedEnds].slice(0, ENDS_AT_ONCE);
    if (ends.length === 0) return;
    try {
      const stored = await history.find(ends.map(([id]) => id));
      const ended = stored.filter((entry) => endedAt(entry) === undefined);
      await history.append(ended.map((entry) => ({ entry: endedLike(entry, this.#droppedEnds.get(entry.id)) })));
      for (const [id] of ends) this.#droppedEnds.delete(id);
    } catch (error) {
      this.#failedToWrite([], [], error);
    }
  }

  #due(all: boolean): Recorded[] {
    const now = this.clock.now();
    for (const [key, summary] of this.#summaries) {
      if (now < summary.to && !this.#closing) continue;
      this.#summaries.delete(key);
      this.#makeRoom();
      this.#changed.set(summary.id, { entry: summary });
    }
    const due = [...this.#changed.values()].filter(
      ({ isProgress, writtenAt = 0 }) => all || isProgress !== true || now - writtenAt >= PROGRESS_MS,
    );
    return this.#loop.inOrder(due);
  }

  /** The pending writes of these records; `undefined` if that cannot be known now. The records may change again afterwards. */
  async #taken(records: readonly Recorded[]): Promise<EntryWrite[] | undefined> {
    const restored = records.filter(({ adopt }) => adopt !== undefined);
    if (restored.length > 0) {
      try {
        const stored = await this.#parts.history.find(restored.map(({ entry }) => entry.id));
        const byId = new Map(stored.map((entry) => [entry.id, entry]));
        for (const record of restored) {
          record.isStored = byId.has(record.entry.id);
          record.adopt?.(byId.get(record.entry.id));
          record.adopt = undefined;
        }
      } catch (error) {
        this.#failedToWrite([], [], error);
        return undefined;
      }
    }
    const now = this.clock.now();
    return records.flatMap((record) => {
      const { entry, content } = record;
      // The session was handed over meanwhile.
      if (this.#changed.get(entry.id) !== record) return [];
      this.#take(entry.id, record);
      record.content = undefined;
      record.writtenAt = now;
      record.isProgress = false;
      return { entry: { ...entry }, ...(content && { content }) };
    });
  }

  #failedToWrite(records: readonly Recorded[], writes: readonly EntryWrite[], error: unknown): void {
    this.#loop.failed(writes.length, error);
    const contents = new Map(writes.map(({ entry, content }) => [entry.id, content]));
    for (const record of records) {
      const { id } = record.entry;
      const content = contents.get(id);
      if (!contents.has(id)) continue;
      if (this.#loop.isHopeless(record, writes.length === 1)) {
        this.#drop(record);
        continue;
      }
      if (content !== undefined && record.content === undefined) {
        this.setContent(record, content, bytesOf(record.entry, content));
      }
      if (this.#changed.has(id)) continue;
      this.#makeRoom();
      this.#changed.set(id, record);
    }
  }

  // --- Tidying up ---

  async #tidyUp(): Promise<void> {
    await this.#endLost();
    await this.#trim();
  }

  async #endLost(): Promise<void> {
    await this.#attempt(async () => this.#parts.history.endLost(this.clock.now()));
  }

  async #trim(): Promise<void> {
    const { history, settings } = this.#parts;
    this.#written = 0;
    await this.#attempt(async () => history.trim(this.clock.now() - settings.keepMs, settings.bytes));
  }

  /** Logs a failure; the work is retried later. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    if (this.#closed) return;
    try {
      await work();
    } catch (error) {
      this.#parts.log.warn('history_clean_up_failed', { error: messageOf(error) });
    }
  }

  /** Writes the last changes, if that is possible soon. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    for (const stop of this.#stopTimers) stop();
    await within(LAST_WRITE_MS, this.flush(), this.clock);
    this.#closed = true;
    this.#loop.close();
    this.#changed.clear();
  }
}

/** A stored entry with its end. */
function endedLike(entry: HistoryEntry, end: End | undefined): NewEntry {
  const to = end?.endedAt;
  const waits = entry.kind === 'call' && to !== undefined && { waits: entry.waits.map((wait) => ({ to, ...wait })) };
  return { ...entry, ...end, ...waits } as NewEntry;
}

function bytesOf(entry: NewEntry, content: EntryContent | undefined): number {
  if (content === undefined || entry.kind !== 'call') return ENTRY_BYTES;
  return ENTRY_BYTES + entry.argumentBytes + (content.result === undefined ? 0 : (entry.resultBytes ?? 0));
}
