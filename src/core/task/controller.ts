import type { SessionStore } from '../ports.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { Answer, Interaction, InteractionKind } from '../interaction/interaction.ts';
import { MAX_DELAY_MS } from '../../lib/clock.ts';
import type { TaskBook, TaskStart } from './book.ts';
import { hasEnded, type CallResult, type Task, type TaskError } from './task.ts';

/**
 * The tasks of one client, as those see them who show them, and those who do the work. Both may be anywhere: they meet only
 * here. What is told here is on record first.
 */
export interface TaskController {
  create(start: TaskStart): Promise<Task>;
  get(taskId: string): Task | undefined;
  list(): Task[];
  /** What the work is doing now. */
  report(taskId: string, message: string): void;
  /** Queues a question; resolves with the answer, and rejects when there will be none. */
  ask(taskId: string, question: TaskQuestion): Promise<Answer>;
  /** What the task waits to be answered. */
  questions(taskId: string): Interaction[];
  /** Answers a question; one that does not fit is refused, and the question stays open. */
  answer(question: Interaction, answer: unknown): Promise<void>;
  /** `false` when the task had ended already: of two ends the first counts. */
  complete(taskId: string, result: CallResult): Promise<boolean>;
  fail(taskId: string, error: TaskError): Promise<boolean>;
  /** Stops the work, too. `undefined` when the task had ended already. */
  cancel(taskId: string, reason: string): Promise<Task | undefined>;
  /** Waits until the task is as wanted, nobody waits any more, or the time is up. */
  until(taskId: string, wanted: (task: Task) => boolean, options?: Waiting): Promise<Task>;
  /** Tells of every change, until the returned function is called. */
  watch(watcher: (task: Task) => void): () => void;
}

export interface TaskQuestion {
  kind: InteractionKind;
  /** Those of `elicitation/create` or `sampling/createMessage`. */
  params: Record<string, unknown>;
  /** Asked again under the same key, it is the same question. */
  key?: string;
  /** Aborted to withdraw the question. */
  signal?: AbortSignal;
}

export interface Waiting {
  timeoutMs?: number;
  signal?: AbortSignal;
}

const NEVER = new AbortController().signal;

/** Tasks and questions in the books of a session, or of whoever else keeps such books. */
export class BookTaskController implements TaskController {
  readonly #tasks: TaskBook;
  readonly #interactions: InteractionRouter;
  readonly #store: SessionStore;
  /** What is being asked under a key now. */
  readonly #asking = new Map<string, Promise<Answer>>();
  /** Ends the task as cancelled and stops what works on it. */
  readonly #cancel: (taskId: string, reason: string) => Task | undefined;

  constructor(
    tasks: TaskBook,
    interactions: InteractionRouter,
    store: SessionStore,
    cancel: (taskId: string, reason: string) => Task | undefined,
  ) {
    this.#tasks = tasks;
    this.#interactions = interactions;
    this.#store = store;
    this.#cancel = cancel;
  }

  async create(start: TaskStart): Promise<Task> {
    const task = this.#tasks.create(start);
    await this.#store.settled();
    return task;
  }

  get(taskId: string): Task | undefined {
    return this.#tasks.find(taskId);
  }

  list(): Task[] {
    return this.#tasks.list();
  }

  report(taskId: string, message: string): void {
    this.#tasks.apply(taskId, { type: 'progress', message });
  }

  async ask(taskId: string, question: TaskQuestion): Promise<Answer> {
    if (question.key === undefined) return this.#ask(taskId, question);
    const name = JSON.stringify([taskId, question.key]);
    const earlier = this.#asking.get(name);
    if (earlier !== undefined) return earlier;
    const asking = this.#ask(taskId, question).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return asking;
  }

  async #ask(taskId: string, { kind, params, key, signal = NEVER }: TaskQuestion): Promise<Answer> {
    const task = this.#tasks.get(taskId);
    if (hasEnded(task)) throw new Error(`task ${taskId} has ended: ${task.status}`);
    return this.#interactions.ask(task.server, {
      kind,
      params,
      withdrawn: signal,
      taskId,
      detached: true,
      ...(key !== undefined && { key }),
    });
  }

  questions(taskId: string): Interaction[] {
    return this.#interactions.of({ taskId });
  }

  async answer(question: Interaction, answer: unknown): Promise<void> {
    await this.#interactions.answer(question.id, question.kind, answer);
  }

  async complete(taskId: string, result: CallResult): Promise<boolean> {
    const ended = this.#tasks.apply(taskId, { type: 'complete', result });
    await this.#store.settled();
    return ended !== undefined;
  }

  async fail(taskId: string, error: TaskError): Promise<boolean> {
    const ended = this.#tasks.apply(taskId, { type: 'fail', error });
    await this.#store.settled();
    return ended !== undefined;
  }

  async cancel(taskId: string, reason: string): Promise<Task | undefined> {
    const cancelled = this.#cancel(taskId, reason);
    await this.#store.settled();
    return cancelled;
  }

  async until(
    taskId: string,
    wanted: (task: Task) => boolean,
    { timeoutMs = MAX_DELAY_MS, signal = NEVER }: Waiting = {},
  ): Promise<Task> {
    return this.#tasks.until(taskId, wanted, timeoutMs, signal);
  }

  watch(watcher: (task: Task) => void): () => void {
    return this.#tasks.watch(watcher);
  }
}
