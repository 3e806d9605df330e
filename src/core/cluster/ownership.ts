import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { every } from '../../lib/timers.ts';
import type { ClusterStore, LimitUsage } from '../ports/cluster-store.ts';

/** Fractions of the lease: how often to renew it, and how often to look for dead gateways. */
const RENEW = 1 / 3;
const LOOK = 1 / 10;
/** How often the heartbeat runs. A longer gap means that the process or the machine was suspended. */
const BEAT = 1 / 20;
const PAUSE = 1 / 5;

export interface OwnershipParts {
  cluster: ClusterStore;
  clock: Clock;
  log: Log;
  /** The usage of shared limits at this gateway. */
  usage: () => LimitUsage;
  /** Receives the usage of the other gateways. */
  onUsage: (others: readonly LimitUsage[]) => void;
  /** Other gateways own these sessions now. */
  onLost: (ids: readonly string[]) => void;
  /** A gateway is dead, and its work must be taken over. */
  onGone: () => Promise<void>;
}

/** Keeps the claims of this gateway on a shared store alive, and detects dead gateways. */
export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #stop: (() => void)[] = [];
  #renewedAt: number;
  #beatAt: number;
  /** The process was suspended for longer than its lease: ownership is unknown until the next renewal. */
  #wasPaused = false;
  #isFailing = false;
  /** The time of the last failed renewal. */
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
    // Fetches the usage of the others.
    void this.renew();
  }

  /** Starts to take over the work of dead gateways. */
  takePart(): void {
    const { cluster, clock } = this.#parts;
    this.#stop.push(every(cluster.leaseMs * LOOK, () => void this.look(), clock));
    void this.look();
  }

  /** Stops the timers; the lease remains. */
  stop(): void {
    for (const stop of this.#stop.splice(0)) stop();
  }

  /**
   * Whether other gateways may own the sessions because this process was suspended for too long. A running gateway that cannot
   * reach the database continues, since fast calls do not need it: it learns of lost sessions when the database is back.
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

  /** Resolves when the lease is renewed and lost sessions are dropped; a failed renewal is retried later. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** Renews once more, because a renewal in progress may have missed the loss. */
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
        // The process was suspended while it waited for the answer, which may be outdated.
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
      // Warn once: retries follow soon.
      log[this.#isFailing ? 'debug' : 'warn']('lease_not_renewed', { error: messageOf(error) });
      this.#isFailing = true;
      this.#failedAt = clock.now();
      this.#retry();
    }
  }

  /** Retries soon, so that other gateways do not take this one for dead once the database is back. */
  #retry(): void {
    if (this.#stop.length === 0) return;
    const { cluster, clock } = this.#parts;
    clock.after(cluster.leaseMs * BEAT, () => void this.renew(), { unref: true });
  }

  /** Takes over the work of dead gateways, if any. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { cluster, clock, log, onGone } = this.#parts;
    // The others could not renew their leases either, and need a moment.
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
