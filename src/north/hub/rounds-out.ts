import type { Scope } from '../../core/interaction/responders.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { InputKeys } from '../mrtr/input-keys.ts';
import { canBeAsked } from '../asking/asking.ts';

type Capabilities = Record<string, unknown>;

/** A call whose client is asked in rounds. */
interface Out {
  /** From now on its questions lie before nobody. */
  close: () => void;
  /** What the client was asked so far. */
  asked: Set<unknown>;
  /** When the client got the last round. */
  askedAt?: number;
  /** Runs while the client has a round, and ends the wait for one that does not come back. */
  stopTimer?: () => void;
}

const NONE: ReadonlySet<unknown> = new Set();

/** The calls of one session that are asked in rounds, by the tasks that they have become. */
export class RoundsOut {
  readonly keys: InputKeys;
  readonly #session: Session;
  readonly #alone: boolean;
  readonly #out = new Map<string, Out>();

  /** `alone`: what lies before the client is for nobody else. */
  constructor(session: Session, alone: boolean) {
    this.#session = session;
    this.#alone = alone;
    this.keys = new InputKeys(session);
  }

  /** Questions in the scope count as lying before the client, until the returned function is called. */
  attend(scope: Scope, capabilities: Capabilities): () => void {
    if (!this.#alone) return () => {};
    return this.#session.interactions.register(scope, (interaction) => canBeAsked(capabilities, interaction));
  }

  begin(taskId: string, close: () => void): void {
    this.#out.set(taskId, { close, asked: new Set() });
  }

  /** The client has these questions; should it not come back in time, others may answer them. */
  handedOut(taskId: string, questions: Interaction[], timeoutMs: number): void {
    const out = this.#out.get(taskId);
    if (out === undefined) return;
    for (const { id } of questions) out.asked.add(id);
    const { clock } = this.#session;
    out.askedAt = clock.now();
    out.stopTimer?.();
    out.stopTimer = clock.after(timeoutMs, () => this.end(taskId), { unref: true });
  }

  /** The client is back. Tells how long it had the last round; without end where that was before a restart. */
  goOn(taskId: string, capabilities: Capabilities): number {
    const before = this.#out.get(taskId);
    before?.stopTimer?.();
    this.#out.set(taskId, { close: this.attend({ taskId }, capabilities), asked: before?.asked ?? new Set() });
    before?.close();
    return before?.askedAt === undefined ? Infinity : this.#session.clock.now() - before.askedAt;
  }

  /** It is a task like any other, or over. Tells what its client was asked. */
  end(taskId: string): ReadonlySet<unknown> {
    const out = this.#out.get(taskId);
    this.#out.delete(taskId);
    out?.stopTimer?.();
    out?.close();
    return out?.asked ?? NONE;
  }
}
