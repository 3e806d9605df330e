import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { sleep, within } from '../../lib/timers.ts';
import type { Recorder } from '../history/recorder.ts';
import type { ClusterStore } from '../ports.ts';
import type { LiveSessions } from '../session/live-sessions.ts';
import type { Session } from '../session/session.ts';
import { claimKey, statesKey, type Claims } from './claims.ts';

/** How long a session that is left to others waits for the history. */
const LAST_ENTRIES_MS = 1000;
/** How often to check whether calls have ended. */
const DRAIN_MS = 50;

/** What goes to another gateway together: a session, or the states of a principal. */
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
  /** How long calls may take to end that nobody else could go on with. */
  drainMs: number;
  /** Absent if there is no history. */
  recorder: Recorder | undefined;
  log: Log;
  clock: Clock;
}

/** Leaves the sessions of a gateway that is being stopped to others. */
export class HandOver {
  readonly #parts: HandOverParts;
  #drained: Promise<void> | undefined;
  /** What is being left to others. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#drained !== undefined;
  }

  /** Each session at once, or when its calls have ended. Calls that take longer than `drainMs` are lost. */
  async drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Resolves when a session, or the states of a principal, are left to others, if they are about to be. */
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

  /** Other gateways find the work by themselves, only later. */
  async #notifyWorkLeft(): Promise<void> {
    const { cluster, log } = this.#parts;
    await cluster.notifyWorkLeft().catch((error: unknown) => {
      log.warn('work_left_not_told', { error: messageOf(error) });
    });
  }

  /** By what they are claimed. */
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

  /** Whatever fails, the rest goes on: claims that are not given back end with the lease. */
  async #leave({ sessions, principal }: Unit): Promise<void> {
    const { sessions: live, claims } = this.#parts;
    await Promise.all(
      sessions.map(async (session) => {
        // Its client may have ended it meanwhile.
        if (!live.has(session.id)) return;
        await live.abandon(session, 'the gateway is shutting down');
        // What is written now must not be written after what the next gateway writes.
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
