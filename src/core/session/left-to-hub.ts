import type { EventType } from '../event/event.ts';
import type { EventSink } from '../event/log.ts';
import type { QuestionBook } from '../question/book.ts';
import type { Question } from '../question/question.ts';

export interface LeftToHubParts {
  /** Whether its client has lost sight of a task. */
  isOrphan: (taskId: string) => boolean;
  /** Tells those who keep the hub. */
  tell: EventSink['add'];
}

/**
 * A client that sees to its tasks and questions itself has no place for events; who keeps the hub for it hears of what that
 * client does not see to.
 */
export class LeftToHub implements EventSink {
  /** Questions that the hub was told of. */
  readonly #told = new Set<string>();
  readonly #parts: LeftToHubParts;

  constructor(parts: LeftToHubParts) {
    this.#parts = parts;
  }

  add(type: EventType, server: string, data: Record<string, unknown>): void {
    const { taskId, requestId } = data;
    const left =
      (typeof taskId === 'string' && this.#parts.isOrphan(taskId)) ||
      (typeof requestId === 'string' && this.#told.delete(requestId));
    if (left) this.#parts.tell(type, server, data);
  }

  /** Tells of the questions that nobody can put before the client. */
  watch(questions: QuestionBook): void {
    questions.desks.onUnattended = (question) => this.#unattended(question);
    const { onClosed } = questions;
    questions.onClosed = (question) => {
      onClosed(question);
      // Once its end has been told.
      queueMicrotask(() => this.#told.delete(question.id));
    };
  }

  /** Whether the hub was told before is not known; that one is over it may hear. */
  restore(questions: Question[]): void {
    for (const { id } of questions) this.#told.add(id);
  }

  #unattended({ id, kind, server, hidden }: Question): void {
    if (kind === 'roots' || hidden || this.#told.has(id)) return;
    this.#told.add(id);
    this.#parts.tell(`${kind}_request`, server, { requestId: id });
  }
}
