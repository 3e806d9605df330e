import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import type { Alarm } from '../../lib/timers.ts';
import type { Budget } from '../budget.ts';
import type { IncomingQuestion } from '../ports/connection.ts';
import type { CoreSettings } from '../settings.ts';
import type { Quota } from '../shared-limit.ts';
import type { TaskBook } from '../task/book.ts';
import { askedAgain, assertStillCounts, linkOf, newInteraction, notAnswered, withdrawal } from './asked.ts';
import { attribute } from './attribution.ts';
import type { ClientActivity, OpenCalls } from './client-activity.ts';
import type { Answer, OpenInteraction, SettledInteraction } from './interaction.ts';
import { requestOf } from './link.ts';
import type { AnswerSink, ShellEntry, InteractionShell } from './shell.ts';
import type { StandingAnswer, StandingAnswers } from './standing-answers.ts';

interface IntakeParts {
  sessionId: string;
  calls: OpenCalls;
  tasks: TaskBook;
  announce: 'always' | 'unclaimed';
  settings: CoreSettings['questions'];
  standing: StandingAnswers | undefined;
  modelTakes: (question: OpenInteraction) => boolean;
  budget: Budget;
  /** The principal's quota of open questions; absent without one. */
  quota: Quota | undefined;
  questionBytes: number;
  log: Log;
  clock: Clock;
}

/** The destinations of interactions. */
interface Routes {
  shell: InteractionShell;
  activity: ClientActivity;
  /** Fires when the next interaction expires. */
  alarm: Alarm;
  /** Answers with a rule. */
  answerBy: (answer: StandingAnswer, interaction: OpenInteraction) => void;
  leaveToPeople: (id: string) => void;
}

/**
 * Receives questions from servers: turns them into interactions, matches those from before a restart, and decides
 * whether a rule or a model answers instead of people.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #routes: Routes;

  constructor(parts: IntakeParts, routes: Routes) {
    this.#parts = parts;
    this.#routes = routes;
  }

  /** Resolves with the answer for the server, or rejects with the reason why there will be none. */
  async ask(server: string, incoming: IncomingQuestion): Promise<Answer> {
    if (incoming.withdrawn.aborted) throw new Error('the question was withdrawn');
    const earlier = this.#askedBefore(incoming);
    if (earlier?.state.phase === 'settled') return this.#settledAnswer(earlier.state.interaction, incoming);
    const { shell } = this.#routes;
    const { perSession } = this.#parts.settings;
    if (earlier === undefined && shell.open().length >= perSession) {
      throw new Error(`too many open questions (limit questions.perSession = ${perSession})`);
    }
    if (earlier === undefined) this.#parts.quota?.assertRoom();
    const bytes = earlier?.bytes ?? this.#takeRoom(incoming.params);
    const state = earlier ? askedAgain(earlier.state, incoming) : newInteraction(this.#parts, server, incoming);
    const { id } = state.interaction;
    return new Promise((resolve, reject) => {
      const asker = this.#asker(id, incoming, { resolve, reject });
      shell.keep(id, { state, bytes, asker });
      if (state.phase !== 'open') return;
      if (earlier === undefined) this.#opened(state.interaction, incoming);
      else this.#askedAgain(state.interaction, incoming);
    });
  }

  #opened(interaction: OpenInteraction, incoming: IncomingQuestion): void {
    const { id, kind, server, expiresAt } = interaction;
    const { log, announce } = this.#parts;
    const { shell, activity, alarm, answerBy } = this.#routes;
    alarm.at(expiresAt);
    log.info(`${kind}_received`, { requestId: id, server });
    const recentlyUsed = activity.usedRecently(server);
    const [link, around] = [linkOf(incoming), activity.around(id)];
    const asked = { ...interaction, link: attribute(link, around).link };
    // A question that may concern another client is left to that client.
    const concerns = recentlyUsed || asked.link.certainty !== 'none' || asked.link.host !== undefined;
    const rule = concerns ? this.#ruleFor(asked, incoming) : undefined;
    const handledBy = rule ? 'rule' : concerns && this.#goesToModel(asked) ? 'model' : undefined;
    shell.dispatch(id, { type: 'asked', link, around, recentlyUsed, announce, ...(handledBy && { handledBy }) });
    if (rule) answerBy(rule, interaction);
  }

  /** After a restart the rules may have changed, and a model may have been working on the question. */
  #askedAgain(interaction: OpenInteraction, incoming: IncomingQuestion): void {
    const { id, handledBy, expiresAt } = interaction;
    this.#routes.alarm.at(expiresAt);
    const rule = this.#ruleFor(interaction, incoming);
    if (rule) this.#routes.answerBy(rule, interaction);
    else if (handledBy === undefined || (handledBy === 'model' && this.#parts.modelTakes(interaction))) {
      this.#routes.shell.dispatch(id, { type: 'offered_again' });
    } else this.#routes.leaveToPeople(id);
  }

  #ruleFor(asked: OpenInteraction, { fromGateway, ownMessage }: IncomingQuestion): StandingAnswer | undefined {
    const { standing, calls, tasks } = this.#parts;
    if (standing === undefined || asked.kind !== 'elicitation' || fromGateway) return undefined;
    const { callId = '', taskId = '' } = requestOf(asked.link) ?? {};
    const certain = asked.link.certainty === 'certain';
    const tool = certain ? (calls.get(callId)?.request.tool ?? tasks.find(taskId)?.tool) : undefined;
    const { id, server, params } = asked;
    return standing({ id, server, tool, params, message: ownMessage ?? params['message'] });
  }

  /** A client that can be asked uses its own model. */
  #goesToModel(asked: OpenInteraction): boolean {
    const { modelTakes, calls } = this.#parts;
    if (asked.kind !== 'sampling' || !modelTakes(asked)) return false;
    const { link } = asked;
    const asking = [...(link.certainty === 'possible' ? link.calls : []), requestOf(link)];
    return !asking.some((ref) => {
      const effect = calls.get(ref?.callId ?? '')?.caller.effectOf?.(asked);
      return effect === 'ask' || effect === 'reply';
    });
  }

  #asker(
    id: string,
    { withdrawn, candidates, othersEnded, onAnswered, taken }: IncomingQuestion,
    { resolve, reject }: Pick<AnswerSink, 'resolve' | 'reject'>,
  ): AnswerSink {
    const { shell, activity } = this.#routes;
    const onWithdrawn = (): void => shell.dispatch(id, { type: 'rejected', ...withdrawal(withdrawn) });
    const onOthersEnded = (): void => shell.dispatch(id, { type: 'others_ended', around: activity.around(id) });
    // Without a call, the server may have asked on its own initiative; the end of a request such as `tools/list` then means nothing.
    const others = candidates?.calls.length ? othersEnded : undefined;
    withdrawn.addEventListener('abort', onWithdrawn, { once: true });
    others?.addEventListener('abort', onOthersEnded, { once: true });
    return {
      onAnswered,
      resolve: (answer) => {
        this.#forgetOnceTaken(id, taken);
        resolve(answer);
      },
      reject: (error) => {
        this.#forgetOnceTaken(id, taken);
        reject(error);
      },
      stopListening: () => {
        withdrawn.removeEventListener('abort', onWithdrawn);
        others?.removeEventListener('abort', onOthersEnded);
      },
    };
  }

  #settledAnswer(interaction: SettledInteraction, { taken, approval }: IncomingQuestion): Answer {
    if (!('answer' in interaction)) throw notAnswered(interaction);
    this.#forgetOnceTaken(interaction.id, taken);
    assertStillCounts(interaction, approval);
    return interaction.answer;
  }

  #forgetOnceTaken(id: string, taken: AbortSignal | undefined): void {
    taken?.addEventListener('abort', () => this.#routes.shell.dispatch(id, { type: 'taken' }), { once: true });
  }

  /** Refuses a question that is too large or does not fit into memory. */
  #takeRoom(params: Record<string, unknown>): number {
    const { questionBytes, budget } = this.#parts;
    const bytes = roughSize(params, questionBytes);
    if (bytes > questionBytes) {
      throw new Error(`the question is larger than limits.questionBytes = ${questionBytes}`);
    }
    if (budget.take(bytes)) return bytes;
    throw new Error(`no memory left for the question (${budget.shortage(bytes)})`);
  }

  /** The same question of the same task from before a restart. */
  #askedBefore({ key, callId, taskId: asking, params, approval, signIn }: IncomingQuestion): ShellEntry | undefined {
    const taskId = callId === undefined ? asking : this.#parts.calls.get(callId)?.taskId;
    if (key === undefined || taskId === undefined) return undefined;
    const isSame = ({ state: { phase, interaction }, asker }: ShellEntry): boolean =>
      (phase === 'settled' || asker === undefined) &&
      interaction.key === key &&
      requestOf(interaction.link)?.taskId === taskId &&
      // The key identifies a question of the gateway itself; its text may have changed.
      (approval === undefined) === (interaction.approval === undefined) &&
      (signIn === undefined) === (interaction.signIn === undefined) &&
      (approval !== undefined || signIn !== undefined || isDeepStrictEqual(interaction.params, params));
    return [...this.#routes.shell.entries()].find(([, entry]) => isSame(entry))?.[1];
  }
}
