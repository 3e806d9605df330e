/**
 * Schedules background writes: one batch a moment after the first change; after failures, with growing delays and shrinking
 * batches. This isolates an item that can never be written, so that it does not block the others.
 */

import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';

/** How many items are written in one go. */
const AT_ONCE = 500;
/** The factor by which a batch shrinks after a failure. */
const FEWER = 8;
/** An item that fails this often on its own, while others can be written, is dropped. */
const MOST_FAILURES = 2;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

export interface Writable {
  /** How many writes had succeeded when the item last failed, and how often it failed on its own although others succeeded since. */
  failure?: { after: number; alone: number } | undefined;
}

export interface WriteLoopParts {
  /** In the names of log lines. */
  name: 'history' | 'audit';
  /** How long changes are collected. */
  collectMs: number;
  clock: Clock;
  log: Log;
  /** Called when it is time to write. */
  onTick: () => void;
}

export class WriteLoop {
  readonly #parts: WriteLoopParts;
  #cancelTick: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #retryMs = 0;
  #atOnce = AT_ONCE;
  /** How many writes have succeeded. */
  #succeeded = 0;
  #closed = false;

  constructor(parts: WriteLoopParts) {
    this.#parts = parts;
  }

  /** Schedules a write. */
  schedule(): void {
    if (this.#cancelTick !== undefined || this.#writing !== undefined || this.#closed) return;
    const { clock, collectMs, onTick } = this.#parts;
    this.#cancelTick = clock.after(Math.max(collectMs, this.#retryMs), onTick, { unref: true });
  }

  /** Whether the last write failed. */
  get isFailing(): boolean {
    return this.#retryMs > 0;
  }

  /** Writes after all earlier writes. `write` must not fail. */
  async run(write: () => Promise<void>): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#writing = write();
    await this.#writing;
    this.#writing = undefined;
  }

  /** Puts items that may never be writable last. */
  inOrder<T extends Writable>(due: readonly T[]): T[] {
    const suspects = due.filter(isSuspected);
    return suspects.length === 0 ? [...due] : [...due.filter((item) => !isSuspected(item)), ...suspects];
  }

  /** Removes the next batch; a suspect item gets its own batch. */
  nextOf<T extends Writable>(due: T[]): T[] {
    const suspect = due.findIndex(isSuspected);
    return due.splice(0, Math.max(1, Math.min(this.#atOnce, suspect === -1 ? due.length : suspect)));
  }

  /** `dropped`: how many items were given up since the last success. */
  succeeded(items: readonly Writable[], dropped: number): void {
    const { log, name } = this.#parts;
    this.#succeeded += 1;
    for (const item of items) item.failure = undefined;
    if (this.#retryMs > 0) log.info(`${name}_write_recovered`, { dropped });
    this.#retryMs = 0;
    this.#atOnce = Math.min(AT_ONCE, 2 * this.#atOnce);
  }

  /** Schedules a retry. */
  failed(entries: number, error: unknown): void {
    const { log, name } = this.#parts;
    if (this.#retryMs === 0) log.error(`${name}_write_failed`, { entries, error: messageOf(error) });
    this.#retryMs = Math.min(LAST_RETRY_MS, Math.max(FIRST_RETRY_MS, 2 * this.#retryMs));
    this.#atOnce = Math.max(1, Math.floor(this.#atOnce / FEWER));
  }

  /** Whether an item can never be written. A failure counts only if other items could be written since. */
  isHopeless(item: Writable, isAlone: boolean): boolean {
    const { after, alone } = item.failure ?? { after: this.#succeeded, alone: 0 };
    item.failure = { after: this.#succeeded, alone: alone + Number(isAlone && after < this.#succeeded) };
    if (item.failure.alone < MOST_FAILURES) return false;
    item.failure = undefined;
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }
}

function isSuspected({ failure }: Writable): boolean {
  return failure !== undefined && failure.alone > 0;
}
