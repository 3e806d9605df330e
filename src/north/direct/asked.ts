import type { Question } from '../../core/question/question.ts';
import type { TaskController } from '../../core/task/controller.ts';
import { hasEnded } from '../../core/task/task.ts';
import { canBeAsked } from './asking.ts';

/**
 * The open questions of tasks by the keys under which a client answers them. A key is the server's own where it has one, as
 * long as it stands for one question only: clients take a key that they have answered for done.
 */
export class AskedKeys {
  readonly #tasks: TaskController;
  /** For each task which question each key stood for. */
  readonly #meant = new Map<string, Map<string, string>>();

  constructor(tasks: TaskController) {
    this.#tasks = tasks;
    tasks.watch((task) => {
      if (hasEnded(task)) this.#meant.delete(task.id);
    });
  }

  /** What a client with these capabilities can be asked of the task now. */
  of(taskId: string, capabilities: Record<string, unknown>): Map<string, Question> {
    const open = this.#tasks.questions(taskId).filter((question) => canBeAsked(capabilities, question));
    return new Map(open.map((question) => [this.#keyOf(taskId, question), question]));
  }

  /** Takes answers; those to keys that nobody knows are ignored, as the specification wants. */
  async answer(taskId: string, capabilities: Record<string, unknown>, answers: Record<string, unknown>): Promise<void> {
    const asked = this.of(taskId, capabilities);
    for (const [key, answer] of Object.entries(answers)) {
      const question = asked.get(key);
      if (question !== undefined) await this.#tasks.answer(question, answer);
    }
  }

  #keyOf(taskId: string, { id, key }: Question): string {
    if (key === undefined) return id;
    const meant = this.#meant.get(taskId) ?? new Map<string, string>();
    this.#meant.set(taskId, meant);
    if (!meant.has(key)) meant.set(key, id);
    return meant.get(key) === id ? key : id;
  }
}
