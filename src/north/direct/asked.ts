import { answerMistake } from '../../core/question/answer.ts';
import type { Question } from '../../core/question/question.ts';
import type { Session } from '../../core/session/session.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { canBeAsked } from './asking.ts';

/**
 * The open questions of tasks by the keys under which a client answers them. A key is the server's own where it has one, as
 * long as it stands for one question only: clients take a key that they have answered for done.
 */
export class AskedKeys {
  readonly #session: Session;
  /** For each task which question each key stood for. */
  readonly #meant = new Map<string, Map<string, string>>();

  constructor(session: Session) {
    this.#session = session;
    session.tasks.watch(({ id, keepUntil }) => {
      if (keepUntil !== undefined) this.#meant.delete(id);
    });
  }

  /** What a client with these capabilities can be asked of the task now. */
  of(taskId: string, capabilities: Record<string, unknown>): Map<string, Question> {
    const open = this.#session.questions.of({ taskId }).filter((question) => canBeAsked(capabilities, question));
    return new Map(open.map((question) => [this.#keyOf(taskId, question), question]));
  }

  /** Takes answers; those to keys that nobody knows are ignored, as the specification wants. */
  async answer(taskId: string, capabilities: Record<string, unknown>, answers: Record<string, unknown>): Promise<void> {
    const asked = this.of(taskId, capabilities);
    const given = Object.entries(answers).flatMap(([key, answer]) => {
      const question = asked.get(key);
      return question === undefined ? [] : [{ key, question, answer }];
    });
    for (const { key, question, answer } of given) {
      const mistake = answerMistake(question, answer);
      if (mistake !== undefined) {
        throw new RpcError(-32602, `the answer to '${key}' does not fit, and the question stays open: ${mistake}`);
      }
    }
    for (const { question, answer } of given) {
      await this.#session.questions.answer(question.id, question.kind, answer as Record<string, unknown>);
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
