/** Answers the questions of a server: with `--answer`, by asking the person at the terminal, or with a refusal. */

import type { TaskClient } from '../../client/task-client.ts';
import type { ElicitResult, PendingElicitation, PendingSample } from '../../client/types.ts';
import { messageOf } from '../../lib/log.ts';
import { askForm } from '../terminal/ask-form.ts';
import { askLink } from '../terminal/ask-link.ts';
import { askSample } from '../terminal/ask-sample.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { Prompter, type PromptResult } from '../terminal/prompter.ts';
import type { Screen } from '../terminal/screen.ts';
import type { Prepared, PreparedAnswers, SampleAnswer } from './prepared.ts';
import { elicitationUnanswered, sampleUnanswered } from './unanswered.ts';

export interface TerminalResponderOptions {
  client: TaskClient;
  screen: Screen;
  prepared: PreparedAnswers;
  /** The server that asks. */
  label: string;
  /** Aborted when the call or task has ended. */
  over: AbortSignal;
  /** Aborted when the person cancels the call; the server then did not withdraw its question. */
  givenUp: AbortSignal;
  /** The person pressed Ctrl-C at a question. Resolves with whether to ask it again. */
  onInterrupt: (prompter: Prompter) => Promise<boolean>;
}

type AskPerson<P, A> = (prompter: Prompter, pending: P, over: AbortSignal) => Promise<PromptResult<A>>;

/** How one kind of question is answered. */
interface Question<P, A> {
  /** What follows `<server> asks`. */
  asks: string;
  prepared: Prepared<A>;
  ask: AskPerson<P, A>;
  /** Sends the answer and describes it to the person. */
  answer: (answer: A) => string;
  refuse: () => void;
  refused: string;
  /** Tells a script how to answer the next time. */
  hint: (pending: P) => string;
}

export class TerminalResponder {
  readonly #options: TerminalResponderOptions;
  readonly #prompter = new Prompter();
  /** How often the connection was lost. */
  #losses = 0;
  /** Questions are asked one after the other: there is one terminal. */
  #turn: Promise<void> = Promise.resolve();
  /** Questions that the person has not answered yet. */
  #waiting = 0;

  constructor(options: TerminalResponderOptions) {
    this.#options = options;
    const { client, over } = options;
    client.addEventListener('newPendingElicitation', ({ detail }) => this.#elicitation(detail), { signal: over });
    client.addEventListener('newPendingSample', ({ detail }) => this.#sample(detail), { signal: over });
    client.addEventListener('disconnected', () => (this.#losses += 1), { signal: over });
  }

  get hasQuestions(): boolean {
    return this.#waiting > 0;
  }

  /** Runs `asks` when no other question is on the terminal. */
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
    this.#question(pending, {
      asks: `: ${clean(pending.message)}`,
      prepared: this.#options.prepared.forElicitation(pending),
      ask: pending.mode === 'url' ? askLink : askForm,
      answer: (answer: ElicitResult) => {
        pending.respond(answer);
        return ANSWERED[answer.action];
      },
      refuse: () => pending.respond({ action: 'cancel' }),
      refused: 'answered "cancel"',
      hint: elicitationUnanswered,
    });
  }

  #sample(pending: PendingSample): void {
    this.#question(pending, {
      asks: ' for a model response',
      prepared: this.#options.prepared.forSample(),
      ask: askSample,
      answer: (answer: SampleAnswer) => {
        if (answer.action === 'answer') pending.respond(answer.result);
        else pending.reject(answer.reason);
        return answer.action === 'answer' ? 'Answered.' : 'Rejected.';
      },
      refuse: () => pending.reject('no interactive terminal'),
      refused: 'refused',
      hint: sampleUnanswered,
    });
  }

  #question<P extends { over: AbortSignal }, A>(pending: P, question: Question<P, A>): void {
    const { screen, prepared: answers, label } = this.#options;
    const { prepared, ask, answer, refuse, refused, hint } = question;
    const asks = `${cleanLine(label)} asks${question.asks}`;
    if (prepared.kind === 'answer') {
      answer(prepared.answer);
      screen.note(`${asks}\nanswered with --answer`);
    } else if (screen.attended) {
      if (prepared.kind === 'mistake') screen.note(prepared.mistake);
      this.#askPerson(pending, asks, ask, answer);
    } else {
      refuse();
      if (prepared.kind === 'none') {
        answers.unanswered += 1;
        screen.note(`${asks}\n${hint(pending)}`);
      } else {
        answers.misfits.push(prepared.mistake);
        screen.note(`${asks}\n${refused}: ${prepared.mistake}`);
      }
    }
  }

  #askPerson<P extends { over: AbortSignal }, A>(
    pending: P,
    asks: string,
    ask: AskPerson<P, A>,
    answer: (answer: A) => string,
  ): void {
    const over = AbortSignal.any([pending.over, this.#options.over]);
    const lossesBefore = this.#losses;
    this.#waiting += 1;
    const asking = this.ask(async (prompter) => {
      while (!over.aborted) {
        await prompter.say(asks, 'info');
        const asked = await ask(prompter, pending, over);
        if (asked.kind === 'answered') {
          const given = attempt(() => answer(asked.value));
          if (given.kind === 'done') return prompter.end(given.value);
          await prompter.say(given.mistake, 'warn');
        }
        if (asked.kind === 'interrupted' && !(await this.#options.onInterrupt(prompter))) return;
      }
      if (!this.#options.over.aborted && !this.#options.givenUp.aborted) {
        const lost = this.#losses > lossesBefore;
        await prompter.end(lost ? 'The question was lost with the connection.' : WITHDRAWN);
      }
    });
    asking
      .catch((error: unknown) => this.#options.screen.note(`the question could not be asked: ${messageOf(error)}`))
      .finally(() => {
        this.#waiting -= 1;
      });
  }
}

/** The client checks an answer against the form; the person then sees what does not fit. */
function attempt<T>(work: () => T): { kind: 'done'; value: T } | { kind: 'failed'; mistake: string } {
  try {
    return { kind: 'done', value: work() };
  } catch (error) {
    return { kind: 'failed', mistake: messageOf(error) };
  }
}

const WITHDRAWN = 'The server withdrew its question.';

const ANSWERED: Record<ElicitResult['action'], string> = {
  accept: 'Answered.',
  decline: 'Declined.',
  cancel: 'Dismissed without an answer.',
};
