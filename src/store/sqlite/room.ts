/** How much more the file of the store may hold. */

import type Libsql from 'libsql';

/** The size of the log beside the file. */
const LOG_BYTES = 16 * 1024 * 1024;
/** The space of a row besides its text: parts of pages and index entries. */
const ROW_OVERHEAD = 64 * 1024;

export class Room {
  readonly #db: Libsql.Database;
  readonly #pageSize: number;
  readonly #maxPages: number;

  /** SQLite counts in pages. The log beside the file is limited, too, once its pages have been moved into the file. */
  constructor(db: Libsql.Database, maxBytes: number) {
    this.#db = db;
    this.#pageSize = this.#pragma('page_size');
    this.#maxPages = Math.ceil(maxBytes / this.#pageSize);
    if (!Number.isFinite(maxBytes)) return;
    db.exec(`PRAGMA max_page_count = ${this.#maxPages}; PRAGMA journal_size_limit = ${LOG_BYTES}`);
  }

  /** Bytes that the limit leaves. The disk may have fewer. */
  get left(): number {
    if (!Number.isFinite(this.#maxPages)) return Infinity;
    return (this.#maxPages - this.#pragma('page_count') + this.#pragma('freelist_count')) * this.#pageSize;
  }

  /** Whether a row of this size was refused because of the limit, not because the disk is full. */
  isShortOf(bytes: number): boolean {
    return this.left < bytes + ROW_OVERHEAD;
  }

  #pragma(name: 'page_size' | 'page_count' | 'freelist_count'): number {
    const [row] = this.#db.pragma(name) as Record<string, number>[];
    return row?.[name] ?? 0;
  }
}
