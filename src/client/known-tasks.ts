import { serverTaskEnded } from '../south/server-task.ts';
import type { Tell } from './typed-event-target.ts';
import type { Task, TaskClientEvents } from './types.ts';

/** The tasks that a client knows, with their last known status; emits events about them. */
export class KnownTasks {
  readonly #tasks = new Map<string, Task>();
  /** Tasks whose cancellation was emitted. */
  readonly #cancelled = new Set<string>();
  readonly #tell: Tell<TaskClientEvents>;

  constructor(tell: Tell<TaskClientEvents>) {
    this.#tell = tell;
  }

  all(): Task[] {
    return [...this.#tasks.values()];
  }

  has(taskId: string): boolean {
    return this.#tasks.has(taskId);
  }

  /** Emits no event. */
  note(task: Task): void {
    this.#tasks.set(task.taskId, task);
  }

  created(task: Task): void {
    this.note(task);
    this.#tell('taskCreated', { taskId: task.taskId, task });
  }

  changed(task: Task): void {
    this.note(task);
    this.#tell('taskStatusChange', { taskId: task.taskId, task });
  }

  listed(tasks: Task[]): void {
    for (const task of tasks) this.note(task);
    this.#tell('tasksChange', tasks);
  }

  /** Emitted once for each task, regardless of who cancelled it. */
  cancelled(taskId: string): void {
    if (this.#cancelled.has(taskId)) return;
    this.#cancelled.add(taskId);
    const known = this.#tasks.get(taskId);
    if (known !== undefined && !serverTaskEnded(known)) this.note({ ...known, status: 'cancelled' });
    this.#tell('taskCancelled', { taskId });
  }

  forgetUnless(isWanted: (taskId: string) => boolean): void {
    for (const taskId of this.#tasks.keys()) if (!isWanted(taskId)) this.#tasks.delete(taskId);
  }

  clear(): void {
    this.#tasks.clear();
    this.#cancelled.clear();
  }
}
