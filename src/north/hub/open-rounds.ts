import type { ResponderScope } from '../../core/interaction/responders.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { canBeAsked } from '../asking/asking.ts';
import { InputKeys } from '../mrtr/input-keys.ts';

type Capabilities = Record<string, unknown>;

/** A call whose client is asked in rounds. */
interface CallRounds {
  /** Releases its questions to others. */
  unregister: () => void;
  /** The ids of the questions that the client was asked so far. */
  asked: Set<unknown>;
  /** When the last round was sent. */
  askedAt?: number;
  /** Stops the timer for a client that does not return with its answers. */
  stopTimer?: () => void;
}

const NONE: ReadonlySet<unknown> = new Set();

/** The calls of one session with MRTR rounds, by task id. */
export class OpenRounds {
  readonly keys: InputKeys;
  readonly #session: Session;
  readonly #exclusive: boolean;
  readonly #open = new Map<string, CallRounds>();

  /** `exclusive`: others do not see the questions that the client is being asked. */
  constructor(session: Session, exclusive: boolean) {
    this.#session = session;
    this.#exclusive = exclusive;
    this.keys = new InputKeys(session);
  }

  /** The client is the responder for questions in the scope, until the returned function is called. */
  register(scope: ResponderScope, capabilities: Capabilities): () => void {
    if (!this.#exclusive) return () => {};
    return this.#session.interactions.register(scope, (interaction) => canBeAsked(capabilities, interaction));
  }

  begin(taskId: string, unregister: () => void): void {
    this.#open.set(taskId, { unregister, asked: new Set() });
  }

  /** The client gets these questions; if it does not return in time, others may answer them. */
  ask(taskId: string, questions: Iterable<Interaction>, timeoutMs: number): void {
    const rounds = this.#open.get(taskId);
    if (rounds === undefined) return;
    for (const { id } of questions) rounds.asked.add(id);
    const { clock } = this.#session;
    rounds.askedAt = clock.now();
    rounds.stopTimer?.();
    rounds.stopTimer = clock.after(timeoutMs, () => this.end(taskId), { unref: true });
  }

  /** The client has returned. Returns how long it had the last round; infinity if that was before a restart. */
  resume(taskId: string, capabilities: Capabilities): number {
    const before = this.#open.get(taskId);
    before?.stopTimer?.();
    const unregister = this.register({ taskId }, capabilities);
    this.#open.set(taskId, { unregister, asked: before?.asked ?? new Set() });
    before?.unregister();
    return before?.askedAt === undefined ? Infinity : this.#session.clock.now() - before.askedAt;
  }

  /** There will be no further round. Returns the ids of the questions that the client was asked. */
  end(taskId: string): ReadonlySet<unknown> {
    const rounds = this.#open.get(taskId);
    this.#open.delete(taskId);
    rounds?.stopTimer?.();
    rounds?.unregister();
    return rounds?.asked ?? NONE;
  }
}
