/** A queue of notifications in memory, which several gateways of one process share. */

import { randomUUID } from 'node:crypto';
import type { ClaimedNotice, NoticeClaim, NoticeState, Outbox, QueuedNotice } from '../../src/core/ports/outbox.ts';

interface Row extends QueuedNotice {
  state: NoticeState['state'];
  claim?: string | undefined;
  endedAt?: number;
  error?: string | undefined;
}

type Claimed = Pick<ClaimedNotice, 'id' | 'claim'>;

const UNCLAIMED_MS = 3_600_000;

export class MemoryOutbox implements Outbox {
  readonly rows: Map<string, Row>;
  readonly #gateway: string;
  readonly #isGone: (gateway: string) => boolean;

  constructor(rows = new Map<string, Row>(), gateway = 'nobody', isGone: (gateway: string) => boolean = () => false) {
    this.rows = rows;
    this.#gateway = gateway;
    this.#isGone = isGone;
  }

  /** The same queue as one gateway sees it. */
  of(gateway: string, isGone: (gateway: string) => boolean): MemoryOutbox {
    return new MemoryOutbox(this.rows, gateway, isGone);
  }

  async add(notices: readonly QueuedNotice[]): Promise<void> {
    for (const notice of notices) {
      if (!this.rows.has(notice.id)) this.rows.set(notice.id, { ...notice, state: 'waiting' });
    }
  }

  async drop(subjects: readonly string[]): Promise<void> {
    for (const row of this.#waiting()) if (subjects.includes(row.subject)) this.rows.delete(row.id);
  }

  async due(now: number): Promise<{ targets: string[]; nextAt?: number }> {
    const waiting = this.#waiting();
    const later = waiting.filter(({ dueAt }) => dueAt > now).map(({ dueAt }) => dueAt);
    const targets = new Set(waiting.filter(({ dueAt }) => dueAt <= now).map(({ target }) => target));
    return { targets: [...targets].toSorted(), ...(later.length > 0 && { nextAt: Math.min(...later) }) };
  }

  async claim({ target, now, until, limit }: NoticeClaim): Promise<ClaimedNotice[]> {
    const claim = `${this.#gateway}/${randomUUID()}`;
    return this.#waiting()
      .filter((row) => row.target === target && row.dueAt <= now)
      .toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map((row) => {
        Object.assign(row, { dueAt: until, claim, attempts: row.attempts + 1 });
        const { state: _state, endedAt: _endedAt, error: _error, ...notice } = row;
        return { ...notice, claim, until };
      });
  }

  async reclaim(now: number): Promise<void> {
    for (const row of this.#waiting()) {
      const gateway = row.claim?.slice(0, row.claim.indexOf('/'));
      if (gateway === undefined || gateway === this.#gateway || row.dueAt <= now || !this.#isGone(gateway)) continue;
      Object.assign(row, { dueAt: now, claim: undefined });
    }
  }

  async postpone(
    claimed: Claimed,
    { dueAt, attempts, error }: { dueAt: number; attempts: number; error?: string },
  ): Promise<void> {
    const row = this.#mine(claimed);
    if (row) Object.assign(row, { dueAt, attempts, claim: undefined, ...(error !== undefined && { error }) });
  }

  async end(
    claimed: Claimed,
    { state, at, error }: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void> {
    const row = state === 'delivered' ? this.rows.get(claimed.id) : this.#mine(claimed);
    const last = state === 'delivered' ? undefined : (error ?? row?.error);
    if (row) Object.assign(row, { state, endedAt: at, claim: undefined, data: '', error: last });
  }

  async list(limit: number): Promise<NoticeState[]> {
    return [...this.rows.values()]
      .filter(({ state }) => state !== 'delivered')
      .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id, target, subject, createdAt, dueAt, attempts, state, endedAt, error }) => ({
        id,
        target,
        subject,
        createdAt,
        dueAt,
        attempts,
        state,
        ...(endedAt !== undefined && { endedAt }),
        ...(error !== undefined && { error }),
      }));
  }

  async trim(now: number, most: number): Promise<ReadonlyMap<string, number>> {
    for (const row of this.rows.values()) {
      const isOld = row.state === 'waiting' ? row.giveUpAt <= now - UNCLAIMED_MS : row.keepUntil <= now;
      if (isOld) this.rows.delete(row.id);
    }
    const rank = ({ state }: Row): number => (state === 'waiting' ? 0 : 1);
    const ordered = [...this.rows.values()].toSorted((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt);
    const dropped = new Map<string, number>();
    for (const { id, target, state } of ordered.slice(most)) {
      this.rows.delete(id);
      if (state === 'waiting') dropped.set(target, (dropped.get(target) ?? 0) + 1);
    }
    return dropped;
  }

  #waiting(): Row[] {
    return [...this.rows.values()].filter(({ state }) => state === 'waiting');
  }

  #mine({ id, claim }: Claimed): Row | undefined {
    const row = this.rows.get(id);
    return row?.state === 'waiting' && row.claim === claim ? row : undefined;
  }
}
