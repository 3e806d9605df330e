import type { SessionStore } from '../ports.ts';
import type { Question } from './question.ts';

/** Questions that are settled, but not known to the server yet: should it ask again, nobody else is asked. */
export class SettledQuestions {
  readonly #questions = new Map<string, Question>();
  readonly #store: SessionStore;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Brings back what an earlier run of the program left; `goesOn` tells which tasks still wait for their answers. */
  restore(questions: Question[], goesOn: (taskId: string) => boolean): void {
    for (const question of questions) {
      if (question.taskId !== undefined && goesOn(question.taskId)) this.#questions.set(question.id, question);
      else this.forget(question.id);
    }
  }

  /** Only what the server can ask again by its key is worth keeping. */
  keep(question: Question): void {
    if (question.key === undefined) return;
    this.#questions.set(question.id, question);
    this.#store.put('question', question);
  }

  find(matching: (question: Question) => boolean): Question | undefined {
    return [...this.#questions.values()].find(matching);
  }

  forgetOnceTaken(id: string, taken: AbortSignal | undefined): void {
    taken?.addEventListener('abort', () => this.forget(id), { once: true });
  }

  /** Nobody will ask again for what belonged to this task. */
  taskEnded(taskId: string): void {
    for (const question of this.#questions.values()) if (question.taskId === taskId) this.forget(question.id);
  }

  forget(id: string): void {
    this.#questions.delete(id);
    this.#store.drop('question', id);
  }
}
