/** Where the questions of a server arrive: answered with `--answer`, by the person at the terminal, or not at all. */

import type { TaskClient } from '../../client/task-client.ts';
import type { ElicitResult, PendingElicitation, PendingSample } from '../../client/types.ts';
import { messageOf } from '../../lib/log.ts';
import { askForm } from '../terminal/ask-form.ts';
import { askLink } from '../terminal/ask-link.ts';
import { askSample } from '../terminal/ask-sample.ts';
import { clean, cleanLine } from '../terminal/clean.ts';
import { Prompter, type Asked } from '../terminal/prompter.ts';
import type { Screen } from '../terminal/screen.ts';
import type { PreparedAnswers, SampleAnswer } from './prepared.ts';
import { elicitationUnanswered, sampleUnanswered } from './unanswered.ts';

export interface DeskOptions {
  client: TaskClient;
  screen: Screen;
  prepared: PreparedAnswers;
  /** Who asks. */
  label: string;
  /** Aborted when there is nothing to answer any more. */
  over: AbortSignal;
  /** Aborted when we give up what asks: then the server has taken nothing back. */
  givenUp: AbortSignal;
  /** The person pressed Ctrl-C at a question. Tells whether the question still stands. */
  onInterrupt: (prompter: Prompter) => Promise<boolean>;
}

export class Desk {
  readonly #options: DeskOptions;
  readonly #prompter = new Prompter();
  /** So often was the connection lost. */
  #losses = 0;
  /** One at a time: there is one terminal. */
  #turn: Promise<void> = Promise.resolve();
  /** Questions that the person has not answered yet. */
  #waiting = 0;

  constructor(options: DeskOptions) {
    this.#options = options;
    const { client, over } = options;
    client.addEventListener('newPendingElicitation', ({ detail }) => this.#elicitation(detail), { signal: over });
    client.addEventListener('newPendingSample', ({ detail }) => this.#sample(detail), { signal: over });
    client.addEventListener('disconnected', () => (this.#losses += 1), { signal: over });
  }

  get hasQuestions(): boolean {
    return this.#waiting > 0;
  }

  /** Has the terminal for itself while it asks. */
  async ask<T>(asks: (prompter: Prompter) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => this.#alone(asks));
    this.#turn = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #alone<T>(asks: (prompter: Prompter) => Promise<T>): Promise<T> {
    const leave = this.#options.screen.live?.makeRoom();
    try {
      return await asks(this.#prompter);
    } finally {
      leave?.();
    }
  }

  #elicitation(pending: PendingElicitation): void {
    const { screen, prepared } = this.#options;
    const found = prepared.forElicitation(pending);
    if (found.kind === 'answer') {
      pending.respond(found.answer);
      screen.note(`${this.#asks(`: ${clean(pending.message)}`)}\nanswered with --answer`);
      return;
    }
    if (screen.attended) {
      if (found.kind === 'mistake') screen.note(found.mistake);
      const question = pending.mode === 'url' ? askLink : askForm;
      this.#attend(pending, this.#asks(`: ${clean(pending.message)}`), question, (answer: ElicitResult) => {
        pending.respond(answer);
        return ANSWERED[answer.action];
      });
      return;
    }
    pending.respond({ action: 'cancel' });
    const asks = this.#asks(`: ${clean(pending.message)}`);
    if (found.kind === 'none') this.#unanswered(asks, elicitationUnanswered(pending));
    else this.#misfit(asks, 'answered "cancel"', found.mistake);
  }

  #sample(pending: PendingSample): void {
    const { screen, prepared } = this.#options;
    const found = prepared.forSample(pending);
    const asks = this.#asks(' for the answer of a model');
    if (found.kind === 'answer') {
      settle(pending, found.answer);
      screen.note(`${asks}\nanswered with --answer`);
      return;
    }
    if (screen.attended) {
      if (found.kind === 'mistake') screen.note(found.mistake);
      this.#attend(pending, asks, askSample, (answer: SampleAnswer) => settle(pending, answer));
      return;
    }
    pending.reject('nobody is there to answer');
    if (found.kind === 'none') this.#unanswered(asks, sampleUnanswered(pending));
    else this.#misfit(asks, 'refused', found.mistake);
  }

  #unanswered(asks: string, what: string): void {
    const { screen, prepared } = this.#options;
    prepared.unanswered += 1;
    screen.note(`${asks}\n${what}`);
  }

  #misfit(asks: string, instead: string, mistake: string): void {
    const { screen, prepared } = this.#options;
    prepared.misfits.push(mistake);
    screen.note(`${asks}\n${instead}: ${mistake}`);
  }

  #attend<P extends { over: AbortSignal }, A>(
    pending: P,
    asks: string,
    question: (prompter: Prompter, pending: P, over: AbortSignal) => Promise<Asked<A>>,
    answer: (answer: A) => string,
  ): void {
    const over = AbortSignal.any([pending.over, this.#options.over]);
    const lossesBefore = this.#losses;
    this.#waiting += 1;
    const asking = this.ask(async (prompter) => {
      while (!over.aborted) {
        await prompter.say(asks, 'info');
        const asked = await question(prompter, pending, over);
        if (asked.kind === 'said') {
          const given = attempt(() => answer(asked.value));
          if (given.kind === 'done') return prompter.end(given.value);
          await prompter.say(given.mistake, 'warn');
        }
        if (asked.kind === 'interrupted' && !(await this.#options.onInterrupt(prompter))) return;
      }
      if (!this.#options.over.aborted && !this.#options.givenUp.aborted) {
        const lost = this.#losses > lossesBefore;
        await prompter.end(lost ? 'The connection was lost, and the question with it.' : TAKEN_BACK);
      }
    });
    asking
      .catch((error: unknown) => this.#options.screen.note(`the question could not be asked: ${messageOf(error)}`))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  #asks(what: string): string {
    return `${cleanLine(this.#options.label)} asks${what}`;
  }
}

/** An answer that a form asks for and does not allow at once is for the person to hear of. */
function attempt<T>(work: () => T): { kind: 'done'; value: T } | { kind: 'failed'; mistake: string } {
  try {
    return { kind: 'done', value: work() };
  } catch (error) {
    return { kind: 'failed', mistake: messageOf(error) };
  }
}

const TAKEN_BACK = 'The server took its question back.';

const ANSWERED: Record<ElicitResult['action'], string> = {
  accept: 'Answered.',
  decline: 'Declined.',
  cancel: 'Cancelled: the question stays unanswered.',
};

function settle(pending: PendingSample, answer: SampleAnswer): string {
  if (answer.action === 'answer') pending.respond(answer.result);
  else pending.reject(answer.reason);
  return answer.action === 'answer' ? 'Answered.' : 'Rejected.';
}
