/**
 * Writes the changes of the store.
 *
 *   put, drop → batch → one statement, while the next batch fills → settled
 *
 * A statement that fails because the database cannot be reached is made again until it succeeds. Making it twice does no
 * harm: it puts the same records, if the sessions are still claimed.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { stringifyExact } from '../../lib/exact-json.ts';
import { type Log, messageOf } from '../../lib/log.ts';
import { newPendingCommit, NOTHING_QUEUED, type PendingCommit } from '../pending-commit.ts';
import { type Change, ChangeQueue, ownerOf, type RecordKind, type Records } from '../queue.ts';
import { StoreError } from '../store-error.ts';
import { commitStatement, type Claim, type Piece } from './commit.ts';
import { type Database, PATIENCE_MS, RETRY_MS } from './database.ts';
import { isOfTheRecord, mayPass } from './failure.ts';
import { keyOf } from './key.ts';

/** How often writing to a failing database is retried. */
const FAILING_RETRY_MS = 1000;
/** What one statement may hold; a session that has more is written by itself. */
const STATEMENT_CHARS = 16 * 1024 * 1024;

type SessionKind = Exclude<RecordKind, 'server'>;

/** The changes of one turn, or of the time that the last statement took. */
class Batch {
  readonly changes = new ChangeQueue();
  readonly claims = new Map<string, Claim>();
  /** The sessions whose claims end. */
  readonly ending = new Set<string>();
  changesServers = false;
  /** By the session whose changes they wait for; `undefined` for all. */
  waiting = new Map<string | undefined, PendingCommit>();
  /** Why something was not stored, by the session that it is of. */
  readonly failures = new Map<string | undefined, StoreError>();
  /** What is still to be written, once it has begun. */
  pieces: Piece[] | undefined;

  get isEmpty(): boolean {
    return this.claims.size === 0 && !this.changesServers;
  }

  /** Servers concern every session. */
  concerns(sessionId: string | undefined): boolean {
    return sessionId === undefined ? !this.isEmpty : this.changesServers || this.claims.has(sessionId);
  }

  settled(sessionId: string | undefined): Promise<void> {
    const waiting = this.waiting.get(sessionId) ?? newPendingCommit();
    this.waiting.set(sessionId, waiting);
    return waiting.promise;
  }

  /** Tells those who wait; with a failure of all, others may wait for the next attempt. */
  tell(failure?: StoreError): void {
    const { waiting } = this;
    this.waiting = new Map();
    for (const [sessionId, { resolve, reject }] of waiting) {
      const own = failure ?? this.#failureOf(sessionId);
      if (own) reject(own);
      else resolve();
    }
  }

  #failureOf(sessionId: string | undefined): StoreError | undefined {
    if (sessionId === undefined) return [...this.failures.values()][0];
    return this.failures.get(sessionId) ?? this.failures.get(undefined);
  }
}

export interface WriterOptions {
  db: Database;
  log: Log;
  /** The id of this gateway. */
  gateway: string;
  /** Told when own changes of servers are durable. */
  onServer: (id: string, data: string | undefined) => void;
}

export class Writer {
  readonly #db: Database;
  readonly #log: Log;
  readonly #gateway: string;
  readonly #onServer: WriterOptions['onServer'];
  #next = new Batch();
  #writing: Batch | undefined;
  #scheduled = false;
  readonly #stopping = new AbortController();
  #failing = false;
  /** The number of the last statement. */
  #turn = 0;
  /** Statements that must not overlap. */
  #lastStatement: Promise<unknown> = Promise.resolve();

  constructor({ db, log, gateway, onServer }: WriterOptions) {
    this.#db = db;
    this.#log = log;
    this.#gateway = gateway;
    this.#onServer = onServer;
  }

  put<K extends SessionKind>(claim: Claim, kind: K, record: Records[K]): void {
    this.#next.claims.set(claim.sessionId, claim);
    // A change is the union of exactly these pairs.
    this.#next.changes.put({ op: 'put', kind, record } as unknown as Change & { op: 'put' });
    this.#schedule();
  }

  drop(claim: Claim, kind: Exclude<SessionKind, 'session'>, id: string): void {
    this.#next.claims.set(claim.sessionId, claim);
    this.#next.changes.drop(kind, id, claim.sessionId);
    this.#schedule();
  }

  /** Deletes the session, and ends the claim. */
  erase(claim: Claim): void {
    this.#next.changes.drop('session', claim.sessionId);
    this.release(claim);
  }

  /** Ends the claim together with the last changes. */
  release(claim: Claim): void {
    this.#next.claims.set(claim.sessionId, claim);
    this.#next.ending.add(claim.sessionId);
    this.#schedule();
  }

  changeServer(change: { put: Records['server'] } | { drop: string }): void {
    this.#next.changesServers = true;
    if ('put' in change) this.#next.changes.put({ op: 'put', kind: 'server', record: change.put });
    else this.#next.changes.drop('server', change.drop);
    this.#schedule();
  }

  isQueued(sessionId: string | undefined): boolean {
    return this.#next.concerns(sessionId) || this.#writing?.concerns(sessionId) === true;
  }

  settled(sessionId?: string): Promise<void> {
    const batch = [this.#next, this.#writing].find((each) => each?.concerns(sessionId));
    if (batch === undefined) return NOTHING_QUEUED;
    const settled = batch.settled(sessionId);
    if (this.#stopping.signal.aborted) batch.tell(this.#db.closed());
    return settled;
  }

  /** Resolves when the changes of the session can be read; those that cannot be stored are left out. */
  async written(sessionId: string | undefined): Promise<void> {
    while (this.isQueued(sessionId)) {
      try {
        await this.settled(sessionId);
      } catch (error) {
        if (this.isQueued(sessionId)) throw error;
      }
    }
  }

  /** Reads while no change of this gateway is being written. */
  async between<T>(read: () => Promise<T>): Promise<T> {
    const result = this.#lastStatement.then(read);
    this.#lastStatement = result.catch(() => {});
    return result;
  }

  /** Returns why something was not written. */
  async close(): Promise<StoreError | undefined> {
    let failure: StoreError | undefined;
    try {
      await this.written(undefined);
    } catch (error) {
      failure = error as StoreError;
    }
    this.#stopping.abort();
    return failure;
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => void this.#write());
  }

  async #write(): Promise<void> {
    this.#scheduled = false;
    const batch = this.#next;
    this.#next = new Batch();
    this.#writing = batch;
    const begun = Date.now();
    while (!(await this.#attempt(batch, begun))) {
      // What could not be written by now stays in the queue, so that it is never taken for stored.
      if (this.#stopping.signal.aborted) return;
      const pause = this.#failing ? FAILING_RETRY_MS : RETRY_MS;
      await delay(pause, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
    this.#writing = undefined;
    if (this.#failing) this.#log.info('store_write_recovered', { changes: batch.changes.size });
    this.#failing = false;
    batch.tell();
    if (!this.#next.isEmpty) this.#schedule();
  }

  /** Whether everything was written, or can never be. */
  async #attempt(batch: Batch, begun: number): Promise<boolean> {
    try {
      batch.pieces ??= this.#piecesOf(batch);
      await this.#make(batch, batch.pieces);
      return true;
    } catch (error) {
      if (mayPass(error) && !(error instanceof StoreError) && Date.now() - begun <= PATIENCE_MS) return false;
      const failure = error instanceof StoreError ? error : this.#notWritten(batch, error);
      if (!this.#failing) this.#log.error('store_write_failed', { path: this.#db.name, error: messageOf(error) });
      this.#failing = true;
      batch.tell(failure);
      this.#next.tell(failure);
      return false;
    }
  }

  #piecesOf(batch: Batch): Piece[] {
    const pieces = new Map<Claim | undefined, Piece>();
    const pieceOf = (claim: Claim | undefined): Piece => {
      let piece = pieces.get(claim);
      if (piece === undefined) {
        piece = { ...(claim && { claim }), writes: [], ends: claim !== undefined && batch.ending.has(claim.sessionId) };
        pieces.set(claim, piece);
      }
      return piece;
    };
    for (const claim of batch.claims.values()) pieceOf(claim);
    for (const change of batch.changes) {
      const sessionId = ownerOf(change);
      const claim = sessionId === undefined ? undefined : batch.claims.get(sessionId);
      try {
        const data = change.op === 'put' ? stringifyExact(change.record) : '';
        pieceOf(claim).writes.push({ change, data });
      } catch (error) {
        // A record that has no JSON: it is nested too deeply, say.
        this.#refuse(batch, change, error);
      }
    }
    return [...pieces.values()];
  }

  /** Removes what was written from the pieces. */
  async #make(batch: Batch, pieces: Piece[]): Promise<void> {
    while (pieces.length > 0) {
      const some = pieces.slice(0, countWithin(pieces));
      try {
        await this.between(async () => this.#commit(batch, some));
        pieces.splice(0, some.length);
      } catch (error) {
        if (!isOfTheRecord(error)) throw error;
        this.#separate(batch, pieces, some, error);
      }
    }
  }

  async #commit(batch: Batch, pieces: readonly Piece[]): Promise<void> {
    this.#turn += 1;
    const { sql, values } = commitStatement(pieces, this.#gateway, this.#turn);
    const held = new Set((await this.#db.run(sql, values)).flatMap((row) => Object.values(row)));
    for (const { claim, writes } of pieces) {
      if (claim && !held.has(keyOf(claim.sessionId))) {
        claim.lost = true;
        batch.failures.set(claim.sessionId, claimLost(claim));
        continue;
      }
      if (!claim && !held.has('')) {
        const message = `${this.#db.name}: another gateway has taken over the store; restart this one`;
        batch.failures.set(undefined, new StoreError('STORE_CLAIM_LOST', message));
        continue;
      }
      for (const { change, data } of writes) {
        if (change.op === 'put' && change.kind === 'server') this.#onServer(change.record.id, data);
        if (change.op === 'drop' && change.kind === 'server') this.#onServer(change.id, undefined);
      }
    }
  }

  /** Finds the record that cannot be stored: first its session, then the record itself. */
  #separate(batch: Batch, pieces: Piece[], failed: readonly Piece[], error: unknown): void {
    const [first] = failed;
    if (first === undefined) return;
    if (failed.length > 1) {
      for (const piece of failed) piece.alone = true;
    } else if (first.writes.length > 1) {
      const last = first.writes.length - 1;
      const split = first.writes.map((write, index) => ({
        ...first,
        writes: [write],
        ends: first.ends && index === last,
        alone: true,
      }));
      pieces.splice(0, 1, ...split);
    } else {
      for (const { change } of first.writes) this.#refuse(batch, change, error);
      pieces.splice(0, 1, ...(first.ends ? [{ ...first, writes: [] }] : []));
    }
  }

  #refuse(batch: Batch, change: Change, error: unknown): void {
    const { kind, id } =
      change.op === 'put' ? { kind: change.kind, id: change.record.id } : { kind: change.op, id: change.id };
    this.#log.error('store_record_refused', { kind, id, error: messageOf(error) });
    const failure = new StoreError('STORE_WRITE_FAILED', `${kind} ${id} cannot be stored: ${messageOf(error)}`);
    batch.failures.set(ownerOf(change), failure);
  }

  #notWritten(batch: Batch, error: unknown): StoreError {
    return new StoreError(
      'STORE_WRITE_FAILED',
      `${this.#db.name}: ${batch.changes.size} changes could not be written and are kept for the next try: ${messageOf(error)}`,
    );
  }
}

/** How many of the first pieces one statement holds. */
function countWithin(pieces: readonly Piece[]): number {
  let chars = 0;
  for (const [index, { writes, alone }] of pieces.entries()) {
    for (const { data } of writes) chars += data.length;
    if (index > 0 && (alone === true || chars > STATEMENT_CHARS)) return index;
    if (alone === true) return 1;
  }
  return pieces.length;
}

export function claimLost({ sessionId }: Claim): StoreError {
  return new StoreError('STORE_CLAIM_LOST', `another gateway has claimed session ${sessionId}`);
}
