import type { TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/interfaces.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import type { RequestId, Request, Result, Task } from '@modelcontextprotocol/sdk/types.js';

/**
 * The store of the SDK, but for two things: tasks belong to no session, so that a client that comes back with a new one
 * finds them, and a task may end with a JSON-RPC error.
 */
export class KeptTasks implements TaskStore {
  readonly #tasks = new InMemoryTaskStore();
  readonly #faults = new Map<string, Error>();
  readonly #onCancelled: (taskId: string) => void;

  constructor(onCancelled: (taskId: string) => void) {
    this.#onCancelled = onCancelled;
  }

  async createTask(params: { ttl?: number | null; pollInterval?: number }, id: RequestId, request: Request) {
    return this.#tasks.createTask(params, id, request);
  }

  async getTask(taskId: string): Promise<Task | null> {
    return this.#tasks.getTask(taskId);
  }

  async storeTaskResult(taskId: string, status: 'completed' | 'failed', result: Result): Promise<void> {
    await this.#tasks.storeTaskResult(taskId, status, result);
  }

  async storeFault(taskId: string, fault: Error): Promise<void> {
    await this.#tasks.updateTaskStatus(taskId, 'failed', fault.message);
    this.#faults.set(taskId, fault);
  }

  async getTaskResult(taskId: string): Promise<Result> {
    const fault = this.#faults.get(taskId);
    if (fault !== undefined) throw fault;
    return this.#tasks.getTaskResult(taskId);
  }

  async updateTaskStatus(taskId: string, status: Task['status'], statusMessage?: string): Promise<void> {
    await this.#tasks.updateTaskStatus(taskId, status, statusMessage);
    if (status === 'cancelled') this.#onCancelled(taskId);
  }

  async listTasks(cursor?: string) {
    return this.#tasks.listTasks(cursor);
  }

  clear(): void {
    this.#tasks.cleanup();
    this.#faults.clear();
  }
}
