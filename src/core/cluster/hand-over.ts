import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { sleep, within } from '../../lib/timers.ts';
import type { Recorder } from '../history/recorder.ts';
import type { ClusterStore } from '../ports/cluster-store.ts';
import type { LiveSessions } from '../session/live-sessions.ts';
import type { Session } from '../session/session.ts';
import { claimKey, statesKey, type Claims } from './claims.ts';

/** How long a handover waits for the history. */
const LAST_ENTRIES_MS = 1000;
/** How often to check whether calls have ended. */
const DRAIN_MS = 50;

/** The unit of a handover: a session, or all states of a principal. */
interface Unit {
  sessions: Session[];
  principal?: string;
}

interface HandOverParts {
  cluster: ClusterStore;
  claims: Claims;
  sessions: LiveSessions;
  /** Sessions that are being opened or restored. */
  pending: () => Promise<unknown>[];
  /** How long to wait for calls that no other gateway could continue. */
  drainMs: number;
  /** Absent if there is no history. */
  recorder: Recorder | undefined;
  log: Log;
  clock: Clock;
}

/** Hands the sessions of a stopping gateway over to other gateways. */
export class HandOver {
  readonly #parts: HandOverParts;
  #drained: Promise<void> | undefined;
  /** Handovers in progress. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#drained !== undefined;
  }

  /** Hands each session over as soon as its calls have ended. Calls that take longer than `drainMs` are lost. */
  async drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Resolves when the handover with this key is done; `undefined` if there is none. */
  whenLeft(key: string): Promise<void> | undefined {
    return this.#leaving.get(key);
  }

  async #drain(): Promise<void> {
    const { sessions: live, pending, drainMs, clock } = this.#parts;
    const deadline = clock.now() + drainMs;
    await Promise.allSettled(pending());
    for (const { calls } of live.all()) calls.promoteKept();
    const isBusy = ({ sessions }: Unit): boolean => sessions.some(({ calls }) => calls.anyPlain);
    const leave = async (key: string, unit: Unit): Promise<void> => {
      while (isBusy(unit) && clock.now() < deadline) await sleep(DRAIN_MS, clock);
      await this.#leave(unit);
      this.#leaving.delete(key);
    };
    const idle: Promise<void>[] = [];
    const busy: Promise<void>[] = [];
    for (const [key, unit] of this.#units()) {
      const leaving = leave(key, unit);
      this.#leaving.set(key, leaving);
      (isBusy(unit) ? busy : idle).push(leaving);
    }
    await Promise.all(idle);
    await this.#notifyWorkLeft();
    await Promise.all(busy.map(async (leaving) => leaving.then(async () => this.#notifyWorkLeft())));
  }

  /** Without this message, other gateways find the work too, only later. */
  async #notifyWorkLeft(): Promise<void> {
    const { cluster, log } = this.#parts;
    await cluster.notifyWorkLeft().catch((error: unknown) => {
      log.warn('work_left_not_told', { error: messageOf(error) });
    });
  }

  /** By claim key. */
  #units(): Map<string, Unit> {
    const { claims, sessions } = this.#parts;
    const units = new Map<string, Unit>();
    for (const principal of claims.principals) units.set(statesKey(principal), { principal, sessions: [] });
    for (const session of sessions.all()) {
      const key = claimKey(session);
      const unit = units.get(key) ?? { sessions: [] };
      units.set(key, unit);
      unit.sessions.push(session);
    }
    return units;
  }

  /** Continues after failures: claims that were not released end with the lease. */
  async #leave({ sessions, principal }: Unit): Promise<void> {
    const { sessions: live, claims } = this.#parts;
    await Promise.all(
      sessions.map(async (session) => {
        // Its client may have ended it meanwhile.
        if (!live.has(session.id)) return;
        await live.abandon(session, 'the gateway is shutting down');
        // Entries of this gateway must not be written after those of the next one.
        await this.#entriesWritten();
        await session.release();
      }),
    );
    if (principal !== undefined) await claims.releaseStates(principal);
  }

  async #entriesWritten(): Promise<void> {
    const { recorder, clock } = this.#parts;
    if (recorder) await within(LAST_ENTRIES_MS, recorder.flush(), clock);
  }
}
