import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import type { Budget } from '../budget.ts';
import { ClaimLost, isStateId, statesKey, untilOwned, type Claims } from '../cluster/claims.ts';
import { GatewayError, OwnedElsewhere, shuttingDown } from '../errors.ts';
import type { SessionRecord } from '../ports/records.ts';
import type { ClaimedSession, Store, Trimmed } from '../ports/store.ts';
import type { CoreSettings } from '../settings.ts';
import { CONNECTION_SESSION } from './kind.ts';
import type { LiveSessions } from './live-sessions.ts';
import type { Session } from './session.ts';

/** Composes a session from its stored record. */
type Compose = (record: SessionRecord, claimed: ClaimedSession) => Session;

interface RestorerParts {
  store: Pick<Store, 'problem'>;
  claims: Claims;
  sessions: LiveSessions;
  /** Loaded with the first session. */
  composer: () => Promise<Compose>;
  /** The memory budget of a principal. */
  memoryOf: (principal: string) => Budget;
  isClosing: () => boolean;
  /** When the gateway started. */
  startedAt: () => number;
  settings: CoreSettings;
  log: Log;
  clock: Clock;
}

/** Restores stored sessions of an earlier process or of another gateway. */
export class Restorer {
  readonly #parts: RestorerParts;
  /** Sessions being restored. */
  readonly #restoring = new Map<string, Promise<Session | undefined>>();

  constructor(parts: RestorerParts) {
    this.#parts = parts;
  }

  get pending(): Promise<unknown>[] {
    return [...this.#restoring.values()];
  }

  /** Resolves when the session is not being restored. */
  async whenRestored(id: string): Promise<void> {
    while (this.#restoring.has(id)) await this.#restoring.get(id)?.catch(() => {});
  }

  /** Restores a stored session when its client returns. */
  async restore(id: string, principal: string): Promise<Session | undefined> {
    // No await if there is nothing to wait for: two requests in one turn must share one attempt.
    while (this.#restoring.has(id)) await this.#restoring.get(id);
    const live = this.#parts.sessions.get(id);
    if (live !== undefined) return live.principal === principal ? live : undefined;
    if (this.#parts.isClosing()) throw shuttingDown();
    const attempt = untilOwned(async () => this.#restore(id, principal));
    this.#restoring.set(id, attempt);
    try {
      return await attempt;
    } finally {
      this.#restoring.delete(id);
    }
  }

  /** Logs a failure instead of throwing, so that one session does not affect others; its client may retry. */
  async restoreIfPossible(id: string, principal: string): Promise<boolean> {
    const { store, log } = this.#parts;
    try {
      return (await this.restore(id, principal)) !== undefined;
    } catch (error) {
      if (error instanceof OwnedElsewhere) return false;
      if (store.problem !== undefined) throw error;
      log.error('session_not_restored', { sessionId: id, error: messageOf(error) });
      return false;
    }
  }

  async #restore(id: string, principal: string): Promise<Session | undefined> {
    const { claims, sessions, composer, settings, startedAt } = this.#parts;
    const compose = await composer();
    const assertOwned = isStateId(id) ? await claims.claimStates(principal) : undefined;
    const claimed = await claims.claim(id, assertOwned ? statesKey(principal) : id);
    if (claimed === undefined) return undefined;
    const { record } = claimed;
    try {
      if (record === undefined || record.principal !== principal) {
        await claimed.release();
        return undefined;
      }
      // A new client on such a connection counts as the same one only soon after the process ended.
      const isStale = record.lastActiveAt + settings.sessions.idleMs <= startedAt();
      if (isStale && id.startsWith(CONNECTION_SESSION)) {
        claimed.erase();
        return undefined;
      }
      return await this.#restored(record, claimed, compose, assertOwned);
    } catch (error) {
      const half = sessions.get(id);
      // Release its timers, connections and limits.
      if (half) await sessions.abandon(half, 'the session could not be restored');
      await claimed.release();
      if (error instanceof GatewayError || error instanceof ClaimLost) throw error;
      throw new GatewayError('TOOL_ERR_STORE', messageOf(error));
    }
  }

  async #restored(
    record: SessionRecord,
    claimed: ClaimedSession,
    compose: Compose,
    assertOwned?: () => void,
  ): Promise<Session> {
    const { sessions, isClosing, log } = this.#parts;
    const trimmed = await this.#makeFit(record, claimed);
    const stored = await claimed.load();
    if (isClosing()) throw shuttingDown();
    if (claimed.isLost) throw new ClaimLost();
    assertOwned?.();
    const session = compose(record, claimed);
    sessions.add(session);
    session.restore(stored);
    session.events.dropped(trimmed.events);
    claimed.put('session', session.record);
    const { tasks, questions } = stored;
    log.info('session_restored', { sessionId: record.id, tasks: tasks.length, questions: questions.length });
    return session;
  }

  /** Trims the stored session so that it fits into memory. */
  async #makeFit({ id: sessionId, principal }: SessionRecord, claimed: ClaimedSession): Promise<Trimmed> {
    const { settings, clock, log, memoryOf } = this.#parts;
    const { limits, tasks } = settings;
    // Stored strings may be twice as long as in memory, because quotes and line ends are escaped.
    const trimmed = await claimed.trim(2 * limits.sessionBytes, clock.now() + tasks.keepMs);
    if (trimmed.events + trimmed.questions + trimmed.tasks > 0) {
      log.warn('session_too_large', { sessionId, limit: 'limits.sessionBytes', ...trimmed });
    }
    const memory = memoryOf(principal);
    if (trimmed.bytes <= 2 * memory.left) return trimmed;
    const shortage = memory.shortage(trimmed.bytes);
    throw new GatewayError('TOOL_ERR_LIMIT', `no memory left to restore the session (${shortage}); try again later`);
  }
}
