import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, type Log } from '../../lib/log.ts';
import type { Ending } from '../call/request.ts';
import type { Store } from '../ports/store.ts';
import type { Session } from './session.ts';

const NOBODY: ReadonlySet<Session> = new Set();

/** The sessions in memory, and how they end. */
export class LiveSessions {
  readonly #sessions = new Map<string, Session>();
  /** Native sessions by principal. */
  readonly #native = new Map<string, Set<Session>>();
  /** Native sessions with questions, by principal. */
  readonly #asking = new Map<string, Set<Session>>();
  /** Sessions being ended for good; their ids cannot be reused until that is done. */
  readonly #endingById = new Map<string, Promise<void>>();
  readonly #closing = new Set<Promise<void>>();
  /** Called when a session has ended here, so that listeners release their state for it. */
  readonly onEnded = new Set<(session: Session, ending: Ending) => void>();
  readonly #store: Pick<Store, 'settled'>;
  readonly #log: Log;

  constructor(store: Pick<Store, 'settled'>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }

  /** The native sessions of a principal. */
  nativeOf(principal: string): ReadonlySet<Session> {
    return this.#native.get(principal) ?? NOBODY;
  }

  /** Whether any of these has questions; there may be thousands of sessions. */
  anyNativeQuestions(principal: string): boolean {
    return (this.#asking.get(principal)?.size ?? 0) > 0;
  }

  noteQuestions(session: Session, any: boolean): void {
    const { principal, view } = session;
    if (view.kind === 'hub') return;
    const asking = this.#asking.get(principal) ?? new Set();
    if (any) this.#asking.set(principal, asking.add(session));
    else asking.delete(session);
  }

  add(session: Session): void {
    this.#sessions.set(session.id, session);
    session.quotas.session.take();
    if (session.view.kind === 'hub') return;
    const others = this.#native.get(session.principal) ?? new Set();
    this.#native.set(session.principal, others.add(session));
  }

  #remove(session: Session): boolean {
    this.#native.get(session.principal)?.delete(session);
    this.noteQuestions(session, false);
    session.quotas.session.close();
    return this.#sessions.delete(session.id);
  }

  /** Ends a session for good and deletes its data. */
  async end(session: Session, reason: string): Promise<void> {
    const { id } = session;
    const earlier = this.#endingById.get(id);
    if (earlier !== undefined) return earlier;
    const ending = this.#finish(session, { by: 'client', reason }).finally(() => {
      session.erase();
      this.#endingById.delete(id);
    });
    this.#endingById.set(id, ending);
    return ending;
  }

  /** Resolves when no session of this id is being ended for good. */
  async whenEnded(id: string): Promise<void> {
    await this.#endingById.get(id)?.catch(() => {});
  }

  /** Another gateway owns the session: ends it here silently. */
  leave(session: Session): void {
    this.#finish(session, { by: 'successor', reason: 'another gateway has the session' })
      .then(async () => session.release())
      .catch((error: unknown) => this.#endFailed(session, error));
  }

  /** Ends the session here even if something fails. Its stored data stays. */
  async abandon(session: Session, reason: string): Promise<void> {
    try {
      await this.#finish(session, { by: 'gateway', reason });
    } catch (error) {
      this.#endFailed(session, error);
    }
  }

  /** Ends all sessions here. Their stored data stays, for clients that return. */
  async closeAll(reason: string): Promise<void> {
    await Promise.allSettled([
      ...this.all().map(async (session) => {
        await this.#finish(session, { by: 'gateway', reason });
        await session.release();
      }),
      ...this.#closing,
      ...this.#endingById.values(),
    ]);
  }

  async #finish(session: Session, ending: Ending): Promise<void> {
    if (!this.#remove(session)) return;
    this.#log.info('session_destroying', { sessionId: session.id, reason: ending.reason });
    // Its client must not learn how it ends here.
    if (ending.by === 'successor') this.#tellEnded(session, ending);
    const closing = session.close(ending);
    this.#closing.add(closing);
    try {
      await closing;
      // Open requests were answered when the session closed; send those replies before the transports close.
      if (ending.by === 'gateway') await this.repliesSent();
    } finally {
      this.#closing.delete(closing);
      if (ending.by !== 'successor') this.#tellEnded(session, ending);
      this.#log.info('session_destroyed', { sessionId: session.id });
    }
  }

  #tellEnded(session: Session, ending: Ending): void {
    for (const told of this.onEnded) told(session, ending);
  }

  #endFailed({ id }: Session, error: unknown): void {
    this.#log.error('session_end_failed', { sessionId: id, error: messageOf(error) });
  }

  /** Resolves when the replies to requests that were answered just now have been written. */
  async repliesSent(): Promise<void> {
    // In the first turn each reply is built and requests a store commit; in the last it is written.
    await nextTurn();
    await this.#store.settled().catch(() => {});
    await nextTurn();
  }
}
