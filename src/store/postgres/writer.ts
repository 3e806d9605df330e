/**
 * Writes the changes of the store.
 *
 *   put, drop → batch → one statement, while the next batch fills → settled
 *
 * A statement that fails because the database is unreachable is retried until it succeeds. Running it twice does no
 * harm: it puts the same records, if the sessions are still claimed.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Observed } from '../../core/observer.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { type Log, messageOf } from '../../lib/log.ts';
import { newPendingCommit, NOTHING_QUEUED, type PendingCommit } from '../pending-commit.ts';
import { type Change, ChangeQueue, type RecordKind, type Records } from '../queue.ts';
import { StoreError } from '../store-error.ts';
import { commitStatement, type Claim, type Piece, type Write } from './commit.ts';
import { type Database, PATIENCE_MS, RETRY_MS } from './database.ts';
import { isOfTheRecord, mayPass } from './failure.ts';

/** How often writing to a failing database is retried. */
const FAILING_RETRY_MS = 1000;
/** The size limit of a statement; larger sessions need several. */
const STATEMENT_CHARS = 16 * 1024 * 1024;
/** The limit on sessions per statement: the cost grows with the square of their number. */
const STATEMENT_SESSIONS = 250;

type SessionKind = Exclude<RecordKind, 'server'>;

/**
 * The changes of one turn, or of the duration of the last statement. They are grouped by claim, not by session: a session
 * that was claimed again must not be changed under its old claim.
 */
class Batch {
  /** `undefined` for servers. */
  readonly changes = new Map<Claim | undefined, ChangeQueue>();
  /** By the claim whose changes they wait for; `undefined` for all. */
  waiting = new Map<Claim | undefined, PendingCommit>();
  /** Failures by claim. */
  readonly failures = new Map<Claim | undefined, StoreError>();
  /** For callers that wait only for the storable changes. */
  #done: PendingCommit | undefined;
  /** The remaining pieces, once writing has started. */
  pieces: Piece[] | undefined;

  get size(): number {
    return [...this.changes.values()].reduce((sum, { size }) => sum + size, 0);
  }

  get isEmpty(): boolean {
    return this.changes.size === 0;
  }

  changesOf(claim: Claim | undefined): ChangeQueue {
    const changes = this.changes.get(claim) ?? new ChangeQueue();
    this.changes.set(claim, changes);
    return changes;
  }

  /** Server changes concern every session. */
  concerns(claim: Claim | undefined): boolean {
    return claim === undefined ? !this.isEmpty : this.changes.has(undefined) || this.changes.has(claim);
  }

  claimOf(sessionId: string): Claim | undefined {
    for (const claim of this.changes.keys()) if (claim?.sessionId === sessionId) return claim;
    return undefined;
  }

  settled(claim: Claim | undefined): Promise<void> {
    const waiting = this.waiting.get(claim) ?? newPendingCommit();
    this.waiting.set(claim, waiting);
    return waiting.promise;
  }

  /** Resolves even if single records cannot be stored; rejects if the whole batch fails. */
  done(): Promise<void> {
    this.#done ??= newPendingCommit();
    return this.#done.promise;
  }

  /** Settles the waiters; after a failure of the batch, new waiters wait for the next attempt. */
  tell(failure?: StoreError): void {
    if (failure) this.#done?.reject(failure);
    else this.#done?.resolve();
    this.#done = undefined;
    const { waiting } = this;
    this.waiting = new Map();
    for (const [claim, { resolve, reject }] of waiting) {
      const own = failure ?? this.#failureOf(claim);
      if (own) reject(own);
      else resolve();
    }
  }

  /** Waiters of this batch also wait for the batch before it. */
  inherit(failures: ReadonlyMap<Claim | undefined, StoreError>): void {
    for (const [claim, failure] of failures) {
      const isAwaited =
        claim === undefined ? this.waiting.size > 0 : this.waiting.has(claim) || this.waiting.has(undefined);
      if (isAwaited) this.failures.set(claim, failure);
    }
  }

  #failureOf(claim: Claim | undefined): StoreError | undefined {
    if (claim === undefined) return [...this.failures.values()][0];
    return this.failures.get(claim) ?? this.failures.get(undefined);
  }
}

export interface WriterOptions {
  db: Database;
  log: Log;
  /** The id of this gateway. */
  gateway: string;
  /** Called when this gateway's server changes are durable. */
  onServer: (id: string, data: string | undefined) => void;
  /** Called when a claim turns out to be lost. */
  onLost: (claim: Claim) => void;
  observed?: Observed;
}

export class Writer {
  readonly #db: Database;
  readonly #log: Log;
  readonly #gateway: string;
  readonly #onServer: WriterOptions['onServer'];
  readonly #onLost: WriterOptions['onLost'];
  readonly #observed: Observed;
  #next = new Batch();
  #writing: Batch | undefined;
  #scheduled = false;
  readonly #stopping = new AbortController();
  #failing = false;
  #turn = 0;
  /** Statements that must not overlap. */
  #lastStatement: Promise<unknown> = Promise.resolve();

  constructor({ db, log, gateway, onServer, onLost, observed = {} }: WriterOptions) {
    this.#db = db;
    this.#log = log;
    this.#gateway = gateway;
    this.#onServer = onServer;
    this.#onLost = onLost;
    this.#observed = observed;
  }

  put<K extends SessionKind>(claim: Claim, kind: K, record: Records[K]): void {
    if (!this.#takes(claim)) return;
    // A change is the union of exactly these pairs.
    this.#next.changesOf(claim).put({ op: 'put', kind, record } as unknown as Change & { op: 'put' });
    this.#schedule();
  }

  drop(claim: Claim, kind: Exclude<SessionKind, 'session'>, id: string): void {
    if (!this.#takes(claim)) return;
    this.#next.changesOf(claim).drop(kind, id, claim.sessionId);
    this.#schedule();
  }

  /** Deletes the session, and ends the claim. */
  erase(claim: Claim): void {
    if (!this.#takes(claim)) return;
    this.#next.changesOf(claim).drop('session', claim.sessionId);
    this.#end(claim, 'erased');
  }

  /** Ends the claim together with the last changes; later changes are ignored. */
  release(claim: Claim): void {
    if (!claim.lost && !claim.ended) this.#end(claim, 'released');
  }

  #end(claim: Claim, how: 'released' | 'erased'): void {
    claim.ended = how;
    this.#next.changesOf(claim);
    this.#schedule();
  }

  #takes(claim: Claim): boolean {
    // Changes of a released session must not be reported as stored.
    if (claim.ended === 'released') claim.lost = true;
    return !claim.lost && !claim.ended;
  }

  changeServer(change: { put: Records['server'] } | { drop: string }): void {
    const changes = this.#next.changesOf(undefined);
    if ('put' in change) changes.put({ op: 'put', kind: 'server', record: change.put });
    else changes.drop('server', change.drop);
    this.#schedule();
  }

  /** The number of the last statement. */
  get turn(): number {
    return this.#turn;
  }

  isQueued(claim: Claim | undefined): boolean {
    return this.#next.concerns(claim) || this.#writing?.concerns(claim) === true;
  }

  /** Whether any claim of the session has changes left to be written. */
  isQueuedOf(sessionId: string): boolean {
    return (this.#next.claimOf(sessionId) ?? this.#writing?.claimOf(sessionId)) !== undefined;
  }

  settled(claim?: Claim): Promise<void> {
    return this.#whenOver(claim, (batch) => batch.settled(claim));
  }

  /** Resolves when the changes so far can be read, except for those that cannot be stored. */
  written(claim: Claim | undefined): Promise<void> {
    return this.#whenOver(claim, (batch) => batch.done());
  }

  #whenOver(claim: Claim | undefined, wait: (batch: Batch) => Promise<void>): Promise<void> {
    const batch = [this.#next, this.#writing].find((each) => each?.concerns(claim));
    if (batch === undefined) return NOTHING_QUEUED;
    const over = wait(batch);
    if (this.#stopping.signal.aborted) batch.tell(this.#db.closed());
    return over;
  }

  /** Resolves when no claim of the session has changes left to be written. */
  async writtenOf(sessionId: string): Promise<void> {
    for (;;) {
      const claim = this.#next.claimOf(sessionId) ?? this.#writing?.claimOf(sessionId);
      if (claim === undefined) return;
      await this.written(claim);
    }
  }

  /** Reads while no change of this gateway is being written. */
  async between<T>(read: () => Promise<T>): Promise<T> {
    const result = this.#lastStatement.then(read);
    this.#lastStatement = result.catch(() => {});
    return result;
  }

  /** Returns the failure if something was not written. */
  async close(): Promise<StoreError | undefined> {
    let failure: StoreError | undefined;
    try {
      while (this.isQueued(undefined)) await this.written(undefined);
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
    const begun = performance.now();
    while (!(await this.#attempt(batch, begun))) {
      // Unwritten changes stay in the queue, so that they are never reported as stored.
      if (this.#stopping.signal.aborted) return;
      const pause = this.#failing ? FAILING_RETRY_MS : RETRY_MS;
      await delay(pause, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
    this.#writing = undefined;
    if (this.#failing) this.#log.info('store_write_recovered', { changes: batch.size });
    this.#failing = false;
    batch.tell();
    this.#next.inherit(batch.failures);
    if (!this.#next.isEmpty) this.#schedule();
  }

  /** Returns whether everything was written or permanently refused. */
  async #attempt(batch: Batch, begun: number): Promise<boolean> {
    try {
      batch.pieces ??= this.#piecesOf(batch);
      await this.#make(batch, batch.pieces);
      return true;
    } catch (error) {
      if (mayPass(error) && !(error instanceof StoreError) && performance.now() - begun <= PATIENCE_MS) return false;
      const failure = error instanceof StoreError ? error : this.#notWritten(batch, error);
      if (!this.#failing) this.#log.error('store_write_failed', { path: this.#db.name, error: messageOf(error) });
      this.#failing = true;
      batch.tell(failure);
      this.#next.tell(failure);
      return false;
    }
  }

  #piecesOf(batch: Batch): Piece[] {
    const pieces: Piece[] = [];
    for (const [claim, changes] of batch.changes) {
      const writes: Write[] = [];
      for (const change of changes) {
        try {
          writes.push({ change, data: change.op === 'put' ? stringifyExact(change.record) : '' });
        } catch (error) {
          // The record cannot be serialized, for example if nested too deeply.
          this.#refuse(batch, claim, change, error);
        }
      }
      const piece = { ...(claim && { claim }), writes, ends: claim?.ended !== undefined };
      pieces.push(...split(piece, countWithin));
    }
    return pieces;
  }

  /** Removes what was written from the pieces. */
  async #make(batch: Batch, pieces: Piece[]): Promise<void> {
    while (pieces.length > 0) {
      const some = pieces.slice(0, countTogether(pieces));
      try {
        await this.between(async () => this.#commitObserved(batch, some));
        pieces.splice(0, some.length);
      } catch (error) {
        if (!isOfTheRecord(error)) throw error;
        this.#separate(batch, pieces, some, error);
      }
    }
  }

  async #commitObserved(batch: Batch, pieces: readonly Piece[]): Promise<void> {
    const { observer } = this.#observed;
    if (observer === undefined) return this.#commit(batch, pieces);
    const begun = performance.now();
    let outcome: 'stored' | 'failed' = 'failed';
    try {
      await this.#commit(batch, pieces);
      outcome = 'stored';
    } finally {
      observer.storeCommitted((performance.now() - begun) / 1000, outcome);
    }
  }

  async #commit(batch: Batch, pieces: readonly Piece[]): Promise<void> {
    this.#turn += 1;
    const { sql, values } = commitStatement(pieces, this.#gateway, this.#turn);
    const held = new Set((await this.#db.run(sql, values, 'changes')).flatMap((row) => Object.values(row)));
    for (const { claim, writes } of pieces) {
      if (claim && !held.has(String(claim.fence))) {
        claim.lost = true;
        batch.failures.set(claim, claimLost(claim));
        this.#onLost(claim);
        continue;
      }
      if (!claim && !held.has('')) {
        batch.failures.set(undefined, removed(this.#db.name));
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
      pieces.splice(0, 1, ...split(first, () => 1));
    } else {
      for (const { change } of first.writes) this.#refuse(batch, first.claim, change, error);
      pieces.splice(0, 1, ...(first.ends ? [{ ...first, writes: [] }] : []));
    }
  }

  #refuse(batch: Batch, claim: Claim | undefined, change: Change, error: unknown): void {
    const { kind, id } =
      change.op === 'put' ? { kind: change.kind, id: change.record.id } : { kind: change.op, id: change.id };
    this.#log.error('store_record_refused', { kind, id, error: messageOf(error) });
    batch.failures.set(claim, new RecordRefused(`${kind} ${id} cannot be stored: ${messageOf(error)}`));
  }

  #notWritten(batch: Batch, error: unknown): StoreError {
    return new StoreError(
      'STORE_WRITE_FAILED',
      `${this.#db.name}: ${batch.size} changes could not be written and will be retried: ${messageOf(error)}`,
    );
  }
}

/** How many of the first pieces fit into one statement. */
function countTogether(pieces: readonly Piece[]): number {
  let chars = 0;
  for (const [index, { writes, alone }] of pieces.entries()) {
    chars += charsOf(writes);
    if (index > 0 && (alone === true || chars > STATEMENT_CHARS || index === STATEMENT_SESSIONS)) return index;
    if (alone === true) return 1;
  }
  return pieces.length;
}

/** How many of the first writes fit into one statement. */
function countWithin(writes: readonly Write[]): number {
  let chars = 0;
  for (const [index, { data }] of writes.entries()) {
    chars += data.length;
    if (index > 0 && chars > STATEMENT_CHARS) return index;
  }
  return writes.length;
}

const charsOf = (writes: readonly Write[]): number => writes.reduce((sum, { data }) => sum + data.length, 0);

/** The same in several statements, if it has to be: those of one claim must not be in the same. */
function split(piece: Piece, countOf: (writes: readonly Write[]) => number): Piece[] {
  const parts: Piece[] = [];
  let rest = piece.writes;
  for (let count = countOf(rest); count < rest.length; count = countOf(rest)) {
    parts.push({ ...piece, writes: rest.slice(0, count), ends: false, alone: true });
    rest = rest.slice(count);
  }
  return [...parts, { ...piece, writes: rest, ...(parts.length > 0 && { alone: true }) }];
}

/** The record can never be stored and is discarded. */
export class RecordRefused extends StoreError {
  constructor(message: string) {
    super('STORE_WRITE_FAILED', message);
  }
}

export function claimLost({ sessionId }: Claim): StoreError {
  return new StoreError(
    'STORE_CLAIM_LOST',
    `this gateway no longer owns session ${sessionId}; another gateway may own it now`,
  );
}

/** Other gateways have removed this one because it did not renew its lease for a long time. */
function removed(store: string): StoreError {
  return new StoreError('STORE_WRITE_FAILED', `${store}: this gateway was away for too long; repeat the change`);
}
