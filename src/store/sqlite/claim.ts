/** A session that this gateway has claimed in a SQLite store. */

import type { SessionRecord, SessionRecordKind, SessionRecords } from '../../core/ports/records.ts';
import type { ClaimedSession, StoredSession, Trimmed } from '../../core/ports/store.ts';
import type { Records } from '../queue.ts';
import type { Fitting } from './fit.ts';
import type { Statements } from './statements.ts';
import type { Writer } from './writer.ts';

/** No other gateway can claim a session. */
const CONSTANT_FENCE = 1;

/** The parts of the store that its claims share. */
export interface ClaimParts {
  /** The ids of the claimed sessions. */
  claimed: Set<string>;
  writer: Writer;
  fitting: Fitting;
  /** Reads after all queued changes of the session are written. */
  current: <T>(sessionId: string, use: (statements: Statements) => T) => Promise<T>;
}

/** Only one gateway at a time uses the file, so a claim always holds, and the fence is constant. */
export class SqliteClaim implements ClaimedSession {
  readonly record: SessionRecord | undefined;
  readonly #id: string;
  readonly #parts: ClaimParts;
  #erased = false;

  constructor(id: string, record: SessionRecord | undefined, parts: ClaimParts) {
    this.#id = id;
    this.record = record;
    this.#parts = parts;
  }

  get fence(): number {
    return CONSTANT_FENCE;
  }

  get isLost(): boolean {
    return false;
  }

  put<K extends SessionRecordKind>(kind: K, record: SessionRecords[K]): void {
    // Each kind of a session's records is one of the store's.
    if (!this.#erased) this.#parts.writer.put(kind, record as Records[K]);
  }

  drop(kind: Exclude<SessionRecordKind, 'session'>, id: string): void {
    if (!this.#erased) this.#parts.writer.drop(kind, id, this.#id);
  }

  settled(): Promise<void> {
    return this.#parts.writer.settled(this.#id);
  }

  trim(maxBytes: number, keepTasksUntil: number): Promise<Trimmed> {
    return this.#parts.current(this.#id, () => this.#parts.fitting.fit(this.#id, maxBytes, keepTasksUntil));
  }

  load(): Promise<StoredSession> {
    return this.#parts.current(this.#id, (statements) => ({
      tasks: statements.of('task', this.#id),
      questions: statements.of('question', this.#id),
      events: statements.of('event', this.#id),
      subscriptions: statements.of('subscription', this.#id),
    }));
  }

  erase(): void {
    if (this.#erased) return;
    this.#erased = true;
    this.#parts.writer.drop('session', this.#id, undefined);
    this.#parts.claimed.delete(this.#id);
  }

  async release(): Promise<void> {
    // Changes that could not be written are kept, and written before the session is read again.
    if (this.#parts.writer.isQueued(this.#id)) await this.settled().catch(() => {});
    if (!this.#erased) this.#parts.claimed.delete(this.#id);
  }
}
