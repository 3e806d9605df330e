import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { every } from '../../lib/timers.ts';
import type { ClusterStore, LimitUsage } from '../ports.ts';

/** Parts of the lease: how often it is renewed, and how often it is looked whether a gateway is gone. */
const RENEW = 1 / 3;
const LOOK = 1 / 10;
/** How often it is noted that the program runs. One that did nothing for longer was stopped meanwhile, or its machine was. */
const BEAT = 1 / 20;
const PAUSE = 1 / 5;

export interface OwnershipParts {
  cluster: ClusterStore;
  clock: Clock;
  log: Log;
  /** What this gateway uses of the limits. */
  usage: () => LimitUsage;
  /** What each of the others does. */
  onUsage: (others: readonly LimitUsage[]) => void;
  /** Other gateways have these sessions now. */
  onLost: (ids: readonly string[]) => void;
  /** Somebody has to go on with the work of a gateway that is gone. */
  onGone: () => Promise<void>;
}

/** Keeps what this gateway has claimed in a store that others use too, and notices what other gateways leave. */
export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #stop: (() => void)[] = [];
  #renewedAt: number;
  #beatAt: number;
  /** The program was stopped for longer than its lease: nothing is known until that is renewed. */
  #wasPaused = false;
  #isFailing = false;
  /** When the lease could not be renewed. */
  #failedAt = -Infinity;
  #renewing: Promise<void> | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
    this.#renewedAt = this.#beatAt = parts.clock.now();
  }

  start(): void {
    const { cluster, clock } = this.#parts;
    this.#stop.push(
      every(cluster.leaseMs * BEAT, () => this.#beat(), clock),
      every(cluster.leaseMs * RENEW, () => void this.renew(), clock),
      cluster.watchLost(() => void this.#renewAgain()),
    );
    // Learns what others use.
    void this.renew();
  }

  /** Takes part in going on with the work of gateways that are gone. */
  takePart(): void {
    const { cluster, clock } = this.#parts;
    this.#stop.push(every(cluster.leaseMs * LOOK, () => void this.look(), clock));
    void this.look();
  }

  /** Ends the timers; the lease is still there. */
  stop(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  /**
   * Whether other gateways may have the sessions, because this program was stopped for too long. A gateway that runs and cannot
   * reach the database goes on, since fast calls need none: what it has lost it learns when the database is back.
   */
  get isInDoubt(): boolean {
    return this.#wasPaused || this.#isPaused(this.#parts.clock.now());
  }

  #isPaused(now: number): boolean {
    const { leaseMs } = this.#parts.cluster;
    return now - this.#beatAt > leaseMs * PAUSE && now - this.#renewedAt > leaseMs;
  }

  #beat(): void {
    const now = this.#parts.clock.now();
    if (this.#isPaused(now)) {
      this.#wasPaused = true;
      void this.renew();
    }
    this.#beatAt = now;
  }

  /** Resolves when the lease is renewed, and what was lost is dropped; if that fails, it is tried again later. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** The renewal that is on its way may not have seen what was lost. */
  async #renewAgain(): Promise<void> {
    await this.#renewing;
    await this.renew();
  }

  async #renew(): Promise<void> {
    const { cluster, clock, log, usage, onUsage, onLost } = this.#parts;
    const begun = clock.now();
    try {
      const { lost, others } = await cluster.renew(usage());
      onUsage(others);
      if (clock.now() - begun > cluster.leaseMs) {
        // The program was stopped while the answer was on its way: it says nothing about now.
        if (lost.length > 0) onLost(lost);
        await this.#renew();
        return;
      }
      if (lost.length > 0) {
        log.warn('sessions_taken_over', { sessions: lost.length });
        onLost(lost);
      }
      if (this.#isFailing) log.info('lease_renewed', {});
      this.#isFailing = false;
      this.#renewedAt = begun;
      this.#beatAt = clock.now();
      this.#wasPaused = false;
    } catch (error) {
      // Once: the next attempt follows soon.
      log[this.#isFailing ? 'debug' : 'warn']('lease_not_renewed', { error: messageOf(error) });
      this.#isFailing = true;
      this.#failedAt = clock.now();
      this.#retry();
    }
  }

  /** Soon: when the database is back, others must not take this gateway for gone. */
  #retry(): void {
    if (this.#stop.length === 0) return;
    const { cluster, clock } = this.#parts;
    clock.after(cluster.leaseMs * BEAT, () => void this.renew(), { unref: true });
  }

  /** Goes on with the work of gateways that are gone, if there are any. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { cluster, clock, log, onGone } = this.#parts;
    // Others could not renew their leases either, and need a moment.
    if (this.#isFailing || clock.now() - this.#failedAt < cluster.leaseMs) return;
    try {
      if (!(await cluster.anyGone())) return;
      await onGone();
      await cluster.tookOver();
    } catch (error) {
      log.warn('take_over_failed', { error: messageOf(error) });
    }
  }
}
