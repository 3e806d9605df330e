import type { QuestionBook } from '../question/book.ts';
import type { Question } from '../question/question.ts';
import type { TaskBook } from '../task/book.ts';
import type { LiveCall } from './live-call.ts';

/** Which tasks wait for which questions: for those that they have asked, and for those that they may have asked. */
export class Blocking {
  readonly #tasks: TaskBook;
  readonly #questions: QuestionBook;
  readonly #calls: ReadonlyMap<string, LiveCall>;

  constructor(tasks: TaskBook, questions: QuestionBook, calls: ReadonlyMap<string, LiveCall>) {
    this.#tasks = tasks;
    this.#questions = questions;
    this.#calls = calls;
  }

  opened({ id: questionId, taskId, candidates }: Question): void {
    if (taskId !== undefined) this.#tasks.apply(taskId, { type: 'question_opened', questionId, certain: true });
    for (const callId of candidates?.calls ?? []) {
      const possible = this.#calls.get(callId)?.taskId;
      if (possible === undefined) continue;
      this.#tasks.apply(possible, { type: 'question_opened', questionId, certain: false });
    }
  }

  closed({ id: questionId, server }: Question): void {
    for (const task of this.#tasks.atWork(server)) {
      this.#tasks.apply(task.id, { type: 'question_closed', questionId });
    }
  }

  /** A call has become a task, and waits as such for what was open before. */
  promoted(callId: string, taskId: string): void {
    for (const question of this.#questions.mayBlock(callId)) {
      const certain = question.callId === callId;
      this.#tasks.apply(taskId, { type: 'question_opened', questionId: question.id, certain });
    }
  }
}
