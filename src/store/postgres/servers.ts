/** The servers that clients added, at any gateway. */

import type { ServerRecord } from '../../core/ports/records.ts';
import type { ServerWatcher } from '../../core/ports/store.ts';
import type { RecordReader } from './records.ts';
import type { Writer } from './writer.ts';

/** In case a notice was lost. */
const POLL_MS = 5000;

export class SharedServers {
  readonly #gateway: string;
  readonly #reader: RecordReader;
  readonly #watchers = new Set<ServerWatcher>();
  /** The JSON of each server as last read or written by this gateway. */
  readonly #known = new Map<string, string>();
  #poll: NodeJS.Timeout | undefined;
  #catchingUp: Promise<void> = Promise.resolve();
  /** Starts after `#catchingUp`. */
  #nextCatchUp: Promise<void> | undefined;

  constructor(gateway: string, reader: RecordReader) {
    this.#gateway = gateway;
    this.#reader = reader;
  }

  /** An own change was written. */
  written(id: string, data: string | undefined): void {
    if (data === undefined) this.#known.delete(id);
    else this.#known.set(id, data);
  }

  /** Reads them all, and reports those that other gateways have changed: own changes are known. */
  async all(writer: Writer): Promise<ServerRecord[]> {
    await writer.written(undefined);
    return writer.between(async () => {
      const found = await this.#reader.servers();
      for (const { record, data } of found) {
        if (this.#known.get(record.id) === data) continue;
        this.#known.set(record.id, data);
        this.#report(record.id, record);
      }
      const ids = new Set(found.map(({ record }) => record.id));
      for (const id of this.#known.keys()) {
        if (ids.has(id)) continue;
        this.#known.delete(id);
        this.#report(id, undefined);
      }
      return found.map(({ record }) => record);
    });
  }

  watch(watcher: ServerWatcher, writer: Writer): () => void {
    this.#watchers.add(watcher);
    this.#poll ??= setInterval(() => this.changed(undefined, writer), POLL_MS).unref();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.close();
    };
  }

  /** A gateway has changed servers, or some gateway may have. */
  changed(gateway: string | undefined, writer: Writer): void {
    if (gateway !== this.#gateway) void this.catchUp(writer);
  }

  /** Resolves when all earlier changes are known. Concurrent callers share one read. */
  async catchUp(writer: Writer): Promise<void> {
    if (this.#watchers.size === 0) return;
    this.#nextCatchUp ??= this.#catchingUp.then(async () => {
      this.#nextCatchUp = undefined;
      this.#catchingUp = this.#readAll(writer);
      return this.#catchingUp;
    });
    await this.#nextCatchUp;
  }

  async #readAll(writer: Writer): Promise<void> {
    try {
      await this.all(writer);
    } catch {
      // A failure of the database; the next poll follows soon.
    }
  }

  #report(id: string, record: ServerRecord | undefined): void {
    for (const watcher of this.#watchers) watcher(id, record);
  }

  close(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}
