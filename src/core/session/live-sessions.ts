import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, type Log } from '../../lib/log.ts';
import type { Ending } from '../call/request.ts';
import type { Store } from '../ports.ts';
import type { Session } from './session.ts';

const NOBODY: ReadonlySet<Session> = new Set();

/** The sessions that this gateway has now, and how they end. */
export class LiveSessions {
  readonly #sessions = new Map<string, Session>();
  /** Those of clients that see servers as they are, by whose they are. */
  readonly #native = new Map<string, Set<Session>>();
  /** Those of them that have questions. */
  readonly #asking = new Map<string, Set<Session>>();
  /** Sessions that are being ended for good: until that is done, there is no other with the same id. */
  readonly #endingById = new Map<string, Promise<void>>();
  readonly #closing = new Set<Promise<void>>();
  /** Told when a session has ended here, so that a listener can let go of what it keeps for it. */
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

  /** Whether one of these has questions; there may be thousands of them. */
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

  /** Ends a session for good: nobody will ask for what belongs to it. */
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

  /** Another gateway has the session: it ends here without another word. */
  leave(session: Session): void {
    this.#finish(session, { by: 'successor', reason: 'another gateway has the session' })
      .then(async () => session.release())
      .catch((error: unknown) => this.#endFailed(session, error));
  }

  /** Ends the session here, whatever fails. What is stored stays. */
  async abandon(session: Session, reason: string): Promise<void> {
    try {
      await this.#finish(session, { by: 'gateway', reason });
    } catch (error) {
      this.#endFailed(session, error);
    }
  }

  /** Ends all of them here. What is stored stays: the clients may come back to it. */
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
    // Its client must not hear how it ends here.
    if (ending.by === 'successor') this.#tellEnded(session, ending);
    const closing = session.close(ending);
    this.#closing.add(closing);
    try {
      await closing;
      // Open requests were answered when the session closed; those replies leave before the transports close.
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
    // In the first turn each reply is built, and asks the store to keep what it tells; the last one writes it.
    await nextTurn();
    await this.#store.settled().catch(() => {});
    await nextTurn();
  }
}
