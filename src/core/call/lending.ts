import type { QuestionBook } from '../question/book.ts';
import type { Question } from '../question/question.ts';
import type { TaskBook } from '../task/book.ts';
import { becomesTask, effectOn } from './effect.ts';
import type { LiveCall } from './live-call.ts';
import type { Carrier } from './request.ts';

export interface LendingParts {
  /** The calls that are at work, by their ids. */
  calls: ReadonlyMap<string, LiveCall>;
  tasks: TaskBook;
  questions: QuestionBook;
  /** Whether a request may carry what is perhaps not its own. */
  lends: () => boolean;
  /** Makes a task of a call, because it asks. */
  promote: (call: LiveCall) => void;
}

/**
 * What carries a question of which nobody knows whose it is, where each client speaks of requests only: whichever it rides
 * with, it reaches the one client that there is, and the answer finds its way back by itself.
 */
export class Lending {
  readonly #calls: ReadonlyMap<string, LiveCall>;
  readonly #others = new Set<Carrier>();
  readonly #tasks: TaskBook;
  readonly #questions: QuestionBook;
  readonly #lends: () => boolean;
  readonly #promote: (call: LiveCall) => void;

  constructor({ calls, tasks, questions, lends, promote }: LendingParts) {
    this.#calls = calls;
    this.#tasks = tasks;
    this.#questions = questions;
    this.#lends = lends;
    this.#promote = promote;
  }

  /** A request that is no call and whose client waits for it; until the returned function is called. */
  offer(carrier: Carrier): () => void {
    this.#others.add(carrier);
    return () => this.#others.delete(carrier);
  }

  /** Whether the client of this session sees questions only with its requests. */
  get isOn(): boolean {
    return this.#lends();
  }

  /** Best is one whose client waits for it now, and has nothing to answer yet. */
  lender(server: string, { except, question }: { except?: LiveCall; question?: Question } = {}): Carrier | undefined {
    if (!this.#lends()) return undefined;
    const calls = [...this.#calls.values()].filter(
      (call) => call.request.server === server && call !== except && !call.kept && call.standing === undefined,
    );
    const free = calls.filter(({ id }) => this.#questions.of({ callId: id }).length === 0);
    const looked = ({ taskId }: LiveCall): boolean => taskId === undefined || !this.#tasks.find(taskId)?.orphan;
    const [other] = this.#others;
    const waiting = free.filter((call) => !call.answered);
    // One that would stay open in spite of the question has a client that cannot be asked.
    const asks = waiting.find((call) => question !== undefined && becomesTask(effectOn(call, question)));
    return asks ?? waiting[0] ?? other ?? free.find(looked) ?? calls.at(-1);
  }

  /** The question with the request that carries it, if there is one. */
  lend(question: Question): Question {
    const carrier = this.lender(question.server, { question });
    if (carrier === undefined) return question;
    const call = this.#calls.get(carrier.id);
    if (call && becomesTask(effectOn(call, question))) this.#promote(call);
    const task = call?.taskId !== undefined && { taskId: call.taskId };
    return { ...question, callId: carrier.id, borrowed: true, ...task };
  }

  /** A call has ended; what it only carried goes on with another one, unless its client is at it already. */
  passOn(call: LiveCall): void {
    for (const question of this.#questions.of({ callId: call.id })) {
      // A client that cancelled the call does not answer what that carried.
      const atIt = this.#questions.isShown(question.id) && !call.abort.signal.aborted;
      const carrier = this.lender(question.server, { except: call, question });
      // It may not come back; others that wait are asked, too, and the first answer counts.
      if (!question.borrowed || (atIt && carrier === undefined)) continue;
      const next = carrier && this.#calls.get(carrier.id);
      if (call.taskId !== undefined) {
        this.#tasks.apply(call.taskId, { type: 'question_closed', questionId: question.id });
      }
      if (next && becomesTask(effectOn(next, question))) this.#promote(next);
      this.#move(question, carrier && { callId: carrier.id, taskId: next?.taskId });
      // In the book first: whoever follows the task looks there.
      if (next?.taskId !== undefined) {
        this.#tasks.apply(next.taskId, { type: 'question_opened', questionId: question.id, certain: true });
      }
    }
  }

  #move(question: Question, carrier: { callId: string; taskId: string | undefined } | undefined): void {
    const { callId: _callId, taskId: _taskId, borrowed: _borrowed, ...rest } = question;
    const { callId, taskId } = carrier ?? {};
    const moved = {
      ...rest,
      ...(callId !== undefined && { callId, borrowed: true }),
      ...(taskId !== undefined && { taskId }),
    };
    this.#questions.update(moved);
    this.#questions.desks.over(question.id);
    this.#questions.desks.offer(moved);
  }

  /** Whether whoever made this call, or would carry its question, can tell in which folders it works. */
  tellsRoots(server: string, callId: string | undefined): boolean {
    const carrier = callId === undefined ? this.lender(server) : { id: callId };
    if (carrier === undefined) return false;
    const other = [...this.#others].find(({ id }) => id === carrier.id);
    return (other ?? this.#calls.get(carrier.id)?.caller)?.tellsRoots === true;
  }
}
