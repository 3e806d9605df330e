import type { InteractionRouter } from '../../core/interaction/router.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { GatewayError } from '../../core/errors.ts';
import { hasEnded } from '../../core/task/task.ts';
import type { Clock } from '../../lib/clock.ts';
import { sleep } from '../../lib/timers.ts';
import { canBeAsked } from '../asking/asking.ts';

/** How long to wait for further questions of a server, so that they reach the client in one round. */
const GATHER_MS = 25;

type Owner = Parameters<InteractionRouter['of']>[0];

/**
 * The open questions of tasks by the keys under which a client answers them. A key is the server's own if it has one, as
 * long as it identifies a single question: clients treat an answered key as done.
 */
export class InputKeys {
  readonly #interactions: InteractionRouter;
  readonly #clock: Clock;
  /** The question that each key identified, by task. */
  readonly #meant = new Map<string, Map<string, string>>();

  constructor({ tasks, interactions, clock }: Pick<Session, 'tasks' | 'interactions' | 'clock'>) {
    this.#interactions = interactions;
    this.#clock = clock;
    tasks.watch((task) => {
      if (hasEnded(task)) this.#meant.delete(task.id);
    });
  }

  /** The open questions of a task, or of another request, that a client with these capabilities can be asked. */
  of(owner: Owner, capabilities: Record<string, unknown>): Map<string, Interaction> {
    const open = this.#interactions.of(owner).filter((question) => canBeAsked(capabilities, question));
    const group = 'taskId' in owner ? owner.taskId : owner.callId;
    return new Map(open.map((question) => [this.#keyOf(group, question), question]));
  }

  /** The same, and marks them as presented to the client. */
  shown(owner: Owner, capabilities: Record<string, unknown>): Map<string, Interaction> {
    const asked = this.of(owner, capabilities);
    for (const { id } of asked.values()) this.#interactions.presented(id);
    return asked;
  }

  /** The same, after a moment for further questions. */
  async gathered(owner: Owner, capabilities: Record<string, unknown>): Promise<Map<string, Interaction>> {
    await sleep(GATHER_MS, this.#clock);
    return this.shown(owner, capabilities);
  }

  /**
   * Accepts answers, unless `leavesOpen` leaves their questions to others. Answers to unknown keys are ignored, as the
   * specification requires.
   */
  async answer(
    owner: Owner,
    capabilities: Record<string, unknown>,
    answers: Record<string, unknown>,
    leavesOpen: (question: Interaction, answer: unknown) => boolean = () => false,
  ): Promise<void> {
    const asked = this.of(owner, capabilities);
    for (const [key, answer] of Object.entries(answers)) {
      // A question without a certain call may have been shown with another call, under its id.
      const question = asked.get(key) ?? this.#interactions.find(key);
      // It may have been answered elsewhere in the meantime.
      if (question === undefined || this.#interactions.find(question.id) === undefined) continue;
      if (leavesOpen(question, answer)) continue;
      await this.#interactions.answer(question.id, question.kind, answer, 'round').catch((error: unknown) => {
        // It ended while the answer was being stored. The other answers still count.
        if (!(error instanceof GatewayError) || error.code !== 'TOOL_ERR_REQUEST_NOT_FOUND') throw error;
      });
    }
  }

  #keyOf(group: string, { id, key }: Interaction): string {
    if (key === undefined) return id;
    const meant = this.#meant.get(group) ?? new Map<string, string>();
    this.#meant.set(group, meant);
    if (!meant.has(key)) meant.set(key, id);
    return meant.get(key) === id ? key : id;
  }
}
