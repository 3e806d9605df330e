import type { QuestionBook } from '../question/book.ts';
import type { Question } from '../question/question.ts';
import type { TaskBook } from '../task/book.ts';

/** Which tasks wait for which questions: for those they certainly ask, and for those of which nobody knows who asks. */
export class Blocking {
  readonly #tasks: TaskBook;
  readonly #questions: QuestionBook;
  readonly #isAtWork: (callId: string) => boolean;

  constructor(tasks: TaskBook, questions: QuestionBook, isAtWork: (callId: string) => boolean) {
    this.#tasks = tasks;
    this.#questions = questions;
    this.#isAtWork = isAtWork;
  }

  opened({ id: questionId, callId, taskId, server }: Question): void {
    if (taskId !== undefined) {
      this.#tasks.apply(taskId, { type: 'question_opened', questionId, certain: true });
    } else if (callId === undefined || !this.#isAtWork(callId)) {
      for (const task of this.#tasks.atWork(server)) {
        this.#tasks.apply(task.id, { type: 'question_opened', questionId, certain: false });
      }
    }
  }

  closed({ id: questionId, server }: Question): void {
    for (const task of this.#tasks.atWork(server)) {
      this.#tasks.apply(task.id, { type: 'question_closed', questionId });
    }
  }

  /** A call has become a task, and waits as such for what was open before. */
  promoted(callId: string, server: string, taskId: string): void {
    for (const question of this.#questions.mayBlock(server, callId)) {
      const certain = question.callId === callId;
      this.#tasks.apply(taskId, { type: 'question_opened', questionId: question.id, certain });
    }
  }
}
